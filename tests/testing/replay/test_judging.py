"""Replayed sessions beside their usage, and the table of them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner
from msgspec.structs import replace

from tests.evals.sessions import growing
from ullage.evals.calibrated import BAR, CalibratedFile, follow_ratio
from ullage.evals.files import Skipped, find_files
from ullage.sources import read_session
from ullage.testing.replay import Replayed, replay
from ullage.testing.replay.__main__ import main
from ullage.testing.replay.judging import RUNS, judge_all, judge_live, weigh

if TYPE_CHECKING:
    from collections.abc import Sequence

ESTIMATORS = ["chars-v1", "o200k-base-v1", "wire-v1"]


@pytest.fixture
async def runs(tmp_path: Path) -> list[list[Replayed]]:
    session = read_session(growing(tmp_path / "s.jsonl", calls=10))
    return [await replay(session, calibration=settings) for settings in RUNS]


def changed(runs: Sequence[Sequence[Replayed]], number: int, **changes: Any) -> list[list[Replayed]]:
    """The runs with the record of one call of the last one changed."""
    last = list(runs[-1])
    last[number] = replace(last[number], record=replace(last[number].record, **changes))
    return [*map(list, runs[:-1]), last]


async def test_every_call_is_weighed_as_the_gateway_did(runs: list[list[Replayed]]) -> None:
    weighed = list(weigh(runs))
    assert [call.prompt for call in weighed] == [
        replayed.call.usage.prompt for replayed in runs[0] if replayed.call.usage
    ]
    assert list(weighed[-1].raw) == list(weighed[-1].applied) == ESTIMATORS
    assert (weighed[0].grown, weighed[0].line) == (None, weighed[0].raw["wire-v1"])
    assert weighed[-1].grown == pytest.approx(weighed[-1].prompt, abs=2)
    assert weighed[-1].line == pytest.approx(weighed[-1].prompt, rel=0.02)


async def test_the_ratio_that_was_applied_is_the_one_that_follows_from_the_calls_before(
    runs: list[list[Replayed]],
) -> None:
    weighed = list(weigh(runs))
    for estimator in ESTIMATORS:
        followed = [one.applied_ratio if one.calibrated else None for one in follow_ratio(weighed, estimator)]
        assert [call.applied[estimator] for call in weighed] == followed


async def test_a_call_that_taught_nothing_is_left_out(runs: list[list[Replayed]]) -> None:
    assert len(list(weigh(changed(runs, 4, sample={"refused": "aborted"})))) == 9
    assert len(list(weigh(changed(runs, 4, sample=None)))) == 9


async def test_a_stand_in_makes_the_request_whole(tmp_path: Path) -> None:
    session = read_session(growing(tmp_path / "s.jsonl", calls=10))
    recorded, whole = await judge_live(session), await judge_live(session, whole=True)
    assert isinstance(recorded, CalibratedFile) and isinstance(whole, CalibratedFile)
    before, after = (file.judgements[-1].ratio["wire-v1"].raw.median for file in (recorded, whole))
    assert before > 0.5
    assert after < 0.1


async def test_files_are_judged_in_their_order_and_those_left_out_say_why(tmp_path: Path) -> None:
    long = growing(tmp_path / "long.jsonl", calls=8)
    short = growing(tmp_path / "short.jsonl", calls=2)
    silent = growing(tmp_path / "silent.jsonl", stopReason="error")
    bad = tmp_path / "bad.jsonl"
    bad.write_text('{"note": "hello"}\n')
    judged = await judge_all([bad, long, silent, short])
    assert [one.reason.partition(": ")[0] if isinstance(one, Skipped) else one.calls for one in judged] == [
        "is no session of a known client",
        8,
        "no call has usage that can be trusted",
        "fewer than 8 trusted calls",
    ]


def test_the_command_prints_a_table_and_names_what_it_left_out(tmp_path: Path) -> None:
    growing(tmp_path / "long.jsonl", calls=8)
    growing(tmp_path / "short.jsonl", calls=6, session="t")
    result = CliRunner().invoke(main, [str(tmp_path)])
    assert result.exit_code == 0
    assert "long.jsonl" in result.stdout
    assert "growth-v1, its line" in result.stdout
    assert "files within 3%" in result.stdout
    assert result.stderr == f"left out {tmp_path / 'short.jsonl'}: fewer than 8 trusted calls: 6\n"


def test_a_folder_that_is_not_there_is_told() -> None:
    result = CliRunner().invoke(main, ["/no/such/folder"])
    assert result.exit_code == 1
    assert "/no/such/folder is not there." in result.stderr


@pytest.mark.shared
@pytest.mark.slow
async def test_real_sessions_are_followed_within_the_bar(shared_data: Path) -> None:
    """In every file with at least eight trusted calls, behind five of them, the calibrated estimate of the median call is within
    3 % of usage. The table of all methods is made by `make accuracy`."""
    found = find_files([shared_data / "sessions"])
    judged = [one for one in await judge_all(found.paths, runs=RUNS[-1:]) if isinstance(one, CalibratedFile)]
    assert len(judged) == 11
    for file in judged:
        judged_last = file.judgements[-1]
        assert judged_last.growth is not None and judged_last.line is not None
        assert max(judged_last.growth.median, judged_last.line.median) <= BAR / 10
        assert judged_last.line.calls == judged_last.calls
