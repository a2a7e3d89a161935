"""Reads exchanges from their bytes: request parsed, session found, parts measured, answer read."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import replace

from ullage.core.accounting import Breakdown, Meter, assemble, make_meter, read_options
from ullage.core.content import Answer
from ullage.core.errors import RequestError, StoreError
from ullage.core.routing.identity import split_target
from ullage.core.wire import AnswerReader, Caller, Conversation, find_project, parse_request, recognise
from ullage.core.wire.output import requested_output
from ullage.settings.policy import make_policy
from ullage.settings.resolving import growth_estimator

from .anchoring import Anchoring
from .encoding import ANSWER_LIMIT_BYTES, REQUEST_LIMIT_BYTES, make_decoder
from .exchange import Exchange
from .foresight import Foresight
from .identity import Ending, Genealogy, Origin, Tip
from .kinds import CONVERSATION
from .knowledge import Knowledge
from .measuring import Measuring
from .observation import Observation
from .recent import RecentConversations
from .recording import Learned, Recorder, outcome_of
from .warmth import Warmth, miss_details

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ullage.core.content import Usage
    from ullage.core.profiles import ModelProfile
    from ullage.settings import Settings
    from ullage.stores import CallRecord, SessionRecord, Store

    from .foresight import Sight
    from .knowledge import Sources

SettleRoute = Callable[[Observation, Exchange, Answer | None], None]
"""What is noted of the route of an exchange that is over."""

_log = logging.getLogger("ullage.engine")

_RECALLED = 500
_PROJECT_HEADER = "x-ullage-project"


class Reader:
    """Reads exchanges one after the other and writes their records. Used by one thread only."""

    def __init__(
        self,
        *,
        store: Store,
        settings: Settings,
        new_id: Callable[[], str],
        sources: Sources | None = None,
    ) -> None:
        self._store = store
        self._settings = settings.accounting
        self._new_id = new_id
        self._genealogy = Genealogy()
        self.measuring = Measuring()
        self._recent = RecentConversations()
        policy = make_policy(settings)
        self._knowledge = Knowledge(
            store,
            sources=sources,
            overrides=settings.models.overrides,
            enabled=policy.enabled,
            estimator=settings.calibration.estimator,
            growth_estimator=growth_estimator(settings),
            window=policy.bounds.window,
        )
        self._anchoring = Anchoring(self._knowledge.pairs)
        self._warmth = Warmth()
        self._foresight = Foresight(self._knowledge, policy)
        self._recorder = Recorder(store)

    def recall_sessions(self) -> list[SessionRecord]:
        """Takes up the sessions of earlier runs, and what providers may still hold warm of them. May wait for the database."""
        records: list[SessionRecord] = []
        with contextlib.suppress(StoreError):  # they begin anew then; the store says itself what is wrong with it
            records = self._store.sessions(limit=_RECALLED)
            self._recall(records)
            self._warmth.recall(self._store.prefixes())
        return records

    def _recall(self, records: Sequence[SessionRecord]) -> None:
        for record in records:
            self._foresight.switches.recall(record.id, record.targets)
            if record.identity == "fingerprint" and record.tip is not None:
                self._genealogy.recall(record.id, msgspec.convert(record.tip, Tip))

    def begin(self, exchange: Exchange, body: bytes | None) -> Observation:
        """Reads the request. A body that cannot be read is recorded as `unparsed`, never refused."""
        endpoint = exchange.endpoint
        observation = Observation(model=endpoint.model, stream=bool(endpoint.stream))
        try:
            self._read_request(observation, exchange, body)
        except Exception:  # noqa: BLE001 - a fault of ours costs what is not read yet, never the record
            tell_fault(exchange)
        return observation

    def feed(self, observation: Observation, exchange: Exchange, piece: bytes) -> None:
        """Reads a piece of the answer."""
        if observation.unreadable:
            return
        try:
            if observation.reader is None:
                self._open_answer(observation, exchange)
            assert observation.reader is not None and observation.decoder is not None
            for chunk, at_ms in _as_it_came(observation, exchange, piece):
                for plain in observation.decoder(chunk):
                    observation.reader.feed(plain)
                if at_ms is not None and observation.reader.spoke:
                    exchange.first_output_ms = at_ms
        except ValueError:
            observation.unreadable = True
            exchange.warnings.append("answer_encoding_unreadable")
        except Exception:  # noqa: BLE001 - as above
            observation.unreadable = True
            tell_fault(exchange)

    def take_back(self, observation: Observation) -> None:
        """Nothing came of a request at its target: that is not where its session was."""
        if observation.sight is not None and observation.sight.switch is not None:
            self._foresight.switches.take_back(observation.session, observation.sight.awareness.profile.key)

    def finish(self, observation: Observation, exchange: Exchange, settle_route: SettleRoute) -> CallRecord:
        """Writes the records of an exchange that is over; the call's."""
        answer = observation.reader.close() if observation.reader is not None else None
        try:
            settle_route(observation, exchange, answer)
        except Exception:  # noqa: BLE001 - as above
            tell_fault(exchange)
        breakdown = self._breakdown(observation, exchange, answer.usage if answer is not None else None)
        learned = self._settle(observation, exchange, answer)
        return self._recorder.record(observation, exchange, answer, breakdown, learned)

    def _settle(self, observation: Observation, exchange: Exchange, answer: Answer | None) -> Learned:
        try:
            return self._learn(observation, exchange, answer)
        except Exception:  # noqa: BLE001 - as above
            tell_fault(exchange)
            return Learned(targets=self._foresight.switches.targets(observation.session))

    def _learn(self, observation: Observation, exchange: Exchange, answer: Answer | None) -> Learned:
        """Learns from a whole answer; one that failed or was cut proves nothing (accounting specification, section 8)."""
        refused = self._foresight.refuse(observation, answer, outcome=outcome_of(observation, exchange, answer))
        pair = None
        if observation.outlook is not None and answer is not None and refused is None:
            pair = self._anchoring.settle(observation.session, observation.outlook, answer.usage)
        cache, missed = self._settle_cache(observation, exchange, answer)
        sample = self._foresight.settle(observation, exchange, answer, refused=refused, pair=pair)
        return Learned(
            sample=sample, cache=cache, missed=missed, targets=self._foresight.switches.targets(observation.session)
        )

    def _settle_cache(
        self, observation: Observation, exchange: Exchange, answer: Answer | None
    ) -> tuple[dict[str, Any] | None, dict[str, Any] | None]:
        """Checks what was read from cache; an answer that was cut has had its prompt read all the same."""
        forecast, status = observation.forecast, exchange.status
        if forecast is None or answer is None or status is None or status >= 400 or answer.error_type is not None:
            return None, None
        settled = self._warmth.settle(forecast, answer.usage, ended_ms=exchange.created_ms + round(exchange.last_ms))
        if settled.prefix is not None:
            self._store.put_prefix(settled.prefix)
        missed = None
        if settled.miss is not None and settled.miss.unexpected:
            prices = observation.sight.awareness.profile.prices if observation.sight is not None else None
            prompt = answer.usage.prompt if answer.usage is not None else None
            missed = miss_details(forecast, settled.miss, prices, prompt_tokens=prompt or 0)
        return settled.cache, missed

    def count(self, exchange: Exchange, body: bytes) -> int | None:
        """Our estimate of the prompt of a request, in tokens; `None` if it cannot be read."""
        conversation = self.parse(exchange, body)
        if conversation is None:
            return None
        caller = recognise(exchange.headers, exchange.endpoint.path, conversation)
        meter = self._meter(exchange, conversation.model, caller)
        measures = self.measuring.measure(conversation, meter)
        return assemble(meter, **measures._asdict(), options=read_options(conversation)).total.tokens

    def note_models(self, exchange: Exchange) -> None:
        """Keeps what a provider says of its models, for profiles."""
        try:
            coding = exchange.answer_headers.get(b"content-encoding", b"").decode("latin-1")
            decode = make_decoder(coding, REQUEST_LIMIT_BYTES)
            payload = b"".join(plain for chunk in exchange.kept or () for plain in decode(chunk))
        except ValueError:
            return
        self._knowledge.note_models(exchange.provider, payload)

    def _read_request(self, observation: Observation, exchange: Exchange, body: bytes | None) -> None:
        conversation = self.parse(exchange, body) if body is not None else None
        observation.unparsed = body is not None and conversation is None
        self.identify(observation, exchange, conversation)
        if conversation is not None:
            self.describe(observation, conversation)
            self.read_conversation(observation, exchange, conversation)

    def identify(self, observation: Observation, exchange: Exchange, conversation: Conversation | None) -> None:
        """Who asks, in which session and project."""
        observation.caller = recognise(exchange.headers, exchange.endpoint.path, conversation)
        observation.session = _own_session(observation.caller)
        observation.project = _named_project(exchange)

    def describe(self, observation: Observation, conversation: Conversation) -> None:
        observation.model = conversation.model
        observation.stream = conversation.stream
        observation.messages = len(conversation.messages)
        if observation.project is None:
            observation.project = find_project(conversation, observation.caller.client)

    def parse(self, exchange: Exchange, body: bytes) -> Conversation | None:
        endpoint = exchange.endpoint
        try:
            decode = make_decoder(exchange.headers.get("content-encoding", ""), REQUEST_LIMIT_BYTES)
            return self.parse_plain(exchange, b"".join(decode(body)), endpoint.model)
        except (RequestError, ValueError):
            return None

    def parse_plain(self, exchange: Exchange, plain: bytes, path_model: str | None) -> Conversation:
        """A body that is not compressed. Raises `RequestError` if it cannot be read."""
        endpoint = exchange.endpoint
        conversation = parse_request(
            plain,
            endpoint.dialect,
            path_model=path_model,
            path_stream=endpoint.stream,
            previous=self._recent.find(endpoint.dialect, plain),
        )
        self._recent.keep(conversation)
        return conversation

    def read_conversation(
        self, observation: Observation, exchange: Exchange, conversation: Conversation, *, placed: bool = False
    ) -> None:
        """Accounts for a request; `placed`: its session is known already."""
        if observation.caller.kind in CONVERSATION and not placed:
            self.place(observation, conversation)
        if self._settings.enabled and exchange.endpoint.purpose == "generate":
            self.look_ahead(observation, exchange, conversation)

    def place(self, observation: Observation, conversation: Conversation) -> None:
        """Finds the session, and how the request goes on from what was sent in it before."""
        hashes = self.measuring.canonical_hashes(conversation)
        if observation.session:
            observation.kinship = self._genealogy.place_named(observation.session, hashes)
            observation.ending = Ending(hashes)
            return
        origin = Origin(
            kind=f"{conversation.dialect}/{observation.caller.client}",
            system=self.measuring.system_hash(conversation),
        )
        observation.kinship = self._genealogy.place_unnamed(hashes, self._new_id(), origin)
        observation.session = observation.kinship.session
        observation.ending = Ending(hashes, origin)

    def look_ahead(self, observation: Observation, exchange: Exchange, conversation: Conversation) -> None:
        """What the request weighs, and what is to be expected of its answer's usage."""
        active = self.choose_meters(observation, exchange, conversation)
        self.measure(observation, conversation, active)
        observation.sight = self.judge(observation, exchange, conversation, active)
        if observation.kinship is not None:
            self.expect(observation, exchange, conversation)
        self.forecast(observation, exchange, conversation)

    def estimate(
        self, observation: Observation, exchange: Exchange, conversation: Conversation, target: str | None
    ) -> int:
        """The prompt in the tokens of a target's provider, by what was learned of it; of none in particular for `None`."""
        provider, model = split_target(target or "") or (None, None)
        meter = self._meter_of(exchange, provider, model, observation.caller)
        active = self._foresight.active_meter(meter)
        local = self.measuring.weigh(conversation, active).total
        anchored = self._anchoring.line(observation.session, meter)
        return self._foresight.to_provider_tokens(meter, active, local, exchange.created_ms, anchored=anchored)

    def profile(self, exchange: Exchange, model: str | None) -> ModelProfile:
        """What is known of the model that a request goes to."""
        return self._knowledge.profile(exchange.provider, model or "", exchange.dialect)

    def find_warm(self, session: str, conversation: Conversation, now_ms: int) -> dict[str, int]:
        """The tokens of the prompt that each target's cache holds of the session."""
        return self._warmth.find_warm(session, conversation, self.measuring.canonical_hashes(conversation), now_ms)

    def choose_meters(self, observation: Observation, exchange: Exchange, conversation: Conversation) -> Meter:
        """Finds the meter of the account; the one that limits are drawn in."""
        observation.meter = self._meter(exchange, conversation.model, observation.caller)
        return self._foresight.active_meter(observation.meter)

    def measure(self, observation: Observation, conversation: Conversation, active: Meter) -> None:
        """Counts every part of what is sent."""
        assert observation.meter is not None, "it has been chosen"
        observation.measures = self.measuring.measure(conversation, observation.meter, active)
        observation.weights = self.measuring.weigh(conversation, observation.meter)
        observation.options = read_options(conversation)

    def judge(
        self, observation: Observation, exchange: Exchange, conversation: Conversation, active: Meter
    ) -> Sight | None:
        """The limits of the request's target, and what it weighs in their tokens."""
        assert observation.meter is not None, "it has been chosen"
        return self._foresight.look_ahead(
            observation,
            exchange,
            estimated=self.measuring.weigh(conversation, active).total,
            active=active,
            anchored=self._anchoring.line(observation.session, observation.meter),
            requested_output=requested_output(conversation),
        )

    def expect(self, observation: Observation, exchange: Exchange, conversation: Conversation) -> None:
        """What its prompt should be, if it goes on from a call that is known."""
        assert observation.meter is not None and observation.measures is not None, "it has been weighed"
        observation.outlook = self._anchoring.look_ahead(
            observation.session,
            observation.meter,
            observation.measures,
            self.measuring.canonical_hashes(conversation),
            exchange.created_ms,
        )

    def forecast(self, observation: Observation, exchange: Exchange, conversation: Conversation) -> None:
        """What its provider should read from cache."""
        sight = observation.sight
        assert observation.meter is not None and observation.measures is not None and observation.weights is not None
        observation.forecast = self._warmth.look_ahead(
            observation.session,
            observation.meter,
            conversation,
            hashes=self.measuring.canonical_hashes(conversation),
            measures=observation.measures,
            weights=observation.weights,
            now_ms=exchange.created_ms,
            minimum_tokens=sight.awareness.profile.cache_minimum_tokens if sight is not None else None,
            translated=exchange.dialect != conversation.dialect,
        )

    def _meter(self, exchange: Exchange, model: str | None, caller: Caller) -> Meter:
        return self._meter_of(exchange, exchange.provider, model, caller)

    def _meter_of(self, exchange: Exchange, provider: str | None, model: str | None, caller: Caller) -> Meter:
        return make_meter(
            dialect=exchange.endpoint.dialect,
            provider=provider,
            model=model,
            client=caller.client,
            estimator=self._settings.estimator,
            heuristics=self._settings.heuristics,
        )

    def _open_answer(self, observation: Observation, exchange: Exchange) -> None:
        headers = exchange.answer_headers
        streamed = headers.get(b"content-type", b"").startswith(b"text/event-stream")
        observation.reader = AnswerReader(exchange.dialect, streamed=streamed)
        observation.decoder = make_decoder(headers.get(b"content-encoding", b"").decode("latin-1"), ANSWER_LIMIT_BYTES)

    def _breakdown(self, observation: Observation, exchange: Exchange, usage: Usage | None) -> Breakdown | None:
        if observation.meter is None or observation.measures is None:
            return None
        try:
            breakdown = assemble(
                observation.meter,
                **observation.measures._asdict(),
                usage=usage,
                window=observation.sight.awareness.profile.context_window if observation.sight is not None else None,
                options=observation.options,
            )
        except Exception:  # noqa: BLE001 - as above
            tell_fault(exchange)
            return None
        return replace(breakdown, source=f"call:{exchange.id}", session=observation.session or None)


def _as_it_came(observation: Observation, exchange: Exchange, piece: bytes) -> Iterator[tuple[bytes, float | None]]:
    """The parts of a piece as they arrived, each with when it did; from the first that says something on the rest at once."""
    start = 0
    while exchange.first_output_ms is None and exchange.arrivals and start < len(piece):
        end, at_ms = exchange.arrivals.popleft()
        end -= observation.read_bytes
        yield piece[start:end], at_ms
        start = end
    if start < len(piece):
        yield piece[start:], None
    observation.read_bytes += len(piece)


def tell_fault(exchange: Exchange) -> None:
    _log.exception("The request %s could not be accounted for.", exchange.id)
    exchange.warnings.append("accounting_failed")


def _named_project(exchange: Exchange) -> str | None:
    """The project of our own header: an absolute path on this machine (interface, section 2)."""
    path = exchange.headers.get(_PROJECT_HEADER, "")
    return path if path.startswith("/") or path[1:3] in (":/", ":\\") else None


def _own_session(caller: Caller) -> str:
    """The session the client names, a sub-agent's apart from its parent's."""
    if caller.session is None:
        return ""
    return f"{caller.session}/{caller.agent}" if caller.agent else caller.session
