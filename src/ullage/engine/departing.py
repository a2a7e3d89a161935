"""Requests that are looked at before they are sent: cleared for their destination, planned, checked once more.

For operations a fault of ours sends the client's own request; where privacy is on, nothing is sent (design, section 2).
"""

from __future__ import annotations

import contextlib
from http import HTTPStatus
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from ullage.core.errors import PrivacyError, RequestError, RoutingError
from ullage.core.privacy.destination import narrow
from ullage.core.translation import TranslationRefused
from ullage.core.wire import parse_request
from ullage.settings.keeping import make_memory_limits

from .addressing import Addressing, Steps
from .affording import Affording
from .classifying import Classifying, Question, Reply
from .departure import Departure
from .encoding import REQUEST_LIMIT_BYTES, make_decoder
from .keeping import Keeping
from .kinds import CONVERSATION
from .lineage import Lineage
from .managing import Managing
from .moving import Moving
from .observation import Observation
from .reading import tell_fault
from .refusals import NOT_CLEARED, NOT_ROUTED, UNREADABLE, UNROUTABLE, refuse
from .route_telling import tell_route
from .sealing import without_seals
from .translating import translate
from .trimming import make_trimmer

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from ullage.core.content import Answer
    from ullage.core.privacy import Destination, PrivacyReport
    from ullage.core.privacy.guard import PrivacyGuard
    from ullage.core.wire import Conversation, Dialect, Slice
    from ullage.settings import Settings
    from ullage.stores import SessionRecord, Store

    from .exchange import Exchange, GivenUp
    from .managing import Managed
    from .pricing import Pricing
    from .quota import Quotas
    from .reading import Reader
    from .routing import Routing
    from .targets import Targets


class _Waiting(NamedTuple):
    """A request that is being looked at."""

    observation: Observation
    exchange: Exchange
    body: bytes
    steps: Steps[Departure]


class Departing:
    """Looks at requests before they are sent. Used by one thread only, the reader's."""

    def __init__(
        self,
        reader: Reader,
        *,
        store: Store,
        settings: Settings,
        data_dir: Path | None,
        routing: Routing,
        quotas: Quotas,
        pricing: Pricing,
        targets: Targets | None = None,
    ) -> None:
        self._reader = reader
        self._routing = routing
        self._accounts = settings.accounting.enabled
        self._guard = _make_guard(settings)
        self._managing = Managing(
            settings.planning,
            measuring=reader.measuring,
            keeping=Keeping(store, make_memory_limits(settings)),
            trimmer=make_trimmer(store, settings, data_dir) if data_dir is not None else None,
            guard=self._guard,
        )
        self.classifying = Classifying(settings.routing.classifier, targets, self._guard, quotas)
        self._lineage = Lineage()
        self._affording = Affording(pricing, targets)
        self._addressing = Addressing(
            reader, routing, self.classifying, lineage=self._lineage, is_planned=self._is_planned
        )
        self.moving = Moving(routing, self._addressing, self._affording, self._look_over)
        # Requests that wait for the answer to a question, by their ids.
        self._waiting: dict[str, _Waiting] = {}

    def recall(self, records: Sequence[SessionRecord]) -> None:
        """Takes up which sessions of earlier runs came from which, and where their tails began."""
        self._managing.recall(records)
        self._lineage.recall(records)

    def depart(self, exchange: Exchange, body: bytes) -> tuple[Observation, Departure | Question]:
        """What is sent for a request. `note_sent` is to follow, once it is on its way.

        Where a question is to be asked first, `resume` is to follow with its answer, or `forget`.
        """
        observation = Observation(model=exchange.endpoint.model, stream=bool(exchange.endpoint.stream))
        steps = self._depart(observation, exchange, body)
        return observation, self._go_on(_Waiting(observation, exchange, body, steps), None)

    def resume(self, exchange: Exchange, reply: Reply) -> Departure:
        """What is sent for a request whose question was answered."""
        departure = self._go_on(self._waiting.pop(exchange.id), reply)
        assert isinstance(departure, Departure), "one question is asked"
        return departure

    def clear(self, body: bytes, dialect: Dialect | None, to: Sequence[tuple[str, str]]) -> bytes:
        """What may leave of a body that somebody else is about to send to one of these providers; one in no protocol of ours
        leaves whole or not at all. Raises `PrivacyError` if it must not."""
        if self._guard is None:
            return body
        destination = narrow([self._guard.destination(provider=provider, root=root) for provider, root in to])
        if dialect is not None:
            with contextlib.suppress(RequestError):  # in another form than its protocol has, it is all or nothing
                body = self._guard.prepare(parse_request(body, dialect), destination).conversation.body
        self._guard.check(body, destination)
        return body

    def forget(self, exchange: Exchange) -> None:
        """Nobody waits for an answer any more."""
        self._waiting.pop(exchange.id, None)
        self._addressing.routed.pop(exchange.id, None)

    def _go_on(self, waiting: _Waiting, reply: Reply | None) -> Departure | Question:
        observation, exchange, body = waiting.observation, waiting.exchange, waiting.body
        try:
            question = waiting.steps.send(reply)
        except StopIteration as done:
            departure: Departure = done.value
            return departure
        except (PrivacyError, RoutingError, TranslationRefused) as error:
            return refuse(observation, error, body)
        except Exception:  # noqa: BLE001 - a fault of ours costs the plan, never the request; with privacy on, the request
            tell_fault(exchange)
            observation.managed = None
            if self._guard is not None:
                return refuse(observation, NOT_CLEARED, body)
            if observation.virtual:
                return self._fall_back_to_route(observation, exchange, body)
            departure = Departure(body=body, status="fallback", session=observation.session)
            return self._affording.priced(observation, exchange, departure, lambda: None)
        self._waiting[exchange.id] = waiting
        return question

    def note_sent(self, observation: Observation, exchange: Exchange) -> None:
        """What was sent is what its usage will be held against: it is counted, and expected of, in place of the client's own."""
        try:
            if not exchange.endpoint.recorded:
                return
            if observation.managed is not None:
                self._note_sent(observation, exchange, observation.managed)
            elif observation.later is not None:
                later, observation.later = observation.later, None
                placed = observation.virtual or observation.kinship is not None
                self._reader.read_conversation(observation, exchange, later, placed=placed)
        except Exception:  # noqa: BLE001 - as above
            tell_fault(exchange)

    def note_answer(self, observation: Observation, exchange: Exchange, answer: Answer | None) -> None:
        """Takes in how a planned request was answered."""
        if not exchange.asked or observation.managed is None:
            return
        if (exchange.status or 0) >= HTTPStatus.BAD_REQUEST:
            error = answer.error_message if answer is not None else None
            self._managing.note_failure(observation.session, observation.managed, error or "")

    def note_failed(self, observation: Observation, given_up: GivenUp) -> None:
        """Takes in that nothing came of a request at a target, and that another one is to be asked."""
        self._reader.take_back(observation)
        if observation.managed is not None and (given_up.status or 0) >= HTTPStatus.BAD_REQUEST:
            self._managing.note_failure(observation.session, observation.managed, given_up.failure.message)

    def _depart(self, observation: Observation, exchange: Exchange, body: bytes) -> Steps[Departure]:
        reader = self._reader
        readable = exchange.endpoint.recorded or exchange.routable
        conversation = reader.parse(exchange, body) if readable else None
        reader.identify(observation, exchange, conversation)
        if conversation is None:
            departure = self._depart_unread(observation, exchange, body, self._destination(exchange))
            return self._affording.priced(observation, exchange, departure, lambda: None)
        reader.describe(observation, conversation)
        sent = conversation
        if conversation.model in self._routing.names:
            observation.virtual = True
            sent = yield from self._addressing.route(observation, exchange, body, conversation)
        elif exchange.summarizable and observation.caller.kind == "compaction":
            elsewhere = yield from self._summarize_elsewhere(observation, exchange, body, conversation)
            if elsewhere is not None:
                return elsewhere
        if not observation.virtual:
            sent = without_seals(reader, exchange, conversation)
            if sent is conversation and not exchange.looked_at:
                observation.later = conversation
                if exchange.watched and observation.caller.kind in CONVERSATION:
                    reader.place(observation, conversation)
                return self._affording.priced(
                    observation, exchange, Departure(body=body, untouched=True), lambda: conversation
                )
            if sent is not conversation and observation.caller.kind in CONVERSATION:
                reader.place(observation, conversation)
        return self._look_over(observation, exchange, body, conversation, sent)

    def _summarize_elsewhere(
        self, observation: Observation, exchange: Exchange, body: bytes, conversation: Conversation
    ) -> Steps[Departure | None]:
        """A summary for a client that names a model itself, as the target gets it that writes it for less; `None` where it is to
        go as it came."""
        before, asked_for = exchange.address, f"{exchange.provider}/{conversation.model}"
        if not self._routing.moves_summaries(observation.session, self._lineage.heard(observation)):
            return None
        observation.virtual = True
        try:
            sent = yield from self._addressing.route(observation, exchange, body, conversation)
            assert observation.decision is not None, "it was routed"
            if self._routing.is_better(observation.decision, asked_for):
                return self._look_over(observation, exchange, body, conversation, sent)
        except (PrivacyError, RoutingError, TranslationRefused):
            pass  # nobody else may write it
        if observation.decision is not None:
            self._routing.let_go(observation.decision, exchange.now_ms())
        exchange.address = before
        self._addressing.routed.pop(exchange.id, None)
        observation.virtual = False
        observation.decision = observation.told = observation.later = None
        self._reader.describe(observation, conversation)
        return None

    def _look_over(
        self, observation: Observation, exchange: Exchange, body: bytes, conversation: Conversation, sent: Conversation
    ) -> Departure:
        """What leaves of `sent`, which is the client's `conversation` as its target is to get it, for its destination."""
        reader = self._reader
        destination = self._destination(exchange)
        cleared, report = self._clear(sent, destination)
        managed = None
        if self._is_planned(observation, exchange):
            managed = self._plan(observation, exchange, sent, cleared, destination)
        elif observation.virtual:
            observation.later = cleared
        else:
            reader.read_conversation(observation, exchange, cleared, placed=observation.kinship is not None)
        departure = _departure(observation, body, cleared if cleared is not conversation else None, managed)
        departure = _translated(departure, observation, cleared, managed)
        if self._guard is not None and destination is not None and report is not None:
            self._guard.check(departure.body if departure.plain else sent.body, destination)
            excluded = managed.excluded if managed is not None else ()
            observation.privacy = report.checked().with_exclusions(*excluded).manifest()
        return self._affording.priced(
            observation, exchange, departure, managed.conversation if managed is not None else lambda: cleared
        )

    def _depart_unread(
        self, observation: Observation, exchange: Exchange, body: bytes, destination: Destination | None
    ) -> Departure:
        """A request that is no conversation, or none that can be read: nothing is planned; privacy looks at its bytes."""
        observation.unparsed = exchange.endpoint.recorded
        if exchange.planned:
            return Departure(body=body, refusal=UNREADABLE)
        if not exchange.looked_at:
            named = exchange.endpoint.model in self._routing.names or not exchange.headers.get("content-encoding")
            refused = exchange.routable and named
            return Departure(body=body, refusal=UNROUTABLE) if refused else Departure(body=body, untouched=True)
        if self._guard is not None and destination is not None:
            decode = make_decoder(exchange.headers.get("content-encoding", ""), REQUEST_LIMIT_BYTES)
            self._guard.check(b"".join(decode(body)), destination)
        return Departure(body=body)

    def _fall_back_to_route(self, observation: Observation, exchange: Exchange, body: bytes) -> Departure:
        """What is sent of a routed request after a fault of ours: as the target was to get it, never as it came."""
        if observation.later is None:
            return refuse(observation, NOT_ROUTED, body)
        departure = _departure(observation, body, observation.later, None)
        try:
            departure = _translated(departure, observation, observation.later, None)
        except Exception:  # noqa: BLE001 - as above
            tell_fault(exchange)
            return refuse(observation, NOT_ROUTED, body)
        sent = observation.later
        return self._affording.priced(observation, exchange, replace(departure, status="fallback"), lambda: sent)

    def _is_planned(self, observation: Observation, exchange: Exchange) -> bool:
        """Helpers of a client are never planned (design, section 4)."""
        return exchange.planned and self._accounts and observation.caller.kind in CONVERSATION

    def _plan(
        self,
        observation: Observation,
        exchange: Exchange,
        conversation: Conversation,
        cleared: Conversation,
        destination: Destination | None,
    ) -> Managed | None:
        reader = self._reader
        if observation.kinship is None:
            reader.place(observation, conversation)
        active = reader.choose_meters(observation, exchange, cleared)
        assert observation.meter is not None, "it has been chosen"
        reader.measuring.measure(cleared, observation.meter, active)
        observation.sight = reader.judge(observation, exchange, cleared, active)
        if observation.sight is None:
            return None
        observation.managed = self._managing.manage(
            self._lineage.asker(observation, exchange),
            cleared,
            observation.sight.awareness,
            active,
            exchange.created_ms,
            hashes=reader.measuring.canonical_hashes(conversation),
            instructing=reader.measuring.instructing(cleared, observation.meter),
            labelled=_find_labelled(cleared, exchange.marks.labelled),
            destination=destination,
        )
        return observation.managed

    def _note_sent(self, observation: Observation, exchange: Exchange, managed: Managed) -> None:
        reader = self._reader
        observation.plan = managed.report()
        sent = managed.conversation()
        active = reader.choose_meters(observation, exchange, sent)
        reader.measure(observation, sent, active)
        if observation.sight is not None:
            estimated = reader.measuring.weigh(sent, active).total
            observation.sight = replace(observation.sight, estimated=estimated)
        reader.expect(observation, exchange, sent)
        reader.forecast(observation, exchange, sent)

    def _destination(self, exchange: Exchange) -> Destination | None:
        if self._guard is None:
            return None
        return self._guard.destination(provider=exchange.provider, root=exchange.root)

    def _clear(
        self, conversation: Conversation, destination: Destination | None
    ) -> tuple[Conversation, PrivacyReport | None]:
        """The request without what its destination may not see."""
        if self._guard is None or destination is None:
            return conversation, None
        prepared = self._guard.prepare(conversation, destination)
        return prepared.conversation, prepared.report


def _find_labelled(conversation: Conversation, labelled: Callable[[Slice], bool] | None) -> frozenset[int]:
    """The messages that are to be kept by their labels."""
    if labelled is None:
        return frozenset()
    return frozenset(index for index, piece in enumerate(conversation.messages) if labelled(piece))


def _departure(
    observation: Observation, body: bytes, cleared: Conversation | None, managed: Managed | None
) -> Departure:
    """`cleared` is the request as its destination may see it, where that is another one than the client's."""
    sight, decision = observation.sight, observation.decision
    plain = cleared.body if cleared is not None else None
    if managed is not None and managed.body is not None:
        plain = managed.body
    return Departure(
        body=body if plain is None else plain,
        plain=plain is not None,
        status=managed.status if managed is not None else None,
        session=observation.session,
        target=decision.target if decision is not None else sight.awareness.profile.key if sight is not None else "",
        estimate=managed.estimate if managed is not None else decision.context_tokens if decision is not None else None,
        why=managed.why if managed is not None else "",
        destination=decision.destination if decision is not None else None,
        route=observation.told,
    )


def _translated(
    departure: Departure, observation: Observation, cleared: Conversation, managed: Managed | None
) -> Departure:
    """The same in the words of its target, where that speaks another protocol. Raises `TranslationRefused`."""
    decision = observation.decision
    if decision is None or decision.destination.dialect == cleared.dialect:
        return departure
    changed = managed is not None and managed.body is not None
    found = translate(managed.conversation() if managed is not None else cleared, decision, changed=changed)
    observation.told = replace(tell_route(decision, found.thinking), losses=found.dropped)
    return replace(departure, body=found.body, plain=True, translated=found, route=observation.told)


def _make_guard(settings: Settings) -> PrivacyGuard | None:
    if not settings.privacy.enabled:
        return None
    # The library that finds secrets takes its time and memory: only who wants it pays.
    from ullage.core.privacy.guard import PrivacyGuard

    return PrivacyGuard(settings.privacy)
