"""How far the live estimate is from the prompt that followed: `python -m benchmarks.live_estimate [FOLDER]`.

For every pair of consecutive calls in recorded sessions the second prompt is estimated from the first call's usage, causally
and with the family's prior alone (accounting specification, section 24). Beside it, in the same run, two simpler ways: last usage
plus characters over four, and last usage plus o200k tokens of what was added. `missed` is the median error as a share of the
growth.
"""

from __future__ import annotations

import statistics
import sys
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ullage.core.accounting import make_meter, measure_message, next_prompt
from ullage.core.tokens import get_estimator
from ullage.sources import read_session

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ullage.core.content import Message, Part
    from ullage.sources import Session, Step

RECORDINGS = Path(__file__).resolve().parents[2] / "shared" / "data" / "sessions"
METHODS = ("chars ÷ 4", "o200k", "wire-v1, prior")


class Sample(NamedTuple):
    """The prompt that came, by how much it grew, and the estimate of each method."""

    prompt: int
    growth: int
    estimates: tuple[float, ...]


def samples(session: Session) -> Iterator[Sample]:
    """The steps that measure anything: one model, no prompt that shrank, no text that is gone, outputs logged whole."""
    for step in session.steps():
        unsure = session.calls[step.before].output_unsure
        if not (step.shrank or step.switched or step.lossy or unsure):
            yield _sample(session, step)


def _sample(session: Session, step: Step) -> Sample:
    before, after = session.calls[step.before].usage, session.calls[step.after].usage
    assert before is not None
    assert after is not None
    sent = session.messages(step.after, step.start, step.stop)
    new = [message for index, message in enumerate(sent, step.start) if index not in step.reply]
    prompt, output = before.prompt or 0, before.output or 0
    texts = [text for message in new for part in message.parts for text in _texts(part)]
    simple = [sum(map(get_estimator(name).text, texts)) for name in ("chars-v1", "o200k-base-v1")]
    ours = _ours(session, step, new, prompt, output)
    grown = (after.prompt or 0) - prompt
    return Sample(after.prompt or 0, grown, (*(prompt + output + tokens for tokens in simple), ours))


def _ours(session: Session, step: Step, new: Sequence[Message], prompt: int, output: int) -> float:
    call = session.calls[step.after]
    meter = make_meter(dialect=call.dialect, provider=call.provider, model=call.model, client=session.client)
    entries = [entry for message in new for entry in measure_message(message, meter).entries]
    return next_prompt(
        meter.growth,
        prompt=prompt,
        output=output,
        new_tokens=sum(entry.tokens for entry in entries),
        new_low=0,
        new_high=0,
    ).tokens


def _texts(part: Part) -> Iterator[str]:
    yield part.text
    for inner in part.parts:
        yield from _texts(inner)


def table(name: str, found: Sequence[Sample]) -> Iterator[str]:
    """One row a method."""
    for number, method in enumerate(METHODS):
        misses = [abs(sample.estimates[number] - sample.prompt) for sample in found]
        relative = statistics.mean(miss / sample.prompt for miss, sample in zip(misses, found, strict=True))
        shares = [miss / sample.growth for miss, sample in zip(misses, found, strict=True) if sample.growth > 0]
        missed = statistics.median(shares) if shares else float("nan")
        yield f"{name:<14}{method:<16}{len(found):>6}{statistics.mean(misses):>10.0f}{relative:>9.2%}{missed:>9.1%}"


def main(arguments: list[str]) -> int:
    folder = Path(arguments[0]) if arguments else RECORDINGS
    by_client: dict[str, list[Sample]] = defaultdict(list)
    for path in sorted(folder.glob("*/*.json*")):
        session = read_session(path)
        if not session.handmade:
            by_client[session.client] += samples(session)
    print(f"{'client':<14}{'method':<16}{'steps':>6}{'MAE':>10}{'MAPE':>9}{'missed':>9}")
    for client, found in by_client.items():
        print("\n".join(table(client, found)))
    print("\n".join(table("all", [sample for found in by_client.values() for sample in found])))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
