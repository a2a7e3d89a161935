"""Managed mode: what is sent in place of a client's request, so that it fits (design, section 4)."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from ullage.core.planning import Caps, PlanInput, plan_live
from ullage.core.planning.assembling import render_plan, resolve_caps
from ullage.core.planning.manifest import report_plan
from ullage.core.wire import Conversation, parse_request

if TYPE_CHECKING:
    from ullage.core.accounting import Meter
    from ullage.core.planning import Plan
    from ullage.settings.records import PlanningSettings

    from .measuring import Measuring
    from .observation import Observation

UNCHANGED = "unchanged"
_UNKNOWN_WINDOW = "window_unknown"


class Managed(Struct, frozen=True, kw_only=True):
    """What came of a request: the conversation that is sent, which is the client's own unless it is `changed`.

    `report` is the plan's part of the manifest, `why` the same in a line.
    """

    conversation: Conversation
    changed: bool
    status: str
    report: dict[str, Any]
    why: str = ""


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
            report = {"status": UNCHANGED, "error": None, "warnings": [_UNKNOWN_WINDOW]}
            return Managed(
                conversation=conversation, changed=False, status=UNCHANGED, report=report, why=_UNKNOWN_WINDOW
            )
        made = plan_live(given)
        planned = time.perf_counter()
        sent = _render(conversation, made)
        timings = {"plan": _ms(started, planned), "render": _ms(planned, time.perf_counter())}
        return Managed(
            conversation=sent,
            changed=sent is not conversation,
            status=made.status,
            report=report_plan(made, given, timings_ms=timings),
            why=_in_a_line(made),
        )

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


def _render(conversation: Conversation, made: Plan) -> Conversation:
    """The conversation that a plan sends; the client's own where all of it is sent and nothing else."""
    if not made.dropped and not made.supplements and not made.replaced:
        return conversation
    body = render_plan(conversation, made)
    return parse_request(body, conversation.dialect, path_model=conversation.model, path_stream=conversation.stream)


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
