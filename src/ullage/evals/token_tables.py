"""An evaluation of counted payloads as tables, for a terminal and for the manual."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .tables import Table
from .tokens import qualities, quality

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .tokens import Aspect, Quality, Scored

_TITLES = {"kind": "content"}
_FIGURES = ("n", "median", "p90", "bias", "exact", "held", "width", "÷ 4", "÷ 4 p90")


def quality_table(scored: Sequence[Scored], by: Sequence[Aspect]) -> Table:
    """One row a group, and one for all of them."""
    rows = [_row(tuple(one.group.values()), one) for one in qualities(scored, by)]
    rows.append(_row(("all", *("" for _ in by[1:])), quality(scored, {})))
    header = (*(_TITLES.get(aspect, aspect) for aspect in by), *_FIGURES)
    return Table(header=header, rows=tuple(rows), texts=len(by))


def _row(names: tuple[str, ...], one: Quality) -> tuple[str, ...]:
    return (
        *names,
        f"{one.cases:,}",
        f"{one.median:.1%}",
        f"{one.p90:.1%}",
        f"{one.bias:+.1%}",
        f"{one.exact:.0%}",
        f"{one.covered:.0%}",
        f"{one.width:.0%}",
        f"{one.plain_median:.1%}",
        f"{one.plain_p90:.1%}",
    )
