"""The recorded sessions beside the repository, replayed: what docs/explanation/cache-honest-tail.md promises."""

from __future__ import annotations

from pathlib import Path

import pytest

from ullage.catalogs import load_now
from ullage.core.profiles import ModelProfile, resolve_profile
from ullage.evals.files import find_files
from ullage.evals.replay import ALL, Replay, replay

pytestmark = [pytest.mark.shared, pytest.mark.slow]

TAIL = 64_000


@pytest.fixture(scope="module")
def made(shared_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Replay:
    catalogs = load_now(tmp_path_factory.mktemp("catalogues"), refresh=False)

    def profile_of(provider: str | None, model: str | None, dialect: str | None) -> ModelProfile:
        provider, model = provider or "", model or ""
        return resolve_profile(provider, model, dialect=dialect, layers=catalogs.layers(provider, model))

    return replay(find_files([shared_data / "sessions"]).paths, profile_of, tail=TAIL)


def test_the_played_cache_reads_what_was_reported_within_five_percent(made: Replay) -> None:
    """Of every client and file but one of three calls, in which the provider had forgotten what it held half a minute before."""
    assert all(one.agrees for one in made.validation.values())
    off = [Path(trace.path).stem for trace in made.traces if trace.validation.reported and not trace.validation.agrees]
    assert off == ["happy-cli-task-sdk"]


def test_the_tail_in_steps_costs_a_quarter_less_than_the_sliding_one_and_keeps_as_much_of_what_is_needed(
    made: Replay,
) -> None:
    pooled = made.pooled[ALL]
    assert pooled["auto"].usd <= 0.75 * pooled["sliding"].usd
    assert pooled["auto"].evidence >= pooled["sliding"].evidence
    assert pooled["auto"].rewrites <= pooled["sliding"].rewrites / 2


def test_no_session_is_dearer_than_by_the_rule_of_the_reference(made: Replay) -> None:
    for trace in made.traces:
        assert trace.policies["auto"].usd <= 1.01 * trace.policies["epoch-v1"].usd, trace.path
