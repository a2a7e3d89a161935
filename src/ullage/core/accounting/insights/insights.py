"""All insights into one window, as a record, as plain data for other programs, and as notices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct

from ullage.core.accounting.breakdown import Breakdown, Notice
from ullage.core.accounting.sections import section_kind

from .caching import Caching
from .compaction import Clearing, Compacted
from .growth import KEEP_CALLS, GrowthCall, GrowthTurn
from .repeats import Repeats

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

# What can be freed is worth a warning when it is this share of the prompt, and this many tokens.
_MUCH_SHARE = 0.1
_MUCH_TOKENS = 2_000


class Insights(Struct, frozen=True, kw_only=True):
    """What a person can act on. `repeats` are `None` where the source holds no content, `caching` where none is told of."""

    calls: tuple[GrowthCall, ...] = ()
    turns: tuple[GrowthTurn, ...] = ()
    repeats: Repeats | None = None
    caching: Caching | None = None
    compactions: tuple[Compacted, ...] = ()
    clearings: tuple[Clearing, ...] = ()


def find_insight_notices(repeats: Repeats) -> tuple[Notice, ...]:
    """A warning if much of the window is there twice or no longer true."""
    share = repeats.freeable_share
    if share is None or share < _MUCH_SHARE or repeats.freeable_tokens < _MUCH_TOKENS:
        return ()
    message = (
        f"~{repeats.freeable_tokens:,} tokens ({share:.0%}) are there twice or were replaced since: see the insights."
    )
    return (Notice(code="repeated_content", message=message),)


def report_insights(insights: Insights, breakdown: Breakdown, *, time_text: Callable[[int], str]) -> dict[str, Any]:
    """The `insights` of a context report: numbers, names and paths, no text. `time_text` writes epoch milliseconds.

    `growth.next` is the prompt of the next call, where the report is an estimate of it.
    """
    repeats = insights.repeats
    return {
        "growth": {
            "keep_calls": KEEP_CALLS,
            "calls": [_call(call, time_text) for call in insights.calls],
            "turns": _plain(insights.turns),
            "next": next_call(breakdown),
        },
        "duplicates": _plain(repeats.duplicates) if repeats is not None else None,
        "outdated": _plain(repeats.outdated) if repeats is not None else None,
        "freeable_tokens": repeats.freeable_tokens if repeats is not None else None,
        "freeable_share": repeats.freeable_share if repeats is not None else None,
        "stale_tokens": repeats.stale_tokens if repeats is not None else None,
        "cache": _plain(insights.caching),
        "compactions": _plain(insights.compactions),
        "clearings": _plain(insights.clearings),
    }


def next_call(breakdown: Breakdown) -> dict[str, Any] | None:
    """What the next call would send by kind of section, if that is what the breakdown shows."""
    if breakdown.total.kind == "usage":
        return None
    return {
        "total": breakdown.total.tokens,
        "total_low": breakdown.total.low,
        "total_high": breakdown.total.high,
        "sections": sections_by_kind(breakdown),
        "gap": breakdown.gap,
    }


def sections_by_kind(breakdown: Breakdown) -> dict[str, int]:
    """Tokens by kind of section: the files of `context` together."""
    sums: dict[str, int] = {}
    for section in breakdown.sections:
        kind = section_kind(section.id)
        sums[kind] = sums.get(kind, 0) + section.tokens
    return sums


def largest_growth(calls: Sequence[GrowthCall], count: int) -> list[GrowthCall]:
    """The calls that added most of what is still in the window, the largest first."""
    kept = [call for call in calls if call.in_window and (call.growth or 0) > 0]
    return sorted(kept, key=lambda call: (-(call.growth or 0), call.call))[:count]


def _call(call: GrowthCall, time_text: Callable[[int], str]) -> dict[str, Any]:
    plain: dict[str, Any] = msgspec.to_builtins(call)
    time_ms = plain.pop("time_ms")
    return {
        **plain,
        "time": time_text(time_ms) if time_ms is not None else None,
        "resent_tokens": call.resent_tokens,
        "keep_tokens": call.keep_tokens,
    }


def _plain(value: Any) -> Any:
    return msgspec.to_builtins(value)
