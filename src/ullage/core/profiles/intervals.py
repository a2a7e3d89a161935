"""How far estimates were off, by what was estimated: measured on payloads that had no part in the fit of the constants."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

from .fitted import CONSTANTS, INTERVALS

if TYPE_CHECKING:
    from collections.abc import Sequence

ContentKind = Literal["text", "calls", "tools", "schema", "media", "sealed", "guessed"]
"""What a request carries beside text, the hardest to estimate last: tool calls, tool definitions, an output schema, pictures and
files, sealed reasoning, anything whose cost is only guessed."""

CONTENT_KINDS: tuple[ContentKind, ...] = ("text", "calls", "tools", "schema", "media", "sealed", "guessed")

SIZES = (64, 256, 1_024)
"""Where one class of sizes ends and the next begins, in estimated tokens."""

ANY_SIZE = -1
ANY_GROUP = "any"


class Interval(NamedTuple):
    """Relative bounds around an estimate that held the truth nine times in ten, and how many payloads of how many recordings say
    so. `largest` is the largest of them in tokens. `measured` is false where the payloads were of other models."""

    low: float
    high: float
    samples: int
    recordings: int
    largest: int
    measured: bool


_AGGREGATORS = ("openrouter",)
_WIDENED = 1.5
_FITTED_GROUPS = frozenset(group for group, *_ in CONSTANTS) - {"unknown"}
_TABLE = {
    (group, kind, size): Interval(low, high, samples, recordings, largest, measured=True)
    for group, kind, size, low, high, samples, recordings, largest in INTERVALS
}
_NOTHING_KNOWN = Interval(-0.5, 0.5, samples=0, recordings=0, largest=0, measured=False)


def size_class(tokens: int) -> int:
    """The class of an estimate's size, counted from 0."""
    return sum(tokens >= size for size in SIZES)


def interval_groups(groups: Sequence[str], provider: str | None) -> list[str]:
    """Names under which errors are kept for a model of these groups, the most specific first.

    An aggregator's own options are not in the payload, so its errors stand apart.
    """
    upstream = (provider or "").lower()
    suffix = f"@{upstream}" if upstream in _AGGREGATORS else ""
    return [f"{group}{suffix}" for group in reversed(groups)]


def find_interval(groups: Sequence[str], provider: str | None, kind: str, tokens: int) -> Interval:
    """The interval of the most specific group that has one for this kind and size, else for this kind, else of all models.

    Where nothing about the model was measured, the interval of all models is widened by half.
    """
    size = size_class(tokens)
    for wanted in (size, ANY_SIZE):
        for group in interval_groups(groups, provider):
            if (group, kind, wanted) in _TABLE:
                return _TABLE[group, kind, wanted]
    for wanted in (size, ANY_SIZE):
        if (ANY_GROUP, kind, wanted) in _TABLE:
            widened = 1.0 if _FITTED_GROUPS.intersection(groups) else _WIDENED
            found = _TABLE[ANY_GROUP, kind, wanted]
            return found._replace(low=max(-1.0, found.low * widened), high=found.high * widened, measured=False)
    return _NOTHING_KNOWN
