"""Recorded sessions through a real gateway: what it writes down is what the record says, and what it learns is what is learned
from the record."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.evals.sessions import growing
from ullage.core.wire import DIALECTS
from ullage.evals.methods import Place, follow
from ullage.evals.recordings import read_recording
from ullage.sources import read_session
from ullage.testing import FakeProvider
from ullage.testing.gateway import run_gateway
from ullage.testing.replay import Replayed, recorded_traffic, replay, send_traffic

if TYPE_CHECKING:
    from ullage.testing.replay import RecordedExchange

RECORDINGS = Path(__file__).resolve().parents[2] / "data" / "sessions"
FILES = ["claude-code/happy-cli-task-non-sdk.jsonl", "codex/soul-first-calls.jsonl", "pi/pi-mono-version-1.jsonl"]
LONG = ["claude-code/bhavana.jsonl", "codex/soulpass.jsonl", "openhands/openhands-ponylang-ponyc-4588.json"]


@pytest.mark.parametrize("name", FILES)
async def test_the_gateway_writes_down_what_was_recorded(name: str) -> None:
    session = read_session(RECORDINGS / name)
    replayed = await replay(session)
    assert [one.call for one in replayed] == list(session.calls)
    for one in replayed:
        call, record = one.call, one.record
        assert (record.model, record.outcome) == (call.model, "ok" if call.trusted else "error")
        if call.trusted and call.usage is not None:
            assert record.usage is not None
            kinds = ("input_fresh", "cache_read", "cache_write")
            assert [record.usage[kind] or 0 for kind in kinds] == [getattr(call.usage, kind) or 0 for kind in kinds]


async def test_side_chains_are_sessions_of_their_own() -> None:
    replayed = await replay(read_session(RECORDINGS / FILES[0]))
    sessions = [one.record.session for one in replayed]
    assert [len({sessions[0], session}) for session in sessions] == [1, 2, 2, 2, 1]


async def test_what_is_expected_live_is_what_is_expected_from_the_record(tmp_path: Path) -> None:
    path = growing(tmp_path / "s.jsonl", calls=12)
    replayed = await replay(read_session(path))
    judged = follow("growth-v1", [read_recording(path)]).judged
    for number, one in enumerate(replayed[1:], 1):
        assert one.record.expected is not None
        assert one.record.expected["tokens"] == pytest.approx(judged[Place(0, number)].tokens, abs=2)


async def test_calibration_settings_reach_the_gateway(tmp_path: Path) -> None:
    session = read_session(growing(tmp_path / "s.jsonl", calls=5))
    settings = {"method": "ratio-v1", "estimator": "o200k-base-v1", "minimum_samples": 4}
    [*_, last] = await replay(session, calibration=settings)
    assert last.record.sample is not None and last.record.awareness is not None
    assert last.record.sample["estimator"] == "o200k-base-v1"
    assert last.record.awareness["calibration"]["minimum_samples"] == 4
    assert last.record.awareness["calibration"]["observed"] == 4


async def taught(path: Path, folder: Path, *, restart: bool) -> list[dict[str, Any] | None]:
    """What is expected of another session of the same client and model, once this one has been learned from; the gateway may be
    stopped and started again between the two."""
    first, second = read_session(path), read_session(path)
    second.id = "another"
    lessons, exam = list(recorded_traffic(first)), list(recorded_traffic(second))[:20]
    async with FakeProvider() as provider:

        async def run(*parts: list[RecordedExchange]) -> list[Replayed]:
            upstreams = dict.fromkeys(DIALECTS, provider.url)
            async with run_gateway(upstreams, folder, store="sqlite", models={"refresh": False}) as daemon:
                return [one for part in parts for one in await send_traffic(part, provider, daemon)]

        if restart:
            await run(lessons)
            replayed = await run(exam)
        else:
            replayed = (await run(lessons, exam))[len(lessons) :]
    return [one.record.expected for one in replayed]


async def assert_learned_alike(path: Path, folder: Path) -> None:
    through, stopped = [await taught(path, folder / str(restart), restart=restart) for restart in (False, True)]
    assert through[0] is None
    assert through[1] is not None and through[1]["pairs"] >= 5
    assert stopped == through


async def test_a_restart_forgets_nothing_that_was_learned(tmp_path: Path) -> None:
    await assert_learned_alike(growing(tmp_path / "s.jsonl", calls=10), tmp_path)


@pytest.mark.shared
@pytest.mark.slow
@pytest.mark.parametrize("name", LONG)
async def test_real_sessions_are_expected_after_a_restart_as_if_there_had_been_none(
    shared_data: Path, tmp_path: Path, name: str
) -> None:
    """To the token and with the same interval, whether the window of pairs is full or not."""
    await assert_learned_alike(shared_data / "sessions" / name, tmp_path)
