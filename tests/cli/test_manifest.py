"""`ullage manifest`: the record of one call, for people and for programs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from ullage.cli import main
from ullage.cli.manifest import spent_text
from ullage.stores import SqliteStore

from .conftest import AWARENESS, BREAKDOWN, CALLS

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Golden = Callable[[str, str], None]
    Screen = pytest.CaptureFixture[str]


def call(capsys: Screen, *arguments: str) -> tuple[int, str, str]:
    status = main(["manifest", *arguments])
    printed = capsys.readouterr()
    return status, printed.out, printed.err


@pytest.mark.usefixtures("recorded")
@pytest.mark.parametrize(
    ("beginning", "file"),
    [
        (None, "manifest.txt"),
        ("019e7", "manifest.txt"),
        ("019e6ffe", "manifest_of_miss.txt"),
        ("019e6fff0001", "manifest_of_error.txt"),
        ("019e6fff0002", "manifest_of_left_stream.txt"),
        ("019e6fff0003", "manifest_unparsed.txt"),
    ],
)
def test_a_call_is_shown(capsys: Screen, golden: Golden, beginning: str | None, file: str) -> None:
    status, out, _ = call(capsys, *([beginning] if beginning else []))
    assert status == 0
    golden(file, out)


@pytest.mark.usefixtures("recorded")
def test_a_call_for_programs_is_the_manifest_of_an_unchanged_request(capsys: Screen, golden: Golden) -> None:
    _, out, _ = call(capsys, "--json")
    golden("manifest.json", out)
    manifest: dict[str, Any] = msgspec.json.decode(out)
    rows = manifest["context"]["sections"]
    assert sum(row["tokens"] for row in rows) + manifest["context"]["gap"] == manifest["context"]["total"]


@pytest.mark.usefixtures("recorded")
def test_what_limits_were_drawn_from_and_what_was_learned_goes_to_programs_as_it_was_recorded(capsys: Screen) -> None:
    manifest = msgspec.json.decode(call(capsys, "019e7", "--json")[1])
    assert manifest["awareness"] == msgspec.json.decode(msgspec.json.encode(AWARENESS))
    assert manifest["sample"]["ratio"] == 1.205008
    assert manifest["cache"]["disposition"] == "eligible"
    missed = msgspec.json.decode(call(capsys, "019e6ffe", "--json")[1])
    assert (missed["sample"], missed["cache"]["miss"]["cause"]) == ({"refused": "aborted"}, "tools_changed")


def test_a_record_that_was_too_large_says_what_was_kept(capsys: Screen, data_dir: Path) -> None:
    items = [{"name": f"item {number:04}" + "x" * 400, "tokens": 1} for number in range(1_000)]
    sections = [{"id": "messages", "title": "Messages", "tokens": 1_000, "share": 1.0, "items": items}]
    breakdown = {**BREAKDOWN, "sections": sections, "gap": 0, "total": 1_000}
    store = SqliteStore(data_dir / "ullage.db", clock_ms=lambda: 0)
    store.put_call(msgspec.structs.replace(CALLS[0], breakdown=breakdown))
    store.close()
    _, out, _ = call(capsys)
    assert "kept         of the context report the first and the last items\n" in out


@pytest.mark.usefixtures("recorded")
def test_a_beginning_that_fits_several_names_them(capsys: Screen) -> None:
    status, out, err = call(capsys, "019e6fff")
    assert (status, out) == (1, "")
    assert err.startswith("ullage: Several calls begin with '019e6fff': 019e6fff0001c0ffee002, 019e6fff0002")


@pytest.mark.usefixtures("recorded")
def test_a_beginning_that_fits_none_says_so(capsys: Screen) -> None:
    status, _, err = call(capsys, "\x1b[31m")
    assert status == 1
    assert err.startswith("ullage: No call begins with '·[31m'.\n")


def test_without_a_database_the_next_step_is_told(capsys: Screen, data_dir: Path) -> None:
    assert call(capsys) == (1, "", f"ullage: No database yet at {data_dir}/ullage.db.\nhint: Start `ullage serve`.\n")


def test_without_a_call_the_next_step_is_told(capsys: Screen, data_dir: Path) -> None:
    SqliteStore(data_dir / "ullage.db", clock_ms=lambda: 0).close()
    assert call(capsys) == (
        1,
        "",
        "ullage: No call is recorded yet.\nhint: Send one prompt through `ullage serve`.\n",
    )


@pytest.mark.parametrize(
    ("spend", "text"),
    [
        ({}, ""),
        ({"usd": None}, ""),
        ({"usd": 0.0125}, "0.012500 USD"),
        (
            {"usd": 0.5, "reserved_usd": 1.0, "action": "warn", "exceeded": ["session", "daily"], "unenforced": []},
            "0.500000 USD · at most 1.000000 were reserved · warn: session, daily",
        ),
        (
            {"usd": None, "reserved_usd": 0.0, "action": "allow", "exceeded": [], "unenforced": ["daily"]},
            "not held to daily",
        ),
    ],
)
def test_what_a_call_cost_is_told_in_a_line(spend: dict[str, Any], text: str) -> None:
    assert spent_text(spend) == text
