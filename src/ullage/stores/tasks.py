"""What became of routed tasks, by their calls: where they went, how long they took, what they cost (routing specification, 27).

A task is one turn of the user with all calls of its tool loop. What its client did meanwhile, a summary or a title, counts as its
cost too. That all calls were delivered says nothing of how the task went: that only its user knows.
"""

from __future__ import annotations

from collections import defaultdict
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal

from msgspec import Struct

from ullage.core.profiles.pricing import prices_at

from .base import ATTEMPTS_READ
from .metrics import NO_ATTEMPTS, attempts_of
from .report import iso_time
from .route_records import AttemptRecord, Judgement

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from .base import Reader
    from .route_records import AttemptMade, OutcomeRecord

Delivery = Literal["unknown", "failure", "cancelled"]
"""What the provider made of it: `unknown` where all was delivered, for that does not say how the task went."""

_Cost = tuple[float | None, bool]
"""USD, as far as a price is known, and whether that is all that can be known of it."""

_HELPER = "helper"
_FAILURES = frozenset({"error", "cut"})
_INPUTS = ("input_fresh", "cache_read", "cache_write")
_MILLION = 1_000_000
_ERROR = 400
_MOST_CALLS = 1_000
_ALL = 10_000


class TaskSummary(Struct, frozen=True, kw_only=True):
    """One task. Times are milliseconds, `started_ms` since the epoch; tokens are of all its calls, `input_tokens` whole prompts.

    `targets` has how often each was asked, in the order in which it came to them; `last_target` ended it, and `switches` is how
    often the target changed from call to call. `cost_usd` is of every attempt and of what a small model was asked about the task:
    `known` where the usage and the price of each are, else `estimated`, with what was reserved for it, and `None` where no price
    is known. `settled`: the last call asked for no further tool. `assessment` is what the user said of it last.
    """

    task_id: str
    session: str
    started_ms: int
    duration_ms: float
    settled: bool
    targets: dict[str, int]
    last_target: str
    calls: int
    kinds: tuple[str, ...]
    complexity: float | None
    policy: str | None
    cost_usd: float | None
    cost_kind: Literal["known", "estimated"]
    delivery_outcome: Delivery
    assessment: Judgement | None
    escalated: bool
    switches: int
    cache_read_tokens: int
    input_tokens: int
    output_tokens: int


def summarize_task(
    calls: Iterable[AttemptRecord], helpers: Iterable[AttemptRecord] = (), assessment: Judgement | None = None
) -> TaskSummary:
    """The summary of at least one call of one task; `helpers` are what its client asked for meanwhile."""
    ordered = sorted(calls, key=lambda call: (call.created_ms, call.id))
    first, last = ordered[0], ordered[-1]
    visited = [call.target for call in ordered]
    asked = [one.target for call in ordered for one in attempts_of(call)]
    paid = [*ordered, *helpers]
    costs = [cost for call in paid for cost in _costs(call)]
    known = [usd for usd, _ in costs if usd is not None]
    route = next((call.route for call in reversed(ordered) if call.kinds), last.route)
    return TaskSummary(
        task_id=task_id_of(first) or "",
        session=first.session,
        started_ms=first.created_ms,
        duration_ms=_end_ms(ordered) - first.created_ms,
        settled=last.outcome not in ("ok", "unparsed") or not last.tool_calls,
        targets={target: asked.count(target) for target in dict.fromkeys(asked)},
        last_target=visited[-1],
        calls=len(ordered),
        kinds=route.task.kinds if route is not None else (),
        complexity=route.task.complexity if route is not None else None,
        policy=route.policy if route is not None else None,
        cost_usd=sum(known) if known else None,
        cost_kind="known" if all(is_known for _, is_known in costs) else "estimated",
        delivery_outcome=_delivery(last),
        assessment=assessment,
        escalated=any(call.route is not None and call.route.escalated for call in ordered),
        switches=sum(before != after for before, after in pairwise(visited)),
        cache_read_tokens=_tokens(paid, "cache_read"),
        input_tokens=sum(_tokens(paid, part) for part in _INPUTS),
        output_tokens=_tokens(paid, "output"),
    )


def list_tasks(reader: Reader, session_id: str | None = None, *, limit: int = 20) -> list[TaskSummary]:
    """The newest tasks, the newest first, as far as their calls are still kept. Raises `StoreError`."""
    attempts = reader.attempts(session_id)
    is_cut = len(attempts) == ATTEMPTS_READ  # then the oldest task may lack its first calls
    return _summarize(reader, attempts)[: -1 if is_cut else None][: max(limit, 0)]


def find_task(reader: Reader, task_id: str) -> TaskSummary | None:
    """The summary of a task whose calls are still kept. Raises `StoreError`."""
    calls = reader.decisions(task=task_id, limit=_MOST_CALLS)
    if not calls:
        return None
    attempts = reader.attempts(calls[0].session, since_ms=calls[-1].created_ms, limit=_ALL)
    return next((task for task in _summarize(reader, attempts) if task.task_id == task_id), None)


def latest_task(reader: Reader, session_id: str | None = None) -> TaskSummary | None:
    """The newest task that is over, of one session or of all; `None` before there was any. Raises `StoreError`."""
    return next((task for task in list_tasks(reader, session_id, limit=_ALL) if task.settled), None)


def task_id_of(call: AttemptRecord) -> str | None:
    """The task that a call belongs to; none for what a client asks for beside its user's tasks."""
    route = call.route
    return route.task_id if route is not None and route.reason != _HELPER else None


def judgements(outcomes: Iterable[OutcomeRecord]) -> dict[str, Judgement]:
    """What users said last of each task; `unknown` takes back what was said before."""
    newest = {one.task: one.judgement for one in sorted(outcomes, key=lambda one: (one.created_ms, one.id))}
    return {task: judgement for task, judgement in newest.items() if judgement != "unknown"}


def report_task(task: TaskSummary) -> dict[str, Any]:
    """A task as programs get it."""
    return {
        "task_id": task.task_id,
        "session": task.session,
        "started_at": iso_time(task.started_ms),
        "duration_ms": task.duration_ms,
        "settled": task.settled,
        "targets": task.targets,
        "calls": task.calls,
        "kinds": list(task.kinds),
        "complexity": task.complexity,
        "policy": task.policy,
        "cost_usd": task.cost_usd,
        "cost_kind": task.cost_kind,
        "delivery_outcome": task.delivery_outcome,
        "assessment": task.assessment,
        "escalated": task.escalated,
        "switches": task.switches,
        "cache_read_tokens": task.cache_read_tokens,
        "input_tokens": task.input_tokens,
        "output_tokens": task.output_tokens,
    }


def _summarize(reader: Reader, attempts: Iterable[AttemptRecord]) -> list[TaskSummary]:
    """The tasks of these calls, in the order in which they first come."""
    tasks: defaultdict[str, list[AttemptRecord]] = defaultdict(list)
    helpers: defaultdict[str, list[AttemptRecord]] = defaultdict(list)
    for call in attempts:
        task = task_id_of(call)
        if task is not None:
            tasks[task].append(call)
        elif call.kind not in NO_ATTEMPTS:
            helpers[call.session].append(call)
    judged = judgements(reader.outcomes())
    return [
        summarize_task(calls, meanwhile(calls, helpers[calls[0].session]), judged.get(task))
        for task, calls in tasks.items()
    ]


def meanwhile(calls: Sequence[AttemptRecord], helpers: Sequence[AttemptRecord]) -> list[AttemptRecord]:
    """Those of the helpers that were asked for while a task went on."""
    begin, end = min(call.created_ms for call in calls), _end_ms(calls)
    return [call for call in helpers if begin <= call.created_ms <= end]


def _end_ms(calls: Iterable[AttemptRecord]) -> float:
    return max(call.created_ms + (call.duration_ms or 0.0) for call in calls)


def _delivery(last: AttemptRecord) -> Delivery:
    if last.outcome == "left":
        return "cancelled"
    return "failure" if last.outcome in _FAILURES else "unknown"


def _costs(call: AttemptRecord) -> Iterator[_Cost]:
    """What was paid for a call: the question about its task, the attempts that were given up, and the one that it ended with."""
    if call.route is not None and call.route.question is not None:
        usd = call.route.question.usd
        yield usd, usd is not None
    made = attempts_of(call)
    for one in made[:-1]:
        yield (one.reserved_usd, False) if one.usd is None else (one.usd, True)
    yield _last_cost(call, made[-1] if made else None)


def _last_cost(call: AttemptRecord, last: AttemptMade | None) -> _Cost:
    if last is None:
        return 0.0, True  # nobody was asked
    if last.usd is not None:
        # What a broken answer told of its usage is the least that it cost.
        is_whole = call.spend is None or call.spend.get("usd") is not None
        return (last.usd, True) if is_whole else (max(last.usd, last.reserved_usd or 0.0), False)
    if last.reserved_usd is not None:
        return last.reserved_usd, False
    if call.spend is None and call.outcome == "error" and (call.status or 0) >= _ERROR:
        return 0.0, True  # it was refused
    prices, tokens = call.prices, call.estimated_input_tokens
    price = prices_at(prices, tokens).input if prices is not None and tokens is not None else None
    return (None if price is None or tokens is None else tokens * price / _MILLION), False


def _tokens(calls: Sequence[AttemptRecord], part: str) -> int:
    return sum((call.usage or {}).get(part) or 0 for call in calls)
