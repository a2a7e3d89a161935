"""What providers reported of their own models: kept by provider, bounded, forgotten oldest first."""

from __future__ import annotations

from pathlib import Path

import pytest

from ullage.catalogs.files import REPORTED_FOLDER
from ullage.catalogs.memory import (
    MOST_PROVIDERS,
    Reported,
    forget_oldest,
    load_reported,
    merge,
    newest,
    save_reported,
)
from ullage.catalogs.reported import MOST_MODELS
from ullage.core.profiles import ModelFacts

FACTS = ModelFacts(context_window=8_192)
LARGER = ModelFacts(context_window=16_384)


def reported(provider: str, said_ms: int = 0, **models: ModelFacts) -> Reported:
    return Reported(provider=provider, said_ms=said_ms, models=models)


def test_what_was_said_is_there_after_a_restart(tmp_path: Path) -> None:
    said = reported("127.0.0.1:8000", 5, m=FACTS)
    save_reported(tmp_path, said)
    assert load_reported(tmp_path) == {"127.0.0.1:8000": said}
    assert [path.name for path in (tmp_path / REPORTED_FOLDER).iterdir()] == ["127.0.0.1%3A8000.json"]


def test_no_name_leads_out_of_the_folder(tmp_path: Path) -> None:
    save_reported(tmp_path, reported("../../etc/x"))
    assert set(load_reported(tmp_path)) == {"../../etc/x"}


@pytest.mark.parametrize("data", [b"", b"{", b'{"format": 0, "provider": "p", "said_ms": 0, "models": {}}'])
def test_a_file_that_cannot_be_read_is_passed_over(tmp_path: Path, data: bytes) -> None:
    save_reported(tmp_path, reported("p"))
    (tmp_path / REPORTED_FOLDER / "q.json").write_bytes(data)
    assert set(load_reported(tmp_path)) == {"p"}


def test_lists_come_in_pages() -> None:
    known = merge(reported("p", 1, a=FACTS, b=FACTS), "p", {"b": LARGER, "c": FACTS}, 2)
    assert known == reported("p", 2, a=FACTS, b=LARGER, c=FACTS)


def test_what_is_kept_of_one_provider_is_bounded() -> None:
    many = {f"m{number}": FACTS for number in range(MOST_MODELS)}
    known = merge(reported("p", **many), "p", {"new": LARGER}, 2)
    assert len(known.models) == MOST_MODELS
    assert "new" in known.models
    assert "m0" not in known.models


def test_past_the_bound_the_provider_that_was_silent_longest_is_forgotten(tmp_path: Path) -> None:
    known = {f"p{number}": reported(f"p{number}", number) for number in range(MOST_PROVIDERS + 2)}
    for one in known.values():
        save_reported(tmp_path, one)
    kept = forget_oldest(tmp_path, known)
    assert known.keys() - kept.keys() == {"p0", "p1"}
    assert load_reported(tmp_path).keys() == kept.keys()


def test_of_two_records_the_newer_one_counts() -> None:
    old, new = reported("p", 1, m=FACTS), reported("p", 2, m=LARGER)
    assert newest({"p": new}, {"p": old}) == newest({"p": old}, {"p": new}) == {"p": new}
