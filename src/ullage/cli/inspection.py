"""What `ullage context` finds out about a source: the breakdown at once, the insights when they are asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import msgspec

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ullage.core.accounting import Breakdown, Meter
    from ullage.core.accounting.insights import Block, Insights, Repeats
    from ullage.core.calibration import Course
    from ullage.core.content import Context


class Inspection(NamedTuple):
    """A breakdown with its warnings, and ways to the insights and to what usage taught: those into a whole session read the
    whole file. `name_call` makes the name that people know a call by of its id in the course."""

    breakdown: Breakdown
    find_insights: Callable[[], Insights]
    find_course: Callable[[], Course | None] = lambda: None
    name_call: Callable[[str], int | str] = str


def with_repeats(
    breakdown: Breakdown, context: Context, meter: Meter, *, ratios: Sequence[float] = (), folder: str | None = None
) -> tuple[Breakdown, Repeats]:
    """Looks for what the window holds twice, and warns of it in the breakdown where it is much.

    `ratios` are those of the messages' measured tokens to their estimates, so that what could be freed is no more than what is
    there.
    """
    from ullage.core.accounting.insights import find_insight_notices, find_repeats

    def count(block: Block, text: str) -> int:
        amount = meter.rule.result(text) if block.is_result or block.is_source else meter.rule.prose(text)
        ratio = ratios[block.message] if block.is_result and block.message is not None and ratios else 1.0
        return round(amount.tokens * ratio)

    repeats = find_repeats(context.system, context.messages, count=count, total=breakdown.total.tokens, folder=folder)
    notices = (*breakdown.warnings, *find_insight_notices(repeats))
    return msgspec.structs.replace(breakdown, warnings=notices), repeats
