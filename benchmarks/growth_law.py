"""Whether the readers of session files read what was sent: the growth law as a self-check.

Between two calls in a row of one model the prompt grows by the whole logged output of the first, k times the o200k
tokens of what was added, and a few tokens a of wrapping (accounting specification, section 24). Where a client logs
its figures correctly the law holds within a handful of tokens, so a larger miss first speaks against the reader. k
and a are fitted per file by least absolute deviations. `python -m benchmarks.growth_law FILE…`; without files, all
recordings beside the repository.
"""

from __future__ import annotations

import statistics
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ullage.core.tokens import get_estimator
from ullage.sources import read_session

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ullage.core.content import Message, Part
    from ullage.sources import Session, Step

RECORDINGS = Path(__file__).resolve().parents[2] / "shared" / "data" / "sessions"
RATIOS = [ratio / 100 for ratio in range(80, 201)]

_estimate = get_estimator("o200k-base-v1").text


class Sample(NamedTuple):
    """One step: by how many tokens the prompt grew beyond the replayed output, and how many o200k tokens were added."""

    grown: int
    added: int


class Fit(NamedTuple):
    ratio: float
    constant: float
    median_miss: float


def samples(session: Session) -> list[Sample]:
    """The steps that can be measured: no pictures, no texts that are gone, no figures known to be wrong, nothing in between."""
    return [sample for step in session.steps() if (sample := _sample(session, step)) is not None]


def _sample(session: Session, step: Step) -> Sample | None:
    before, after = session.calls[step.before], session.calls[step.after]
    if step.shrank or step.switched or step.lossy or before.output_unsure or after.previous != step.before:
        return None
    messages = session.messages(step.after, step.start, step.stop)
    added = [message for index, message in enumerate(messages, step.start) if index not in step.reply]
    if any(part.media is not None for part in _parts(added)):
        return None
    assert before.usage is not None
    assert after.usage is not None
    grown = (after.usage.prompt or 0) - (before.usage.prompt or 0) - (before.usage.output or 0)
    return Sample(grown, sum(_estimate(part.text) for part in _parts(added)))


def _parts(messages: Iterable[Message]) -> list[Part]:
    parts = [part for message in messages for part in message.parts]
    return parts + [inner for part in parts for inner in part.parts]


def fit(found: list[Sample]) -> Fit:
    """The ratio and constant that miss least, summed over all samples, and by how much they miss the median one."""
    return min((_miss(ratio, found) for ratio in RATIOS), key=lambda pair: pair[0])[1]


def _miss(ratio: float, found: list[Sample]) -> tuple[float, Fit]:
    rests = [sample.grown - ratio * sample.added for sample in found]
    constant = statistics.median(rests)
    misses = [abs(rest - constant) for rest in rests]
    return sum(misses), Fit(ratio, constant, statistics.median(misses))


def main(paths: list[Path]) -> None:
    print(f"{'file':44} {'model':32} {'steps':>5} {'used':>5} {'k':>5} {'a':>6} {'median miss':>11}")
    for path in paths:
        session = read_session(path)
        found = samples(session)
        model = next((call.model for call in session.calls if call.trusted and call.model), None) or "-"
        row = f"{path.name[:44]:44} {model[-32:]:32} {len(session.steps()):5} {len(found):5}"
        if len(found) < 3:
            print(f"{row}   too few")
            continue
        fitted = fit(found)
        print(f"{row} {fitted.ratio:5.2f} {fitted.constant:6.0f} {fitted.median_miss:11.1f}")


if __name__ == "__main__":
    main([Path(name) for name in sys.argv[1:]] or sorted(RECORDINGS.glob("*/*.json*")))
