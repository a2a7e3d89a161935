"""Errors of held-out samples as a table for the screen."""

from __future__ import annotations

import statistics
from collections import defaultdict
from typing import TYPE_CHECKING

from ullage.evals.tokens import quantile

if TYPE_CHECKING:
    from collections.abc import Sequence

    from scripts.fitting.bounds import Covered
    from scripts.fitting.fitting import HeldOut


def error_table(held_out: Sequence[HeldOut], covered: Sequence[Covered]) -> list[str]:
    """One row a provider and kind of content, and one for all."""
    intervals = {id(one.one): one for one in covered}
    groups: dict[tuple[str, str], list[HeldOut]] = defaultdict(list)
    for one in held_out:
        groups[one.sample.case.provider or "", one.sample.kind].append(one)
    names = f"{'provider':<22}{'content':<9}{'n':>5}"
    head = names + f"{'median':>9}{'p90':>9}{'signed':>9}{'bias':>9}{'exact':>8}{'held':>7}{'width':>8}"
    rows = [_row(*key, groups[key], intervals) for key in sorted(groups)]
    return [head, *rows, _row("all", "", held_out, intervals)]


def _row(provider: str, kind: str, members: Sequence[HeldOut], intervals: dict[int, Covered]) -> str:
    errors = [one.error for one in members]
    sizes = sorted(map(abs, errors))
    exact = statistics.fmean(one.tokens == one.sample.case.tokens for one in members)
    truth = sum(one.sample.case.tokens for one in members)
    bias = sum(one.tokens for one in members) / truth - 1
    known = [intervals[id(one)] for one in members if id(one) in intervals]
    held = statistics.fmean(one.holds for one in known) if known else 0.0
    width = statistics.median(one.width for one in known) if known else 0.0
    return (
        f"{provider:<22}{kind:<9}{len(members):>5}{statistics.median(sizes):>9.1%}{quantile(sizes, 0.9):>9.1%}"
        f"{statistics.median(errors):>+9.1%}{bias:>+9.1%}{exact:>8.0%}{held:>7.0%}{width:>8.0%}"
    )
