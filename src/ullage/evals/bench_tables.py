"""Kept evidence as tables, for a terminal and for the manual."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .tables import Table

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from .bench_scores import BenchScore

_NONE = "-"


def recall_table(scores: Sequence[BenchScore]) -> Table:
    """Evidence recall: a row for each set and method, a column for each limit."""
    limits = list(dict.fromkeys(one.limit for one in scores))
    found = {(one.set, one.method, one.limit): one for one in scores}
    rows = [
        (*names, *(_share(found[*names, limit].recall) for limit in limits))
        for names in dict.fromkeys((one.set, one.method) for one in scores)
    ]
    return Table(header=("set", "method", *(f"{limit:,}" for limit in limits)), rows=tuple(rows), texts=2)


def conduct_table(scores: Iterable[BenchScore], *, timed: bool = True) -> Table:
    """All that is measured: a row for each set, method and limit. Times differ from run to run."""
    rows = [
        (
            one.set,
            one.method,
            f"{one.limit:,}",
            _share(one.recall),
            _share(one.all),
            _share(one.any),
            _share(one.groups),
            f"{one.tokens:,.0f}",
            f"{one.density:.1%}",
            _share(one.stale),
            f"{one.orphaned} of {one.cases}",
            f"{one.parted} of {one.cases}",
            f"{one.newest:.0%}",
            f"{one.over} of {one.cases}",
            *((f"{one.ms:.2f}",) if timed else ()),
        )
        for one in scores
    ]
    header = (
        "set", "method", "limit", "recall", "all", "any", "groups", "tokens", "density", "stale", "orphans",
        "parts of turns", "newest turn", "over", *(("ms",) if timed else ()),
    )  # fmt: skip
    return Table(header=header, rows=tuple(rows), texts=2)


def kind_table(kinds: dict[str, Sequence[BenchScore]], limit: int) -> Table:
    """Evidence recall at one limit by kind of query: a row for each kind, a column for each method."""
    methods = list(dict.fromkeys(one.method for scores in kinds.values() for one in scores))
    rows = [
        (
            kind,
            str(next(one.cases for one in scores)),
            *(
                _share(found.recall)
                for method in methods
                for found in scores
                if (found.method, found.limit) == (method, limit)
            ),
        )
        for kind, scores in kinds.items()
    ]
    return Table(header=("kind", "cases", *methods), rows=tuple(rows))


def _share(value: float | None) -> str:
    return _NONE if value is None else f"{value:.2f}"
