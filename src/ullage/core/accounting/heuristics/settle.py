"""Sections divided as a whole: a row is its characters over the denominator, rounded up once (accounting specification, 9).

Single pieces are rounded when they are measured, which over a thousand messages adds five hundred tokens that nobody sent.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import TYPE_CHECKING

from msgspec.structs import replace

from ullage.core.accounting.sections import TOOL_BLOCK

from .inspector_rule import estimated

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ullage.core.accounting.measure import Entry

    from .inspector_rule import InspectorRule

_BY_TEXT = ("system",)
_BY_SESSION = ("messages", "tool_outputs", "thinking_summaries")


def settle(entries: Sequence[Entry], rule: InspectorRule) -> list[Entry]:
    """The entries with the rounding of each section taken out, and with what all tools together have beside each alone.

    Only what the rule itself divided is touched: measured growth, pictures and provider numbers stay.
    """
    settled = list(entries)
    for section in _BY_TEXT:
        _share_rounding(settled, section, rule.denominators.text_denominator, rule.text_method)
    for section in _BY_SESSION:
        _share_rounding(settled, section, rule.denominators.session_denominator, rule.session_method)
    return [*_with_tools_together(settled, rule)]


def _share_rounding(entries: list[Entry], section: str, denominator: float, method: str) -> None:
    """Gives each entry of a section what the running sum of characters grows by: their sum is rounded up once."""
    places = [place for place, entry in enumerate(entries) if entry.section == section and entry.method == method]
    sums = [0]
    for place in places:
        sums.append(sums[-1] + entries[place].chars)
    whole = [math.ceil(chars / denominator) for chars in sums]
    for place, (before, after) in zip(places, pairwise(whole), strict=True):
        entries[place] = _with_tokens(entries[place], after - before)


def _with_tools_together(entries: Sequence[Entry], rule: InspectorRule) -> Iterator[Entry]:
    counted = [entry for entry in entries if _is_counted_tool(entry, rule)]
    chars, tokens = rule.numerator.together([e.chars for e in counted], [e.tokens for e in counted])
    chars -= sum(entry.chars for entry in counted)
    tokens -= sum(entry.tokens for entry in counted)
    for entry in entries:
        if entry.section == "tools" and entry.name == TOOL_BLOCK:
            # A few tokens below zero where each tool was rounded up.
            yield replace(entry, chars=chars, tokens=tokens, low=tokens, high=tokens)
        else:
            yield entry


def _is_counted_tool(entry: Entry, rule: InspectorRule) -> bool:
    return (
        entry.section == "tools"
        and entry.name != TOOL_BLOCK
        and entry.loaded_tokens is None
        and entry.method == rule.numerator.method
    )


def _with_tokens(entry: Entry, tokens: int) -> Entry:
    amount = estimated(tokens, entry.method)
    return replace(entry, tokens=tokens, low=amount.low, high=amount.high)
