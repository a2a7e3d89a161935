"""Requests for virtual models, as the targets get them that are chosen for them."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from msgspec.structs import replace

from ullage.core.routing.turn import find_pins
from ullage.core.wire import render
from ullage.core.wire.output import requested_output

from .classifying import NOT_ASKED, Question, Reply
from .reading import tell_fault
from .refusals import COUNTED_HERE
from .route_sending import RouteSending
from .route_telling import tell_route
from .routing import Asked, has_key, is_helper
from .translating import Translating

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ullage.core.planning import SliceFacts
    from ullage.core.wire import Conversation

    from .classifying import Classifying, Graded
    from .exchange import Exchange
    from .lineage import Lineage
    from .observation import Observation
    from .reading import Reader
    from .route_sending import Written
    from .routing import Decision, Routing

Made = TypeVar("Made")
Steps = Generator[Question, Reply | None, Made]
"""The making of something, which stops once to ask a question."""


class Routed(NamedTuple):
    """A request for a virtual model that was sent to a target, and may have to be sent to another one. `stripped` is the
    conversation without the words that were meant for the router, with the facts of its messages."""

    body: bytes
    conversation: Conversation
    stripped: Conversation
    facts: Sequence[SliceFacts]
    asked: Asked

    def without(self, target: str, why: str) -> Routed:
        """The same for the other targets."""
        return self._replace(asked=replace(self.asked, tried={**self.asked.tried, target: why}))


class Addressing:
    """Finds targets, and writes what they get. `is_planned` says of a request whether a plan will be made of it. Used by one
    thread only, the reader's."""

    def __init__(
        self,
        reader: Reader,
        routing: Routing,
        classifying: Classifying,
        *,
        lineage: Lineage,
        is_planned: Callable[[Observation, Exchange], bool],
    ) -> None:
        self._reader = reader
        self._routing = routing
        self._classifying = classifying
        self._heard = lineage.heard
        self._is_planned = is_planned
        self._sending = RouteSending(reader.measuring)
        self.routed: dict[str, Routed] = {}
        """Requests that were routed and are not over, by their ids."""

    def route(
        self, observation: Observation, exchange: Exchange, body: bytes, conversation: Conversation
    ) -> Steps[Conversation]:
        """The request as the target gets it that is chosen for it. Raises `RoutingError` where nobody may take it."""
        reader, helper = self._reader, is_helper(observation, exchange)
        if not helper:
            reader.place(observation, conversation)
        self._routing.note_kinship(observation)
        facts = reader.measuring.facts(conversation)
        pins = find_pins(conversation, facts, reader.measuring.steps(conversation))
        stripped = conversation
        if pins:
            stripped = reader.parse_plain(exchange, render(conversation, replaced=pins), exchange.endpoint.model)
            facts = reader.measuring.facts(stripped)
        asked = Asked(
            session=observation.session,
            helper=helper,
            counting=exchange.endpoint.purpose != "generate",
            rewritten=observation.kinship is not None and observation.kinship.relation == "rewrite",
            alias=self._routing.names.alias_of(conversation.model),
            conversation=conversation,
            facts=facts,
            hashes=reader.measuring.canonical_hashes(conversation),
            client_key=has_key(exchange.headers),
            now_ms=exchange.created_ms,
            ancestors=self._heard(observation),
            fitted=self._is_planned(observation, exchange),
            summary=observation.caller.kind == "compaction",
            reserve=requested_output(stripped),
            tokens=lambda target: reader.estimate(observation, exchange, stripped, target),
            warm=lambda: reader.find_warm(observation.session, stripped, exchange.created_ms),
            refusal=Translating(stripped, exchange.endpoint.purpose).refusal,
            targets=exchange.targets,
        )
        graded = self._find_question(asked, exchange)
        if isinstance(graded, Question):
            asked = replace(asked, task_id=self._routing.new_task_id())
            session = observation.caller.session or observation.session
            reply = yield replace(graded, session=session, task=asked.task_id)
            assert reply is not None, "an answer came"
            graded = self._classifying.settle(graded, reply, now_ms=exchange.created_ms)
            if graded.asked is not None:
                observation.question = {"target": graded.asked, "usd": graded.usd}
        asked = replace(asked, graded=graded)
        decision = self._routing.decide(asked)
        if asked.counting and decision.destination.dialect != conversation.dialect:
            raise COUNTED_HERE
        routed = Routed(body, conversation, stripped, facts, asked)
        if not asked.counting:
            self.routed[exchange.id] = routed
        return self.address(observation, exchange, routed, decision)

    def address(self, observation: Observation, exchange: Exchange, routed: Routed, decision: Decision) -> Conversation:
        """The request as a target gets it."""
        reader, destination = self._reader, decision.destination
        written = self._write(observation, routed.stripped, routed.facts, decision)
        sent = reader.parse_plain(exchange, written.body, decision.candidate.model.id)
        exchange.address = destination.root, destination.provider, destination.dialect
        observation.decision = decision
        observation.told = tell_route(decision, written.thinking, written.losses)
        observation.later = sent
        reader.describe(observation, sent)
        return sent

    def _write(
        self, observation: Observation, conversation: Conversation, facts: Sequence[SliceFacts], decision: Decision
    ) -> Written:
        """The body for the target in the client's protocol: where it is still to be translated, nothing is said of thinking
        yet."""
        author, model = self._routing.author_of(observation.session), decision.candidate.model
        destination = decision.destination

        def is_foreign(index: int) -> bool:
            return author(index) != decision.target

        if destination.dialect != conversation.dialect:
            return self._sending.write_plain(
                conversation, facts, model, is_foreign=is_foreign, stranger=destination.provider
            )
        level = None if decision.as_asked else decision.thinking
        stranger = None if destination.client_key else destination.provider
        return self._sending.write(conversation, facts, model, level, is_foreign=is_foreign, stranger=stranger)

    def _find_question(self, asked: Asked, exchange: Exchange) -> Question | Graded:
        try:
            return self._routing.find_question(asked, self._classifying)
        except Exception:  # noqa: BLE001 - a fault of the classifier leaves the task as it was read
            tell_fault(exchange)
            return NOT_ASKED
