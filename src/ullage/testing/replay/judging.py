"""What a gateway made of a replayed session, beside its usage: `ratio-v1` and `growth-v1` as they were live."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from ullage.core.errors import SessionError
from ullage.evals.calibrated import CalibratedFile, Weighed, judge_file
from ullage.evals.files import Skipped
from ullage.sources import read_session

from .driver import replay
from .traffic import make_stand_in

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from ullage.sources import Session

    from .driver import Replayed

RUNS: tuple[Mapping[str, Any], ...] = (
    {"method": "ratio-v1", "estimator": "chars-v1"},
    {"method": "ratio-v1", "estimator": "o200k-base-v1"},
    {"method": "growth-v1"},
)
"""Settings of calibration under which a session is replayed, once each; under growth-v1 the estimator is the account's own."""


_AT_ONCE = 4
"""Sessions that are replayed at the same time, each through a gateway of its own: most of the time nobody works."""


async def judge_all(
    paths: Iterable[Path], *, whole: bool = False, runs: Sequence[Mapping[str, Any]] = RUNS
) -> list[CalibratedFile | Skipped]:
    """`judge_live` for session files, in their order; one that cannot be read is left out."""
    places = asyncio.Semaphore(_AT_ONCE)

    async def judge(path: Path) -> CalibratedFile | Skipped:
        async with places:
            try:
                return await judge_live(read_session(path), whole=whole, runs=runs)
            except SessionError as error:
                return Skipped(path=str(path), reason=error.message.removeprefix(f"{path} ").rstrip("."))

    return list(await asyncio.gather(*map(judge, paths)))


async def judge_live(
    session: Session, *, whole: bool = False, runs: Sequence[Mapping[str, Any]] = RUNS
) -> CalibratedFile | Skipped:
    """The figures of a session whose calls went through a gateway, or why it is left out.

    `whole` puts a stand-in before it for what its file does not hold; it is replayed under the settings of each of the `runs`, of
    which growth-v1 is the last. Raises `CallError` for a session that cannot be sent again.
    """
    reason = _unfit(session)
    if reason is not None:
        return Skipped(path=session.path, reason=reason)
    stand_in = make_stand_in(session) if whole else ""
    replayed = [await replay(session, stand_in=stand_in, calibration=settings) for settings in runs]
    return judge_file(session.path, session.client, list(weigh(replayed)))


def _unfit(session: Session) -> str | None:
    if session.handmade:
        return "made by hand: its figures measure nothing"
    return None if any(call.trusted for call in session.calls) else "no call has usage that can be trusted"


def weigh(runs: Sequence[Sequence[Replayed]]) -> Iterator[Weighed]:
    """The trusted calls of a session with what every run made of them; a call that one of them did not learn from is left out."""
    for calls in zip(*runs, strict=True):
        records = [replayed.record for replayed in calls]
        call = calls[0].call
        samples = [_plain(record.sample) for record in records]
        if not call.trusted or call.usage is None or not all(sample.get("accepted") for sample in samples):
            continue
        learned = [_plain(_plain(record.awareness).get("calibration")) for record in records]
        expected = records[-1].expected
        yield Weighed(
            provider=records[0].provider,
            model=records[0].model or "",
            prompt=call.usage.prompt or 0,
            raw={sample["estimator"]: sample["estimated"] for sample in samples},
            applied={
                sample["estimator"]: one["applied_ratio"] if one["calibrated"] else None
                for sample, one in zip(samples, learned, strict=True)
            },
            grown=expected["tokens"] if expected is not None else None,
            line=_on_line(samples[-1], learned[-1]),
            lossy=call.lossy,
        )


def _on_line(sample: dict[str, Any], learned: dict[str, Any]) -> float:
    """A raw estimate in the provider's tokens as limits take it: by the line, or by the ratio where there was nothing to draw one
    through."""
    offset, slope = learned.get("offset", 0.0), learned.get("slope", learned["applied_ratio"])
    line: float = offset + slope * sample["estimated"]
    return line


def _plain(value: dict[str, Any] | None) -> dict[str, Any]:
    return value if value is not None else {}
