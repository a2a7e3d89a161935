"""What tasks cost while routing only watched, and what they would have cost where it would have sent them.

Routing specification, section 24. Two comparisons are made and kept apart: what was predicted when a task began, for all its
calls, and what the calls came to in the end, priced at both targets. Neither says how well the other target would have worked.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct

from ullage.core.profiles.cache_rules import find_cache_rule
from ullage.core.profiles.facts import Prices

from .metrics import cost_nano_usd
from .route_records import AttemptRecord
from .tasks import task_id_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from .base import CallRecord, Reader

MOST_DECISIONS = 1_000
"""Decisions that are looked at, the newest."""

_PROMPT = ("input_fresh", "cache_read", "cache_write", "cache_write_1h")
_NANO = 1_000_000_000

CAVEAT = (
    "The other target may have taken more or fewer calls, or longer answers, for the same task; how well it would have "
    "worked is not known."
)
"""What must be said beside every counterfactual."""


class Watched(Struct, frozen=True, kw_only=True):
    """One task that stayed at a target while another was selected, or the same one.

    `kept_usd` and `selected_usd` were predicted, `prices` are the selected one's. `calls` are those of the task with a usage.
    """

    task_id: str
    session: str
    at_ms: int
    kept: str
    selected: str
    kept_usd: float | None
    selected_usd: float | None
    prices: Prices | None
    calls: tuple[AttemptRecord, ...]


class Compared(Struct, frozen=True, kw_only=True):
    """What a number of tasks cost in USD, and what they would have cost at the targets that were selected for them."""

    tasks: int
    kept_usd: float
    selected_usd: float


class Pair(Struct, frozen=True, kw_only=True):
    """The tasks that one target kept and another was selected for. `actual` is over those whose costs are all known."""

    kept: str
    selected: str
    tasks: int
    actual: Compared


class ShadowReport(Struct, frozen=True, kw_only=True):
    """All tasks that were watched. `differing` are those for which another target was selected; of the rest both costs are the
    same. `predicted` and `actual` count the tasks whose costs at both targets are known."""

    tasks: int
    differing: int
    predicted: Compared
    actual: Compared
    pairs: tuple[Pair, ...]
    caveat: str = CAVEAT


def report_shadow(
    watched: Iterable[Watched], *, input_ratio: Callable[[str], float | None] = lambda _: None
) -> ShadowReport:
    """Adds up what was watched.

    The tokens that were paid for are priced at the selected target. Its prompts have other numbers of tokens: `input_ratio`
    tells of a target how many its provider counts for each that we estimate, `None` where that is not known. On the first call of
    a task it has no cache yet, unless the session's task before it had been sent there, too.
    """
    ordered = sorted(watched, key=lambda task: (task.at_ms, task.task_id))
    differing = [task for task in ordered if task.selected != task.kept]
    known = [(task.kept_usd, task.selected_usd) for task in ordered]
    costs = _costs(ordered, input_ratio)
    names = sorted({(task.kept, task.selected) for task in differing})
    pairs = [[task for task in differing if (task.kept, task.selected) == name] for name in names]
    told = (
        Pair(
            kept=kept,
            selected=selected,
            tasks=len(tasks),
            actual=_compare([costs[task.task_id] for task in tasks]),
        )
        for (kept, selected), tasks in zip(names, pairs, strict=True)
    )
    return ShadowReport(
        tasks=len(ordered),
        differing=len(differing),
        predicted=_compare(known),
        actual=_compare(list(costs.values())),
        pairs=tuple(sorted(told, key=lambda pair: (-pair.tasks, pair.kept, pair.selected))),
    )


def watched_tasks(reader: Reader, *, since_ms: int = 0) -> list[Watched]:
    """The tasks that began since then while routing only watched. Raises `StoreError`."""
    decided = [call for call in reader.decisions(limit=MOST_DECISIONS) if call.created_ms >= since_ms]
    begun: dict[str, CallRecord] = {}
    for call in decided:
        route = call.route or {}
        if isinstance(route.get("shadow"), str):
            begun[route["task_id"]] = call  # the newest come first: the one that began the task stays
    calls: dict[str, list[AttemptRecord]] = {task: [] for task in begun}
    for attempt in reader.attempts(since_ms=since_ms) if begun else ():
        task = task_id_of(attempt)
        if task in calls and attempt.usage is not None:
            calls[task].append(attempt)
    return [_watched(call, calls[task]) for task, call in begun.items()]


def _watched(call: CallRecord, calls: Sequence[AttemptRecord]) -> Watched:
    route = call.route or {}
    ranked = {one.get("target"): one.get("cost") or {} for one in route.get("ranked") or ()}
    kept, selected = route.get("target") or "", route["shadow"]
    return Watched(
        task_id=route["task_id"],
        session=call.session,
        at_ms=call.created_ms,
        kept=kept,
        selected=selected,
        kept_usd=ranked.get(kept, {}).get("usd"),
        selected_usd=ranked.get(selected, {}).get("usd"),
        prices=_listed(ranked.get(selected)),
        calls=tuple(sorted(calls, key=lambda one: (one.created_ms, one.id))),
    )


def _listed(cost: Mapping[str, Any] | None) -> Prices | None:
    """The prices of a ranked target, as the report of a route has them."""
    if cost is None:
        return None
    parts = ("input", "output", "cache_read", "cache_write")
    try:
        return msgspec.convert({part: cost.get(part) for part in parts}, Prices)
    except msgspec.ValidationError:
        return None


def _costs(
    ordered: Sequence[Watched], input_ratio: Callable[[str], float | None]
) -> dict[str, tuple[float | None, float | None]]:
    """What each task cost, and what it would have cost, in the order of time."""
    sent: dict[str, str] = {}
    costs: dict[str, tuple[float | None, float | None]] = {}
    for task in ordered:
        actual = _sum(_paid(call) for call in task.calls)
        if task.selected == task.kept:
            other = actual
        else:
            scale = _scale(input_ratio(task.kept), input_ratio(task.selected))
            is_cold = sent.get(task.session) != task.selected
            other = _sum(
                _would_cost(call, task, scale, is_cold=is_cold and number == 0)
                for number, call in enumerate(task.calls)
            )
        sent[task.session] = task.selected
        costs[task.task_id] = (actual, other)
    return costs


def _paid(call: AttemptRecord) -> float | None:
    return _usd(call.usage or {}, call.prices, f"{call.provider}/{call.model}")


def _would_cost(call: AttemptRecord, task: Watched, scale: float, *, is_cold: bool) -> float | None:
    usage = dict(call.usage or {})
    for part in _PROMPT:
        usage[part] = (usage.get(part) or 0) * scale
    if is_cold:
        usage["cache_write"] += usage["cache_read"]
        usage["cache_read"] = 0
    return _usd(usage, task.prices, task.selected)


def _usd(usage: dict[str, Any], prices: Prices | None, target: str) -> float | None:
    provider, _, model = target.partition("/")
    nano = cost_nano_usd(usage, prices, find_cache_rule(provider, model))
    return None if nano is None else nano / _NANO


def _scale(kept: float | None, selected: float | None) -> float:
    return selected / kept if kept and selected else 1.0


def _sum(costs: Iterable[float | None]) -> float | None:
    """All of them; `None` where there are none or one is not known."""
    known = list(costs)
    return sum(cost for cost in known if cost is not None) if known and None not in known else None


def _compare(costs: Sequence[tuple[float | None, float | None]]) -> Compared:
    known = [(kept, selected) for kept, selected in costs if kept is not None and selected is not None]
    return Compared(
        tasks=len(known),
        kept_usd=sum(kept for kept, _ in known),
        selected_usd=sum(selected for _, selected in known),
    )
