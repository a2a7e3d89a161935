"""Managed mode: what is sent in place of a client's request, so that it fits (design, section 4)."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from ullage.core.planning import Caps, PlanInput, plan_live
from ullage.core.planning.assembling import render_plan, resolve_caps
from ullage.core.planning.manifest import report_plan
from ullage.core.wire import Conversation, parse_request

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ullage.core.accounting import Meter
    from ullage.core.planning import Plan
    from ullage.settings.records import PlanningSettings

    from .measuring import Measuring
    from .observation import Observation

UNCHANGED = "unchanged"
_UNKNOWN_WINDOW = "window_unknown"


class Managed:
    """What came of a request. `body` is what is sent in place of the client's own, `None` for that itself. `estimate` are the
    provider's tokens of the prompt as sent, `why` is the plan in a line.

    The rest is made when it is asked for, once the request is on its way.
    """

    __slots__ = ("_conversation", "_given", "_plan", "_timings_ms", "body", "estimate", "status", "why")

    def __init__(
        self,
        conversation: Conversation,
        *,
        given: PlanInput | None = None,
        plan: Plan | None = None,
        body: bytes | None = None,
        timings_ms: Mapping[str, float] | None = None,
    ) -> None:
        self._conversation = conversation
        self._given = given
        self._plan = plan
        self._timings_ms = timings_ms or {}
        self.body = body
        self.status = plan.status if plan is not None else UNCHANGED
        self.why = _in_a_line(plan) if plan is not None else _UNKNOWN_WINDOW
        self.estimate = _provider_tokens(plan, given) if plan is not None and given is not None else None

    def conversation(self) -> Conversation:
        """What was sent."""
        if self.body is None:
            return self._conversation
        client = self._conversation
        return parse_request(self.body, client.dialect, path_model=client.model, path_stream=client.stream)

    def report(self) -> dict[str, Any]:
        """The plan's part of the manifest."""
        if self._plan is None or self._given is None:
            return {"status": UNCHANGED, "error": None, "warnings": [_UNKNOWN_WINDOW]}
        return report_plan(self._plan, self._given, timings_ms=self._timings_ms)


class Managing:
    """Makes plans, and remembers what those of a session go on from. Used by one thread only."""

    def __init__(self, settings: PlanningSettings, measuring: Measuring) -> None:
        self._settings = settings
        self._measuring = measuring
        self._caps = Caps(
            recent_tail=settings.recent_tail_tokens,
            pinned=settings.max_pinned_tokens,
            memory=settings.max_memory_tokens,
            history=settings.max_retrieved_history_tokens,
            project=settings.max_project_tokens,
            summary=settings.max_summary_tokens,
        )

    def manage(self, observation: Observation, conversation: Conversation, active: Meter) -> Managed:
        """What is sent for a request. Without a known window there is nothing to fit it into: it stays as it is."""
        started = time.perf_counter()
        given = self._input(observation, conversation, active)
        if given is None:
            return Managed(conversation)
        made = plan_live(given)
        planned = time.perf_counter()
        body = _render(conversation, made)
        timings_ms = {"plan": _ms(started, planned), "render": _ms(planned, time.perf_counter())}
        return Managed(conversation, given=given, plan=made, body=body, timings_ms=timings_ms)

    def _input(self, observation: Observation, conversation: Conversation, active: Meter) -> PlanInput | None:
        awareness = observation.sight.awareness if observation.sight is not None else None
        if awareness is None or awareness.budget is None:
            return None
        weights = self._measuring.weigh(conversation, active)
        return PlanInput(
            facts=self._measuring.facts(conversation),
            tokens=weights.messages,
            fixed_tokens=sum(weights.system) + sum(weights.tools),
            budget=awareness.budget,
            caps=resolve_caps(self._caps, awareness.adaptive),
            placement=self._settings.placement,
            rescue=self._settings.rescue_predecessor,
        )


def _render(conversation: Conversation, made: Plan) -> bytes | None:
    """The body that a plan sends; `None` where that is all of the client's own and nothing else."""
    if not made.dropped and not made.supplements and not made.replaced:
        return None
    return render_plan(conversation, made)


def _provider_tokens(made: Plan, given: PlanInput) -> int:
    """What the plan's tokens are in those of the provider, by what was learned of it."""
    return max(0, round(given.budget.offset + given.budget.ratio * made.tokens))


def _in_a_line(made: Plan) -> str:
    """What the plan did, for a header."""
    told = [
        f"status={made.status}",
        f"kept={len(made.kept)}",
        f"dropped={len(made.dropped)}",
        f"tokens={made.tokens}",
        f"limit={made.limit}",
    ]
    if made.replaced:
        told.append(f"replaced={len(made.replaced)}")
    if made.supplements:
        told.append(f"supplements={len(made.supplements)}")
    if made.error is not None:
        told.append(f"error={made.error}")
    return "; ".join(told)


def _ms(start: float, end: float) -> float:
    return round((end - start) * 1000, 3)
