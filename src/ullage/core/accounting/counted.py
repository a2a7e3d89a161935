"""A breakdown with a provider's counts in the place of our estimates, as far as they reach."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from .breakdown import Total
from .sections import TOOL_BLOCK

if TYPE_CHECKING:
    from .breakdown import Breakdown, Item, Section
    from .isolation import Isolation

PREFLIGHT = "preflight"
"""Method of a total that was counted ahead of a generation (accounting specification, section 15.1)."""

_MEASURED = "measured"


def with_counts(breakdown: Breakdown, *, full: int | None, isolation: Isolation | None, system_chars: int) -> Breakdown:
    """The breakdown with what was counted: `full` as its total, tools and system prompt from the isolation.

    `full` is `None` unless the whole request was counted: a narrow count is never a total. Usage after an answer stays the total.
    The system prompt is one number, so its row is replaced only where it has one row, of `system_chars` code points. Rows that
    were not counted stay estimates; what they miss is in the gap.
    """
    sections = breakdown.sections
    if isolation is not None:
        sections = tuple(_counted(section, isolation, system_chars) for section in sections)
    total = breakdown.total
    rows = sum(section.tokens for section in sections)
    if full is not None and total.kind == "estimate":
        total = Total(tokens=full, low=full, high=full, kind="usage", method=PREFLIGHT)
    elif total.kind == "estimate" and sections != breakdown.sections:
        # A sum of rows, some of them counted by now.
        low, high = sum(section.low for section in sections), sum(section.high for section in sections)
        total = replace(total, tokens=rows, low=low, high=high)
    return replace(breakdown, sections=sections, total=total, gap=total.tokens - rows)


def _counted(section: Section, isolation: Isolation, system_chars: int) -> Section:
    if section.id == "tools" and isolation.tools is not None:
        return replace(_exactly(section, isolation.tools), items=_tool_items(section, isolation))
    if section.id == "system" and isolation.system is not None and section.chars == system_chars:
        items = section.items
        if len(items) == 1:
            items = (replace(items[0], tokens=isolation.system, low=isolation.system, high=isolation.system),)
        return replace(_exactly(section, isolation.system), items=items)
    return section


def _exactly(section: Section, tokens: int) -> Section:
    return replace(section, tokens=tokens, low=tokens, high=tokens, method=_MEASURED)


def _tool_items(section: Section, isolation: Isolation) -> tuple[Item, ...]:
    """The tools at their net cost and the block at its own; without a known block the estimates stay."""
    if isolation.block is None:
        return section.items
    nets: dict[str, int] = {TOOL_BLOCK: isolation.block}
    for cost in isolation.tool_costs:
        if cost.net is not None:
            nets[cost.name] = nets.get(cost.name, 0) + cost.net
    return tuple(
        replace(item, tokens=nets[item.name], low=nets[item.name], high=nets[item.name])
        if item.state is None and item.name in nets
        else item
        for item in section.items
    )
