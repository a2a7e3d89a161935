"""The interval of a whole request's estimate, by the measured error of the rules behind it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from .measure import COMPACTED

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ullage.core.profiles import ContentKind, Interval

    from .measure import Entry, Measure

# An interval that was measured on small requests says less and less about larger ones.
_TRUSTED_GROWTH = 4


def content_kind(measures: Sequence[Measure], entries: Sequence[Entry]) -> ContentKind:
    """The hardest to estimate of what a request carries."""
    if any(measure.unknown for measure in measures):
        return "guessed"
    if any(measure.sealed or measure.sealed_tokens for measure in measures):
        return "sealed"
    if any(entry.name == COMPACTED for entry in entries):
        return "sealed"
    if any(measure.media for measure in measures):
        return "media"
    sections = {entry.section for entry in entries if entry.loaded_tokens is None}
    if "schema" in sections:
        return "schema"
    if "tools" in sections:
        return "tools"
    return "calls" if "tool_outputs" in sections or any(measure.calls for measure in measures) else "text"


def bounds(content: ContentKind, tokens: int, low: int, high: int, interval: Interval) -> tuple[int, int, bool]:
    """Bounds of a total, and whether they were measured; `low` and `high` are the sums of its parts' own bounds.

    Those stand where something is guessed, and beyond four times the largest payload that was measured, if they are wider.
    """
    if content == "guessed":
        return low, high, False
    least, most = math.floor(tokens * (1 + interval.low)), math.ceil(tokens * (1 + interval.high))
    if tokens <= interval.largest * _TRUSTED_GROWTH:
        return least, most, interval.measured
    return min(least, low), max(most, high), False
