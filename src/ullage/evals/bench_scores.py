"""How good a selection is, by the evidence that it keeps and by what a provider would say to it."""

from __future__ import annotations

import statistics
import time
from collections import defaultdict
from typing import TYPE_CHECKING

from msgspec import Struct

from ullage.core.planning.validity import find_faults

from .bench import Query
from .bench_methods import METHODS

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from .bench import Bench, History
    from .bench_methods import Select

LIMITS = (1_000, 2_000, 4_000, 8_000, 32_000)
"""Tokens of the history that a plan may keep."""


class Kept(Struct, frozen=True, kw_only=True):
    """One selection judged. `recall` is the share of the gold that is kept, `None` for a case without any; `groups` the share of
    the gold groups of which something is. `density` is the share of the kept tokens that is gold. `stale`: an earlier value is
    kept and the one that holds is not; `None` where nothing changed. `orphans` are calls and results without each other,
    `partial` the turns of which only a part is kept, `newest` whether the newest turn is whole, `over` tokens above the limit.
    """

    recall: float | None
    groups: float | None
    tokens: int
    density: float
    stale: bool | None
    orphans: int
    partial: int
    newest: bool
    over: int
    seconds: float


class BenchScore(Struct, frozen=True, kw_only=True):
    """A method at one limit over the cases of a set, or of one kind of them. Shares are means over the cases that have what they
    are shares of; `all` and `any` say how often all or some of the gold is kept. `orphaned` counts selections with an orphan,
    `parted` those with a part of a turn, `over` those above the limit. `ms` is the median time of a selection.
    """

    set: str
    method: str
    limit: int
    cases: int
    recall: float | None
    all: float | None
    any: float | None
    groups: float | None
    tokens: float
    density: float
    stale: float | None
    orphaned: int
    parted: int
    newest: float
    over: int
    ms: float


class Judged(Struct, frozen=True, kw_only=True):
    """Every selection of a set, by method and limit."""

    set: str
    queries: tuple[Query, ...]
    kept: dict[tuple[str, int], tuple[Kept, ...]]


def judge_bench(bench: Bench, limits: Sequence[int] = LIMITS, methods: Iterable[str] = tuple(METHODS)) -> Judged:
    """Lets every method choose for every case. What can be made once per history (an index) is not in the time."""
    kept: dict[tuple[str, int], tuple[Kept, ...]] = {}
    for method in methods:
        ready = {name: METHODS[method](history) for name, history in bench.histories.items()}
        for limit in limits:
            kept[method, limit] = tuple(
                judge(bench.histories[query.conv], query, ready[query.conv], limit) for query in bench.queries
            )
    return Judged(set=bench.name, queries=bench.queries, kept=kept)


def judge(history: History, query: Query, select: Select, limit: int) -> Kept:
    """Makes one selection, and judges it."""
    started = time.perf_counter()
    chosen = select(query, limit)
    seconds = time.perf_counter() - started
    weights = history.facts.tokens
    names = {history.messages[index].id: index for index in chosen}
    tokens = sum(weights[index] for index in chosen)
    wanted = _wanted(query)
    gold = {name for group in wanted for name in group}
    faults = find_faults(history.facts.facts, sorted(chosen))
    partial, newest = _turns(history, set(chosen))
    return Kept(
        recall=_share(wanted, names) if wanted else None,
        groups=_share(list(query.gold_groups.values()), names) if query.gold_groups else None,
        tokens=tokens,
        density=sum(weights[names[name]] for name in gold & names.keys()) / tokens if tokens else 0.0,
        stale=_is_stale(query, names) if query.stale_messages else None,
        orphans=len(faults),
        partial=partial,
        newest=newest,
        over=max(0, tokens - limit),
        seconds=seconds,
    )


def score_bench(judged: Judged, *, kind: str | None = None) -> list[BenchScore]:
    """The scores of a set, a row per method and limit; of the queries of one type, if it is named."""
    some = [number for number, query in enumerate(judged.queries) if kind is None or query.type == kind]
    return [
        _score(judged.set, method, limit, [kept[number] for number in some])
        for (method, limit), kept in judged.kept.items()
    ]


def _wanted(query: Query) -> list[frozenset[str]]:
    """The gold of a case: each message for itself, or groups of which one message will do."""
    if query.gold_any_of:
        return list(query.gold_any_of.values())
    return [frozenset((name,)) for name in query.gold_messages]


def _share(groups: Sequence[frozenset[str]], kept: dict[str, int]) -> float:
    return sum(not group.isdisjoint(kept) for group in groups) / len(groups)


def _is_stale(query: Query, kept: dict[str, int]) -> bool:
    return not query.stale_messages.isdisjoint(kept) and query.gold_messages.isdisjoint(kept)


def _turns(history: History, chosen: set[int]) -> tuple[int, bool]:
    """How many turns are kept in part, and whether the newest one is whole."""
    sizes: dict[int, int] = defaultdict(int)
    there: dict[int, int] = defaultdict(int)
    for index, message in enumerate(history.messages):
        if not history.facts.facts[index].system:
            sizes[message.turn] += 1
            there[message.turn] += index in chosen
    newest = max(sizes)
    return sum(0 < there[turn] < size for turn, size in sizes.items()), there[newest] == sizes[newest]


def _score(name: str, method: str, limit: int, kept: Sequence[Kept]) -> BenchScore:
    return BenchScore(
        set=name,
        method=method,
        limit=limit,
        cases=len(kept),
        recall=_mean(one.recall for one in kept),
        all=_mean(float(one.recall == 1) for one in kept if one.recall is not None),
        any=_mean(float(one.recall > 0) for one in kept if one.recall is not None),
        groups=_mean(one.groups for one in kept),
        tokens=statistics.fmean(one.tokens for one in kept),
        density=statistics.fmean(one.density for one in kept),
        stale=_mean(one.stale for one in kept),
        orphaned=sum(one.orphans > 0 for one in kept),
        parted=sum(one.partial > 0 for one in kept),
        newest=statistics.fmean(one.newest for one in kept),
        over=sum(one.over > 0 for one in kept),
        ms=1_000 * statistics.median(one.seconds for one in kept),
    )


def _mean(values: Iterable[float | None]) -> float | None:
    """Over those that there are."""
    found = [value for value in values if value is not None]
    return statistics.fmean(found) if found else None
