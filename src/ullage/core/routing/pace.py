"""How fast a target answers, and how its calls differ from what was expected of them.

Routing specification, sections 25.2 to 25.4.
"""

from __future__ import annotations

from math import ceil
from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

SAMPLES = 256
"""Calls of a target that its times are taken from, the newest (section 25.1)."""
LEAST_SAMPLES = 3
"""Fewer say nothing yet (section 25.3)."""
ANSWER_TOKENS = 800
"""The answer by which targets are compared (section 12.4): so that nobody is slow for having been given long tasks."""

LONG_READ_TOKENS = 4_000
"""Answers to prompts with fewer tokens that no cache held do not tell what reading takes: networks vary by as much (ours)."""

_LEAST_RATIO, _MOST_RATIO = 0.5, 2.0


class Timing(Struct, frozen=True, kw_only=True, gc=False):
    """The times of one streamed answer in milliseconds, and its tokens; `read` are those of the prompt that no cache held."""

    first_ms: float
    whole_ms: float
    output: int
    read: int = 0


class Pace(Struct, frozen=True, kw_only=True, gc=False):
    """Medians over a target's answers: milliseconds up to the first part, and per token after it.

    `read_ms` is what each token of a prompt takes that no cache holds. Where it is known, `first_ms` is without it; `None` where
    the answers do not tell, and then `first_ms` has it for the usual prompt.
    """

    first_ms: float
    token_ms: float
    read_ms: float | None = None

    @property
    def answer_ms(self) -> float:
        """What an answer of the usual length takes, without the reading of its prompt where that is known."""
        return self.first_ms + ANSWER_TOKENS * self.token_ms


class Usage(Struct, frozen=True, kw_only=True, gc=False):
    """Tokens of one call: what its prompt was taken to be and what it was, what of it came from the cache, and the answer."""

    estimated: int | None
    prompt: int
    cached: int
    output: int


class Ratios(Struct, frozen=True, kw_only=True, gc=False):
    """What of a target's costs differs from a first guess, each by itself: its prompts by our estimate, the share of them that is
    read from the cache, the tokens of an answer. `None` is not known yet (section 25.3)."""

    input: float | None
    cached: float | None
    output: float | None


def pace_of(timings: Sequence[Timing]) -> Pace | None:
    """The pace of a target, by the newest of its answers, which come first; `None` for fewer than three."""
    known = [one for one in timings[:SAMPLES] if one.output > 0 and one.whole_ms > one.first_ms >= 0]
    if len(known) < LEAST_SAMPLES:
        return None
    token_ms = percentile([(one.whole_ms - one.first_ms) / one.output for one in known], 0.5)
    first_ms, read_ms = _reading(known)
    return Pace(first_ms=first_ms, token_ms=token_ms, read_ms=read_ms)


def _reading(timings: Sequence[Timing]) -> tuple[float, float | None]:
    """The usual start, and what a token of the prompt adds to it: the medians of long prompts against those of short ones.

    Long is what reads more than half of what three answers at least have read, so that one odd answer decides nothing.
    """
    most = sorted((one.read for one in timings), reverse=True)[LEAST_SAMPLES - 1]
    long = [one for one in timings if one.read > most / 2]
    short = [one for one in timings if one.read <= most / 2]
    if most >= LONG_READ_TOKENS and len(short) >= LEAST_SAMPLES:
        read, start = _middle(short)
        more, later = _middle(long)
        if later > start:
            read_ms = (later - start) / (more - read)
            return max(0.0, start - read * read_ms), read_ms
    return _middle(timings)[1], None


def _middle(timings: Sequence[Timing]) -> tuple[float, float]:
    """The median tokens that were read, and the median start."""
    return percentile([one.read for one in timings], 0.5), percentile([one.first_ms for one in timings], 0.5)


def ratios_of(usages: Sequence[Usage]) -> Ratios:
    """The ratios of a target, by the newest of its calls, which come first."""
    known = usages[:SAMPLES]
    prompts = sum(one.prompt for one in known)
    is_enough = len(known) >= LEAST_SAMPLES
    return Ratios(
        input=ratio((one.prompt, one.estimated) for one in known if one.estimated),
        cached=sum(one.cached for one in known) / prompts if is_enough and prompts else None,
        output=sum(one.output for one in known) / len(known) if is_enough else None,
    )


def ratio(pairs: Iterable[tuple[float, float]]) -> float | None:
    """All that was over all that was expected, half to double; `None` for fewer than three pairs (section 25.3)."""
    known = list(pairs)
    expected = sum(one for _, one in known)
    if len(known) < LEAST_SAMPLES or expected <= 0:
        return None
    return min(_MOST_RATIO, max(_LEAST_RATIO, sum(one for one, _ in known) / expected))


def percentile(values: Sequence[float], share: float) -> float:
    """The nearest rank: always a value that was seen; 0 where none was (section 25.2)."""
    ordered = sorted(values)
    return ordered[max(1, ceil(share * len(ordered))) - 1] if ordered else 0.0
