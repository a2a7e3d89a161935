"""Turns what was observed into records: one call, its session, and what happened in it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from ullage.core.accounting import report
from ullage.core.errors import StoreError
from ullage.core.planning.tail_records import plain_memory
from ullage.stores import CallRecord, EventRecord, SessionRecord

from .foresight import report_sight
from .kinds import CONVERSATION

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ullage.core.accounting import Breakdown
    from ullage.core.content import Answer, Usage
    from ullage.core.wire import Caller
    from ullage.stores import Store

    from .anchoring import Outlook
    from .exchange import Exchange
    from .identity import Ending
    from .managing import Managed
    from .observation import Observation

_SESSIONS = 2_000
_TRACEPARENT = re.compile(r"00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}")


class Learned(Struct, frozen=True, kw_only=True):
    """What came of a call beside its answer.

    `sample` is what its sample says, `cache` what was expected warm and what was read; `missed` are the details of a miss that is
    worth an alert. `targets` are those its session was on, the newest last.
    """

    sample: dict[str, Any] | None = None
    cache: dict[str, Any] | None = None
    missed: dict[str, Any] | None = None
    targets: tuple[str, ...] = ()


class Recorder:
    """Writes the records of exchanges that are over. Used by one thread only."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._sessions: dict[str, SessionRecord] = {}
        # Sessions whose client has asked for a summary: their next rewritten history is its outcome.
        self._compacting: dict[str, None] = {}

    def record(
        self,
        observation: Observation,
        exchange: Exchange,
        answer: Answer | None,
        breakdown: Breakdown | None,
        learned: Learned,
    ) -> CallRecord:
        """Writes the call, which is returned, its session and its events. A session stays in the project it was first seen in.

        Where the store cannot say now what it knows of the session, its record is left as it is: the next call makes up for it.
        """
        known, asked = None, True
        try:
            known = self._known_session(observation) if observation.session else None
        except StoreError:
            asked = False
        if known is not None and known.project is not None:
            observation.project = known.project
        call = _call_record(observation, exchange, answer, breakdown)
        call = replace(call, sample=learned.sample, cache=learned.cache)
        self._store.put_call(call)
        if observation.session and asked:
            self._record_session(observation, exchange, known, learned)
        return call

    def _record_session(
        self, observation: Observation, exchange: Exchange, known: SessionRecord | None, learned: Learned
    ) -> None:
        caller, kinship = observation.caller, observation.kinship
        parent = kinship.parent if kinship is not None else None
        record = SessionRecord(
            id=observation.session,
            client=caller.client,
            client_version=caller.version,
            identity=caller.identity or "fingerprint",
            agent=caller.agent,
            parent=known.parent if known is not None else parent or parent_session(caller),
            started_ms=min(exchange.created_ms, known.started_ms if known is not None else exchange.created_ms),
            last_ms=max(exchange.created_ms, known.last_ms if known is not None else 0),
            calls=(known.calls if known is not None else 0) + 1,
            provider=exchange.provider,
            model=_asked_model(observation) if caller.kind in CONVERSATION or known is None else known.model,
            project=observation.project,
            targets=learned.targets or (known.targets if known is not None else ()),
            tip=_plain_tip(observation.ending, known),
            routing=observation.session_route or (known.routing if known is not None else None),
            tails=_plain_tails(observation.managed, known),
        )
        self._keep_session(record)
        self._store.put_session(record)
        happenings = self._happenings(observation, known)
        if learned.missed is not None:
            happenings.append(("cache_miss", learned.missed))
        for kind, details in happenings:
            self._store.put_event(
                EventRecord(
                    created_ms=exchange.created_ms,
                    kind=kind,
                    session=record.id,
                    call=exchange.id,
                    project=record.project,
                    details=details,
                )
            )

    def _known_session(self, observation: Observation) -> SessionRecord | None:
        known = self._sessions.pop(observation.session, None)
        if known is None and not _is_fresh(observation):
            known = self._store.find_session(observation.session)
        return known

    def _keep_session(self, record: SessionRecord) -> None:
        self._sessions[record.id] = record
        if len(self._sessions) > _SESSIONS:
            del self._sessions[next(iter(self._sessions))]

    def _happenings(self, observation: Observation, known: SessionRecord | None) -> list[tuple[str, dict[str, Any]]]:
        """What this request says about its session that is worth an event."""
        kinship, session = observation.kinship, observation.session
        events: list[tuple[str, dict[str, Any]]] = []
        if observation.caller.kind == "compaction":
            self._compacting[session] = None
            if len(self._compacting) > _SESSIONS:
                del self._compacting[next(iter(self._compacting))]
            return [("compaction_asked", {"messages": observation.messages})]
        if kinship is not None and kinship.relation in ("branch", "rewrite"):
            details = {"shared_messages": kinship.shared, "before": kinship.before, "after": observation.messages}
            kind = "compaction" if session in self._compacting else kinship.relation
            self._compacting.pop(session, None)
            events.append((kind, details if kinship.parent is None else {**details, "parent": kinship.parent}))
        switch = observation.sight.switch if observation.sight is not None else None
        if switch is not None and switch.switched:
            assert observation.sight is not None
            target = observation.sight.awareness.profile.key
            events.append(
                (
                    "model_switch",
                    {
                        "from": switch.previous,
                        "to": target,
                        "source": switch.source,
                        "profile_reused": switch.profile_reused,
                    },
                )
            )
        return events


def _call_record(
    observation: Observation, exchange: Exchange, answer: Answer | None, breakdown: Breakdown | None
) -> CallRecord:
    usage = answer.usage if answer is not None else None
    return CallRecord(
        id=exchange.id,
        session=observation.session,
        client=observation.caller.client,
        traceparent=_span_of(exchange.headers),
        created_ms=exchange.created_ms,
        dialect=exchange.endpoint.dialect,
        kind=observation.caller.kind if exchange.endpoint.purpose == "generate" else exchange.endpoint.purpose,
        path=exchange.endpoint.path,
        project=observation.project,
        provider=exchange.provider,
        model=_asked_model(observation),
        answered_by=answer.model if answer is not None else None,
        status=exchange.own_status or exchange.status,
        asked=exchange.asked or bool(observation.attempts),
        outcome=outcome_of(observation, exchange, answer),
        streamed=observation.stream,
        request_bytes=exchange.request_bytes,
        answer_bytes=exchange.answer_bytes,
        first_byte_ms=exchange.first_byte_ms,
        first_output_ms=exchange.first_output_ms,
        duration_ms=exchange.last_ms,
        stop_reason=answer.stop_reason if answer is not None else None,
        tool_calls=tuple(call.name for call in answer.tool_calls) if answer is not None else (),
        estimator=observation.meter.estimator if observation.meter is not None else None,
        estimated_input_tokens=estimate_of(breakdown) if breakdown is not None else None,
        expected=_plain_expectation(observation.outlook),
        awareness=report_sight(observation.sight) if observation.sight is not None else None,
        plan=_plan_of(observation),
        route=observation.route,
        spend=observation.spend,
        usage=_plain_usage(usage),
        breakdown=report(breakdown) if breakdown is not None else None,
        prefix_messages=observation.kinship.shared if observation.kinship is not None else None,
        warnings=tuple(exchange.warnings),
    )


def _asked_model(observation: Observation) -> str | None:
    """The model that an answer was asked of; `None` where nobody was let take the request: the name of a router is no model."""
    return None if observation.virtual and observation.decision is None else observation.model


def _span_of(headers: Mapping[str, str]) -> str | None:
    """The span that a request belongs to, as far as its client says so in the usual form."""
    told = headers.get("traceparent", "")
    return told if _TRACEPARENT.fullmatch(told) else None


def _plan_of(observation: Observation) -> dict[str, Any] | None:
    """What was made of the request before it was sent."""
    if observation.privacy is None:
        return observation.plan
    return {**(observation.plan or {}), "privacy": observation.privacy}


def _is_fresh(observation: Observation) -> bool:
    """Whether the session got its id just now: no database needs to be asked about it."""
    kinship = observation.kinship
    return observation.caller.identity is None and kinship is not None and kinship.before == 0


def _plain_tip(ending: Ending | None, known: SessionRecord | None) -> dict[str, Any] | None:
    """A helper request has no tip of its own and leaves the session's as it was."""
    tip = ending.tip() if ending is not None else None
    if tip is not None:
        return msgspec.structs.asdict(tip)
    return known.tip if known is not None else None


def _plain_tails(managed: Managed | None, known: SessionRecord | None) -> tuple[dict[str, Any], ...]:
    """A request that was not planned leaves them as they were."""
    if managed is not None and managed.tail_memories:
        return tuple(map(plain_memory, managed.tail_memories))
    return known.tails if known is not None else ()


def parent_session(caller: Caller) -> str | None:
    """The session that started this one, as its client says."""
    if caller.session is not None and caller.agent:
        return f"{caller.session}/{caller.parent_agent}" if caller.parent_agent else caller.session
    return caller.parent_session


def outcome_of(observation: Observation, exchange: Exchange, answer: Answer | None) -> str:
    if exchange.outcome != "whole":
        return exchange.outcome
    if exchange.status is not None and exchange.status >= 400:
        return "error"
    if observation.unparsed:
        return "unparsed"
    if answer is not None and answer.error_type is not None:
        return "error"
    if exchange.endpoint.purpose == "generate" and answer is not None and not answer.complete:
        return "cut"
    return "ok"


def estimate_of(breakdown: Breakdown) -> int:
    """What we made of the prompt before the provider spoke: the rows without the gap."""
    return sum(section.tokens for section in breakdown.sections)


def _plain_expectation(outlook: Outlook | None) -> dict[str, Any] | None:
    if outlook is None or outlook.expectation is None:
        return None
    return msgspec.structs.asdict(outlook.expectation)


def _plain_usage(usage: Usage | None) -> dict[str, Any] | None:
    if usage is None:
        return None
    plain: dict[str, Any] = msgspec.to_builtins(usage)
    return plain
