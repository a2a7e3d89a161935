"""One exchange read from its bytes: request parsed, session found, parts measured, answer read, record written."""

from __future__ import annotations

import contextlib
import logging
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from ullage.core.accounting import NO_OPTIONS, Breakdown, Meter, Options, assemble, make_meter, read_options, report
from ullage.core.errors import RequestError, StoreError
from ullage.core.wire import AnswerReader, Caller, Conversation, parse_request, recognise
from ullage.stores import CallRecord, EventRecord, SessionRecord
from ullage.upstream import provider_of

from .encoding import Decoder, make_decoder
from .identity import Genealogy, Kinship, Tip, tip_of
from .measuring import Measures, Measuring

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ullage.core.content import Answer, Usage
    from ullage.settings.records import AccountingSettings
    from ullage.stores import Store

    from .exchange import Exchange

_log = logging.getLogger("ullage.engine")

# Requests that belong to the user's own conversation; all other kinds are the client's helpers, guests in its session.
_CONVERSATION = frozenset({"conversation", "subagent"})
_SESSIONS = 2_000
_RECALLED = 500

_UNKNOWN = Caller(client="unknown")


class Observation(Struct):
    """What is known of an exchange that is still open."""

    caller: Caller = _UNKNOWN
    session: str = ""
    kinship: Kinship | None = None
    tip: Tip | None = None
    model: str | None = None
    stream: bool = False
    meter: Meter | None = None
    measures: Measures | None = None
    options: Options = NO_OPTIONS
    messages: int | None = None
    unparsed: bool = False
    reader: AnswerReader | None = None
    decoder: Decoder | None = None
    unreadable: bool = False


class Reader:
    """Reads exchanges one after the other and writes their records. Used by one thread only."""

    def __init__(self, *, store: Store, settings: AccountingSettings, new_id: Callable[[], str]) -> None:
        self._store = store
        self._settings = settings
        self._new_id = new_id
        self._genealogy = Genealogy()
        self._measuring = Measuring()
        self._sessions: dict[str, SessionRecord] = {}

    def recall_sessions(self) -> None:
        """Takes up the sessions of earlier runs that are known by their messages alone. May wait for the database."""
        with contextlib.suppress(StoreError):  # they begin anew then; the store says itself what is wrong with it
            self._recall(self._store.sessions(limit=_RECALLED))

    def _recall(self, records: Sequence[SessionRecord]) -> None:
        for record in records:
            if record.identity == "fingerprint" and record.tip is not None:
                self._genealogy.recall(record.id, msgspec.convert(record.tip, Tip))

    def begin(self, exchange: Exchange, body: bytes | None) -> Observation:
        """Reads the request. A body that cannot be read is recorded as `unparsed`, never refused."""
        endpoint = exchange.endpoint
        observation = Observation(model=endpoint.model, stream=bool(endpoint.stream))
        try:
            self._read_request(observation, exchange, body)
        except Exception:  # noqa: BLE001 - a fault of ours costs what is not read yet, never the record
            _tell_fault(exchange)
        return observation

    def feed(self, observation: Observation, exchange: Exchange, chunks: Sequence[bytes]) -> None:
        """Reads a piece of the answer."""
        if observation.unreadable:
            return
        try:
            if observation.reader is None:
                self._open_answer(observation, exchange)
            assert observation.reader is not None and observation.decoder is not None
            observation.reader.feed(observation.decoder(b"".join(chunks)))
        except ValueError:
            observation.unreadable = True
            exchange.warnings.append("answer_encoding_unreadable")
        except Exception:  # noqa: BLE001 - as above
            observation.unreadable = True
            _tell_fault(exchange)

    def finish(self, observation: Observation, exchange: Exchange) -> None:
        """Writes the records of an exchange that is over."""
        if exchange.endpoint.purpose not in ("generate", "count_tokens"):
            return
        answer = observation.reader.close() if observation.reader is not None else None
        self._store.put_call(self._call_record(observation, exchange, answer))
        if observation.session:
            self._record_session(observation, exchange)

    def count(self, exchange: Exchange, body: bytes) -> int | None:
        """Our estimate of the prompt of a request, in tokens; `None` if it cannot be read."""
        conversation = self._parse(exchange, body)
        if conversation is None:
            return None
        caller = recognise(exchange.headers, exchange.endpoint.path, conversation)
        meter = self._meter(exchange, conversation.model, caller)
        measures = self._measuring.measure(conversation, meter)
        return assemble(meter, **measures._asdict(), options=read_options(conversation)).total.tokens

    def _read_request(self, observation: Observation, exchange: Exchange, body: bytes | None) -> None:
        conversation = self._parse(exchange, body) if body is not None else None
        observation.unparsed = body is not None and conversation is None
        observation.caller = recognise(exchange.headers, exchange.endpoint.path, conversation)
        observation.session = _own_session(observation.caller)
        if conversation is not None:
            self._read_conversation(observation, exchange, conversation)

    def _parse(self, exchange: Exchange, body: bytes) -> Conversation | None:
        endpoint = exchange.endpoint
        if endpoint.purpose not in ("generate", "count_tokens"):
            return None
        try:
            plain = make_decoder(exchange.headers.get("content-encoding", ""))(body)
            return parse_request(plain, endpoint.dialect, path_model=endpoint.model, path_stream=endpoint.stream)
        except (RequestError, ValueError):
            return None

    def _read_conversation(self, observation: Observation, exchange: Exchange, conversation: Conversation) -> None:
        observation.model = conversation.model
        observation.stream = conversation.stream
        observation.messages = len(conversation.messages)
        if observation.caller.kind in _CONVERSATION:
            hashes = self._measuring.canonical_hashes(conversation)
            observation.tip = tip_of(hashes)
            if observation.session:
                observation.kinship = self._genealogy.place_named(observation.session, hashes)
            else:
                observation.kinship = self._genealogy.place_unnamed(hashes, self._new_id())
                observation.session = observation.kinship.session
        if self._settings.enabled and exchange.endpoint.purpose == "generate":
            observation.meter = self._meter(exchange, conversation.model, observation.caller)
            observation.measures = self._measuring.measure(conversation, observation.meter)
            observation.options = read_options(conversation)

    def _meter(self, exchange: Exchange, model: str | None, caller: Caller) -> Meter:
        return make_meter(
            dialect=exchange.endpoint.dialect,
            provider=provider_of(exchange.root),
            model=model,
            client=caller.client,
            estimator=self._settings.estimator,
        )

    def _open_answer(self, observation: Observation, exchange: Exchange) -> None:
        headers = exchange.answer_headers
        streamed = headers.get(b"content-type", b"").startswith(b"text/event-stream")
        observation.reader = AnswerReader(exchange.endpoint.dialect, streamed=streamed)
        observation.decoder = make_decoder(headers.get(b"content-encoding", b"").decode("latin-1"))

    def _call_record(self, observation: Observation, exchange: Exchange, answer: Answer | None) -> CallRecord:
        usage = answer.usage if answer is not None else None
        breakdown = self._breakdown(observation, exchange, usage)
        return CallRecord(
            id=exchange.id,
            session=observation.session,
            created_ms=exchange.created_ms,
            dialect=exchange.endpoint.dialect,
            kind=observation.caller.kind if exchange.endpoint.purpose == "generate" else exchange.endpoint.purpose,
            path=exchange.endpoint.path,
            provider=provider_of(exchange.root),
            model=observation.model,
            answered_by=answer.model if answer is not None else None,
            status=exchange.status,
            outcome=_outcome(observation, exchange, answer),
            streamed=observation.stream,
            request_bytes=exchange.request_bytes,
            answer_bytes=exchange.answer_bytes,
            first_byte_ms=exchange.first_byte_ms,
            duration_ms=exchange.last_ms,
            stop_reason=answer.stop_reason if answer is not None else None,
            tool_calls=tuple(call.name for call in answer.tool_calls) if answer is not None else (),
            estimator=observation.meter.estimator if observation.meter is not None else None,
            estimated_input_tokens=_estimate(breakdown) if breakdown is not None else None,
            usage=_plain_usage(usage),
            breakdown=report(breakdown) if breakdown is not None else None,
            prefix_messages=observation.kinship.shared if observation.kinship is not None else None,
            warnings=tuple(exchange.warnings),
        )

    def _breakdown(self, observation: Observation, exchange: Exchange, usage: Usage | None) -> Breakdown | None:
        if observation.meter is None or observation.measures is None:
            return None
        try:
            breakdown = assemble(
                observation.meter, **observation.measures._asdict(), usage=usage, options=observation.options
            )
        except Exception:  # noqa: BLE001 - as above
            _tell_fault(exchange)
            return None
        return replace(breakdown, source=f"call:{exchange.id}", session=observation.session or None)

    def _record_session(self, observation: Observation, exchange: Exchange) -> None:
        caller, kinship = observation.caller, observation.kinship
        known = self._known_session(observation.session)
        parent = kinship.parent if kinship is not None else None
        record = SessionRecord(
            id=observation.session,
            client=caller.client,
            client_version=caller.version,
            identity=caller.identity or "fingerprint",
            agent=caller.agent,
            parent=known.parent if known is not None else parent or _parent_session(caller),
            started_ms=min(exchange.created_ms, known.started_ms if known is not None else exchange.created_ms),
            last_ms=max(exchange.created_ms, known.last_ms if known is not None else 0),
            calls=(known.calls if known is not None else 0) + 1,
            provider=provider_of(exchange.root),
            model=observation.model if caller.kind in _CONVERSATION or known is None else known.model,
            tip=_plain_tip(observation.tip, known),
        )
        self._keep_session(record)
        self._store.put_session(record)
        for kind, details in _happenings(observation, known):
            self._store.put_event(
                EventRecord(
                    created_ms=exchange.created_ms, kind=kind, session=record.id, call=exchange.id, details=details
                )
            )

    def _known_session(self, session: str) -> SessionRecord | None:
        known = self._sessions.pop(session, None)
        if known is None:
            with contextlib.suppress(StoreError):
                known = self._store.find_session(session)
        return known

    def _keep_session(self, record: SessionRecord) -> None:
        self._sessions[record.id] = record
        if len(self._sessions) > _SESSIONS:
            del self._sessions[next(iter(self._sessions))]


def _tell_fault(exchange: Exchange) -> None:
    _log.exception("The request %s could not be accounted for.", exchange.id)
    exchange.warnings.append("accounting_failed")


def _plain_tip(tip: Tip | None, known: SessionRecord | None) -> dict[str, Any] | None:
    """A helper request has no tip of its own and leaves the session's as it was."""
    if tip is not None:
        return msgspec.structs.asdict(tip)
    return known.tip if known is not None else None


def _own_session(caller: Caller) -> str:
    """The session the client names, a sub-agent's apart from its parent's."""
    if caller.session is None:
        return ""
    return f"{caller.session}/{caller.agent}" if caller.agent else caller.session


def _parent_session(caller: Caller) -> str | None:
    if caller.session is not None and caller.agent:
        return f"{caller.session}/{caller.parent_agent}" if caller.parent_agent else caller.session
    return caller.parent_session


def _outcome(observation: Observation, exchange: Exchange, answer: Answer | None) -> str:
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


def _estimate(breakdown: Breakdown) -> int:
    """What we made of the prompt before the provider spoke: the rows without the gap."""
    return sum(section.tokens for section in breakdown.sections)


def _plain_usage(usage: Usage | None) -> dict[str, Any] | None:
    if usage is None:
        return None
    plain: dict[str, Any] = msgspec.to_builtins(usage)
    return plain


def _happenings(observation: Observation, known: SessionRecord | None) -> list[tuple[str, dict[str, Any]]]:
    """What this request says about its session that is worth an event."""
    events: list[tuple[str, dict[str, Any]]] = []
    kinship = observation.kinship
    if kinship is not None and kinship.relation in ("branch", "rewrite"):
        details = {"shared_messages": kinship.shared, "before": kinship.before, "after": observation.messages}
        events.append((kinship.relation, details if kinship.parent is None else {**details, "parent": kinship.parent}))
    if observation.caller.kind == "compaction":
        events.append(("compaction", {"messages": observation.messages}))
    # A title may have come first, by a smaller model: only a request of the conversation itself leaves a tip.
    elif kinship is not None and known is not None and known.tip is not None and known.model != observation.model:
        events.append(("model_switch", {"from": known.model, "to": observation.model}))
    return events
