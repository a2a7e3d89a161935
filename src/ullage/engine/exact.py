"""Exact counts of a captured request, or of its cases, by the provider's own endpoint (accounting specification, section 15).

Nothing is sent unless a caller asks for it with a target. What was counted before comes from the cache; an answer that cannot be
true is refused and never used.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Literal, Protocol

from msgspec import Struct

from ullage.core.accounting.isolation import IsolationPlan, full_case, plan_isolation
from ullage.core.accounting.plausibility import Bounds, plausible_bounds
from ullage.core.wire import parse_request, read_context, render
from ullage.stores.counts import count_key
from ullage.upstream.asking import ask
from ullage.upstream.counting import CountRequest, count_request, make_countable, read_count

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from ullage.core.accounting.isolation import Case
    from ullage.core.wire import Conversation
    from ullage.upstream import UpstreamClient
    from ullage.upstream.asking import Target
    from ullage.upstream.counting import CountEndpoint, Coverage

MAX_CALLS = 64
"""Most requests that one isolation sends. Endpoints are free but limit the rate; a coding agent offers 4 to 25 tools."""

# Vendors allow some hundred counts a minute; a handful at once keeps well below and does not look like a flood.
CONCURRENCY = 4

Method = Literal["preflight"]
"""How a number came to be (accounting specification, section 15.1): here always a count ahead of a generation."""


class Cache(Protocol):
    """Where counts are kept by key."""

    def find(self, key: str) -> int | None:
        """The tokens kept for a key, `None` if there are none."""
        ...

    def put(self, key: str, tokens: int) -> None:
        """Keeps a number."""
        ...


class Ask(Struct, frozen=True, kw_only=True):
    """One count to be made, and what an answer must lie between to be believed."""

    request: CountRequest
    bounds: Bounds


class Agenda(Struct, frozen=True, kw_only=True):
    """Everything that is to be counted of one request, stated before anything is sent.

    `plan` is `None` where only the whole request is counted. `lost` names what bears on the prompt and is not in the count,
    `left_out` the members that the endpoint does not take and that do not bear on it. `over_cap` tells that single tools are not
    counted because there are more than the cap allows.
    """

    asks: tuple[Ask, ...]
    plan: IsolationPlan | None = None
    lost: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    over_cap: bool = False

    @property
    def coverage(self) -> Coverage:
        return "partial-request" if self.lost else "full-request"


class Count(Struct, frozen=True, kw_only=True):
    """The provider's count of one case. `tokens` is `None` if the answer was refused, for the reason in `refused`."""

    tokens: int | None
    cached: bool = False
    refused: str | None = None
    method: Method = "preflight"


def plan_counts(
    conversation: Conversation,
    endpoint: CountEndpoint,
    model: str,
    *,
    apart: bool,
    max_calls: int = MAX_CALLS,
) -> Agenda:
    """What to count of a request: all of it, and with `apart` each section as well.

    Single tools are counted all or not at all: what comes once with the first can only be told from all of them.
    """
    countable = make_countable(conversation, endpoint)
    over_cap = False
    cases: Sequence[Case] = (full_case(countable.conversation),)
    plan = plan_isolation(countable.conversation) if apart else None
    if plan is not None:
        over_cap = len(plan.cases) > max_calls
        cases = [case for case in plan.cases if not (over_cap and case.id.startswith("tool:"))]
    asks = [
        Ask(
            request=count_request(countable, case, endpoint, model),
            bounds=case_bounds(countable.conversation, case),
        )
        for case in cases
    ]
    return Agenda(
        asks=tuple(asks), plan=plan, lost=countable.lost, left_out=asks[-1].request.left_out, over_cap=over_cap
    )


def case_bounds(conversation: Conversation, case: Case) -> Bounds:
    """The counts that can be true for a case; the minimal message is too short to matter."""
    body = render(conversation, messages=case.messages, tools=case.tools, system=case.system)
    return plausible_bounds(read_context(parse_request(body, conversation.dialect)), conversation.dialect)


class Counter:
    """Counts at one endpoint of one provider."""

    def __init__(self, *, client: UpstreamClient, target: Target, endpoint: CountEndpoint, cache: Cache) -> None:
        self._client = client
        self._target = target
        self._endpoint = endpoint
        self._cache = cache
        self._slots = asyncio.Semaphore(CONCURRENCY)

    async def count_all(self, asks: Iterable[Ask], progress: Callable[[], None] = lambda: None) -> dict[str, Count]:
        """The counts by case; `progress` is called after each.

        Raises the first `UpstreamError`, after which nothing more is sent: what was counted until then is in the cache.
        """

        async def one(question: Ask) -> tuple[str, Count]:
            async with self._slots:
                count = await self.count(question)
            progress()
            return question.request.case, count

        try:
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(one(question)) for question in asks]
        except BaseExceptionGroup as group_error:
            raise group_error.exceptions[0] from None
        return dict(task.result() for task in tasks)

    async def count(self, question: Ask) -> Count:
        """One count, from the cache if it is there. Raises `UpstreamError`."""
        request = question.request
        key = cache_key(request, self._target)
        kept = self._cache.find(key)
        tokens = kept
        if tokens is None:
            answer = await ask(self._client, self._target, request.path, request.body)
            tokens = read_count(answer, self._endpoint, self._target.host)
        refused = question.bounds.refusal(tokens)
        if refused is not None:
            return Count(tokens=None, cached=kept is not None, refused=refused)
        if kept is None:
            self._cache.put(key, tokens)
        return Count(tokens=tokens, cached=kept is not None)


def cache_key(request: CountRequest, target: Target) -> str:
    """What a count is kept by: where it was asked and all that was asked, without the key."""
    return count_key(target.root.encode(), request.path.encode(), request.body)


def uncounted(asks: Iterable[Ask], target: Target, cache: Cache) -> list[Ask]:
    """Those of these that the provider would have to be asked."""
    return [question for question in asks if cache.find(cache_key(question.request, target)) is None]


def known_counts(counts: Mapping[str, Count]) -> dict[str, int]:
    """The believed counts by case."""
    return {case: count.tokens for case, count in counts.items() if count.tokens is not None}
