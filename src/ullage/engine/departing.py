"""Requests that are looked at before they are sent: cleared for their destination, planned, checked once more.

For operations a fault of ours sends the client's own request; where privacy is on, nothing is sent (design, section 2).
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Generator, Iterator
from http import HTTPStatus
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from msgspec.structs import replace

from ullage.core.errors import PrivacyError, RequestError, RoutingError, UllageError
from ullage.core.privacy.destination import narrow
from ullage.core.routing.turn import find_pins
from ullage.core.translation import Loss, TranslationRefused, without_wrapped
from ullage.core.wire import parse_request, render
from ullage.core.wire.output import requested_output
from ullage.settings.keeping import make_artifact_caps, make_memory_limits
from ullage.stores import root_finder

from .classifying import NOT_ASKED, Classifying, Graded, Question, Reply
from .departure import Departure
from .encoding import REQUEST_LIMIT_BYTES, make_decoder
from .keeping import Asker, Keeping
from .kinds import CONVERSATION
from .managing import Managing
from .observation import Observation
from .reading import tell_fault
from .recording import parent_session
from .route_failures import name_failure
from .route_sending import RouteSending, Written
from .route_telling import report_stop, tell_route
from .routing import Asked, RouteStopped, Routing, has_key, is_helper
from .spending import SPENDING_FAILED
from .translating import Translating, translate
from .trimming import Trimmer

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from ullage.core.content import Answer
    from ullage.core.planning import SliceFacts
    from ullage.core.privacy import Destination, PrivacyReport
    from ullage.core.privacy.guard import PrivacyGuard
    from ullage.core.spend import Verdict
    from ullage.core.wire import Conversation, Dialect, Slice
    from ullage.settings import Settings
    from ullage.stores import SessionRecord, Store

    from .exchange import Exchange, GivenUp
    from .managing import Managed
    from .pricing import Pricing
    from .quota import Quotas
    from .reading import Reader
    from .routing import Decision
    from .targets import Targets

_PARENTS = 2_000
_PROJECTS = 1_000
_UNREADABLE = RequestError(
    "the request cannot be read, so no plan can be made of it",
    code="unreadable_request",
    hint="Send it with the header x-ullage-mode: observe to have it passed on as it is.",
)
_NOT_ROUTED = RoutingError(
    "the model for this request could not be chosen, so it was not sent",
    code="routing_failed",
    hint="`ullage serve` says more on standard error. Name a model of a provider to go on without routing.",
)
_UNROUTABLE = RoutingError(
    "the request cannot be read, so no model can be chosen for it",
    code="unreadable_request",
    hint="Name a model of a provider to have it passed on as it is.",
)
_FOREIGN_REASONING = Loss(
    code="foreign_reasoning",
    where="messages",
    what="Reasoning that a model of another protocol gave the client is left out: its own provider would refuse it.",
)
_COUNTED_HERE = RoutingError(
    "the chosen model speaks another protocol than the client, so nothing but requests for an answer is sent there",
    code="dialect",
    hint="Tokens are counted here.",
)
_NOT_CLEARED = PrivacyError(
    "the request could not be looked at before it left, so it was not sent",
    code="privacy_failed",
    hint="`ullage serve` says more on standard error.",
)


Made = TypeVar("Made")
Steps = Generator[Question, Reply | None, Made]
"""The making of something, which stops once to ask a question."""


class _Waiting(NamedTuple):
    """A request that is being looked at."""

    observation: Observation
    exchange: Exchange
    body: bytes
    steps: Steps[Departure]


class _Routed(NamedTuple):
    """A request for a virtual model that was sent to a target, and may have to be sent to another one. `stripped` is the
    conversation without the words that were meant for the router, with the facts of its messages."""

    body: bytes
    conversation: Conversation
    stripped: Conversation
    facts: Sequence[SliceFacts]
    asked: Asked

    def without(self, target: str, why: str) -> _Routed:
        """The same for the other targets."""
        return self._replace(asked=replace(self.asked, tried={**self.asked.tried, target: why}))


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
        self._sending = RouteSending(reader.measuring)
        self._accounts = settings.accounting.enabled
        self._guard = _make_guard(settings)
        self._managing = Managing(
            settings.planning,
            measuring=reader.measuring,
            keeping=Keeping(store, make_memory_limits(settings)),
            trimmer=_make_trimmer(store, settings, data_dir) if data_dir is not None else None,
            guard=self._guard,
        )
        # Links followed as those do who pin for a project; the disk is asked once.
        self._find_project = functools.lru_cache(_PROJECTS)(root_finder("project"))
        # Sessions that branched off from another one: what is kept for that goes along.
        self._parents: dict[str, str] = {}
        self.classifying = Classifying(settings.routing.classifier, targets, self._guard, quotas)
        self._pricing = pricing
        self._targets = targets
        # Requests that wait for the answer to a question, by their ids.
        self._waiting: dict[str, _Waiting] = {}
        # Requests that were routed and are not over, by their ids.
        self._routed: dict[str, _Routed] = {}

    def recall(self, records: Sequence[SessionRecord]) -> None:
        """Takes up which sessions of earlier runs came from which, and where their tails began."""
        self._managing.recall(records)
        for record in records:
            if record.identity == "fingerprint" and record.parent is not None:
                self._parents[record.id] = record.parent

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
        self._routed.pop(exchange.id, None)

    def depart_again(
        self, observation: Observation, exchange: Exchange, given_up: GivenUp
    ) -> tuple[Observation, Departure]:
        """What another target gets of a routed request whose last one has failed: by its own window, its provider's privacy and
        its protocol. Where there is none, a refusal, and all is left as it was."""

        def change(routed: _Routed) -> _Routed:
            routed = routed.without(
                given_up.target, f"it failed at this request, after {name_failure(given_up.failure)}"
            )
            return routed._replace(asked=replace(routed.asked, now_ms=given_up.at_ms))

        return self._move(observation, exchange, change)

    def depart_elsewhere(
        self, observation: Observation, exchange: Exchange, dear: Departure, verdict: Verdict
    ) -> tuple[Observation, Departure]:
        """The same for one that may cost more than may be spent at its target (routing specification, section 17.2)."""

        def change(routed: _Routed) -> _Routed:
            for target, why in self._too_dear(routed, dear, verdict):
                routed = routed.without(target, why)
            return routed._replace(asked=replace(routed.asked, thrifty=True))

        limits = ", ".join(one.name for one in verdict.exceeded)
        return self._move(observation, exchange, change, note=f"{dear.target} is left for the {limits} limit")

    def _move(
        self, observation: Observation, exchange: Exchange, change: Callable[[_Routed], _Routed], *, note: str = ""
    ) -> tuple[Observation, Departure]:
        before = exchange.address
        refusal: UllageError = _NOT_ROUTED
        try:
            routed, first = self._routed[exchange.id], observation.decision
            assert first is not None, "it was routed"
            routed = change(routed)
            while True:
                decision = self._routing.decide(routed.asked)
                notes = (*decision.notes, note) if note else decision.notes
                decision = replace(decision, reason=first.reason, task_id=first.task_id, notes=notes)
                again = observation.again()
                try:
                    sent = self._address(again, exchange, routed, decision)
                    departure = self._look_over(again, exchange, routed.body, routed.conversation, sent)
                except (PrivacyError, TranslationRefused) as error:
                    self._routing.let_go(decision, exchange.now_ms())
                    routed = routed.without(decision.target, f"nothing is sent there: {error.message}")
                else:
                    self._routed[exchange.id] = routed
                    return again, departure
        except RoutingError as error:
            refusal = error
        except Exception:  # noqa: BLE001 - as above: the failure of the last target is answered then
            tell_fault(exchange)
        exchange.address = before
        observation.notes = (f"nobody else is asked: {refusal.message}",)
        return observation, Departure(body=b"", refusal=refusal, session=observation.session)

    def _too_dear(self, routed: _Routed, dear: Departure, verdict: Verdict) -> Iterator[tuple[str, str]]:
        """The targets that a request must not go to for the sake of a limit, each with why: those of a provider whose limit is to
        be avoided, else whoever is not cheaper than the target that it was for."""
        asked, spend = routed.asked, dear.spend
        targets = asked.targets or self._targets
        assert targets is not None and spend is not None, "it was routed and priced"
        names = ", ".join(one.name for one in verdict.exceeded)
        avoided = any(one.action == "avoid" and one.name.startswith(f"{spend.provider} ") for one in verdict.exceeded)
        for one in targets.candidates(asked.conversation.dialect, client_key=asked.client_key):
            if avoided:
                barred = one.model.provider == spend.provider
            else:
                barred = one.target == dear.target or not self._pricing.is_cheaper(one, routed.stripped, spend)
            if barred:
                yield one.target, f"it may cost more than may be spent: {names}"

    def _go_on(self, waiting: _Waiting, reply: Reply | None) -> Departure | Question:
        observation, exchange, body = waiting.observation, waiting.exchange, waiting.body
        try:
            question = waiting.steps.send(reply)
        except StopIteration as done:
            departure: Departure = done.value
            return departure
        except (PrivacyError, RoutingError, TranslationRefused) as error:
            return self._refuse(observation, error, body)
        except Exception:  # noqa: BLE001 - a fault of ours costs the plan, never the request; with privacy on, the request
            tell_fault(exchange)
            observation.managed = None
            if self._guard is not None:
                return self._refuse(observation, _NOT_CLEARED, body)
            if observation.virtual:
                return self._fall_back_to_route(observation, exchange, body)
            departure = Departure(body=body, status="fallback", session=observation.session)
            return self._priced(observation, exchange, departure, lambda: None)
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
            return self._priced(observation, exchange, departure, lambda: None)
        reader.describe(observation, conversation)
        sent = conversation
        if conversation.model in self._routing.names:
            observation.virtual = True
            sent = yield from self._route(observation, exchange, body, conversation)
        elif exchange.summarizable and observation.caller.kind == "compaction":
            elsewhere = yield from self._summarize_elsewhere(observation, exchange, body, conversation)
            if elsewhere is not None:
                return elsewhere
        if not observation.virtual:
            sent = self._without_seals(exchange, conversation)
            if sent is conversation and not exchange.looked_at:
                observation.later = conversation
                if exchange.watched and observation.caller.kind in CONVERSATION:
                    reader.place(observation, conversation)
                return self._priced(observation, exchange, Departure(body=body, untouched=True), lambda: conversation)
            if sent is not conversation and observation.caller.kind in CONVERSATION:
                reader.place(observation, conversation)
        return self._look_over(observation, exchange, body, conversation, sent)

    def _summarize_elsewhere(
        self, observation: Observation, exchange: Exchange, body: bytes, conversation: Conversation
    ) -> Steps[Departure | None]:
        """A summary for a client that names a model itself, as the target gets it that writes it for less; `None` where it is to
        go as it came."""
        before, asked_for = exchange.address, f"{exchange.provider}/{conversation.model}"
        if not self._routing.moves_summaries(observation.session, self._heard(observation)):
            return None
        observation.virtual = True
        try:
            sent = yield from self._route(observation, exchange, body, conversation)
            assert observation.decision is not None, "it was routed"
            if self._routing.is_better(observation.decision, asked_for):
                return self._look_over(observation, exchange, body, conversation, sent)
        except (PrivacyError, RoutingError, TranslationRefused):
            pass  # nobody else may write it
        if observation.decision is not None:
            self._routing.let_go(observation.decision, exchange.now_ms())
        exchange.address = before
        self._routed.pop(exchange.id, None)
        observation.virtual = False
        observation.decision = observation.told = observation.later = None
        self._reader.describe(observation, conversation)
        return None

    def _without_seals(self, exchange: Exchange, conversation: Conversation) -> Conversation:
        """A request that is not routed without the reasoning that a target of another protocol gave its client: its own provider
        would refuse it."""
        if exchange.endpoint.recorded and not exchange.sealed and "content-encoding" not in exchange.headers:
            return conversation  # its bytes were looked through when they came
        body = without_wrapped(conversation)
        if body is conversation.body:
            return conversation
        exchange.losses.append(_FOREIGN_REASONING)
        exchange.warnings.append(_FOREIGN_REASONING.code)
        return self._reader.parse_plain(exchange, body, conversation.model)

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
        return self._priced(
            observation, exchange, departure, managed.conversation if managed is not None else lambda: cleared
        )

    def _priced(
        self,
        observation: Observation,
        exchange: Exchange,
        departure: Departure,
        find_sent: Callable[[], Conversation | None],
    ) -> Departure:
        """The same with what it may cost, where a limit of that may hold."""
        if not exchange.watched or departure.refusal is not None:
            return departure
        estimate = departure.estimate if departure.destination is None else None
        try:
            sent = find_sent()
            if sent is None and exchange.endpoint.cost is not None:
                spend = self._pricing.expect_passed(observation, exchange, departure.body)
            else:
                spend = self._pricing.expect(observation, exchange, sent, body=departure.body, estimate=estimate)
        except Exception:  # noqa: BLE001 - who cannot be judged is not let through
            tell_fault(exchange)
            return self._refuse(observation, SPENDING_FAILED, departure.body)
        return replace(departure, spend=spend)

    def _depart_unread(
        self, observation: Observation, exchange: Exchange, body: bytes, destination: Destination | None
    ) -> Departure:
        """A request that is no conversation, or none that can be read: nothing is planned; privacy looks at its bytes."""
        observation.unparsed = exchange.endpoint.recorded
        if exchange.planned:
            return Departure(body=body, refusal=_UNREADABLE)
        if not exchange.looked_at:
            named = exchange.endpoint.model in self._routing.names or not exchange.headers.get("content-encoding")
            refused = exchange.routable and named
            return Departure(body=body, refusal=_UNROUTABLE) if refused else Departure(body=body, untouched=True)
        if self._guard is not None and destination is not None:
            decode = make_decoder(exchange.headers.get("content-encoding", ""), REQUEST_LIMIT_BYTES)
            self._guard.check(b"".join(decode(body)), destination)
        return Departure(body=body)

    def _route(
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
            graded = self.classifying.settle(graded, reply, now_ms=exchange.created_ms)
            if graded.asked is not None:
                observation.question = {"target": graded.asked, "usd": graded.usd}
        asked = replace(asked, graded=graded)
        decision = self._routing.decide(asked)
        if asked.counting and decision.destination.dialect != conversation.dialect:
            raise _COUNTED_HERE
        routed = _Routed(body, conversation, stripped, facts, asked)
        if not asked.counting:
            self._routed[exchange.id] = routed
        return self._address(observation, exchange, routed, decision)

    def _address(
        self, observation: Observation, exchange: Exchange, routed: _Routed, decision: Decision
    ) -> Conversation:
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
            return self._routing.find_question(asked, self.classifying)
        except Exception:  # noqa: BLE001 - a fault of the classifier leaves the task as it was read
            tell_fault(exchange)
            return NOT_ASKED

    def _fall_back_to_route(self, observation: Observation, exchange: Exchange, body: bytes) -> Departure:
        """What is sent of a routed request after a fault of ours: as the target was to get it, never as it came."""
        if observation.later is None:
            return self._refuse(observation, _NOT_ROUTED, body)
        departure = _departure(observation, body, observation.later, None)
        try:
            departure = _translated(departure, observation, observation.later, None)
        except Exception:  # noqa: BLE001 - as above
            tell_fault(exchange)
            return self._refuse(observation, _NOT_ROUTED, body)
        sent = observation.later
        return self._priced(observation, exchange, replace(departure, status="fallback"), lambda: sent)

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
            self._asker(observation, exchange),
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

    def _asker(self, observation: Observation, exchange: Exchange) -> Asker:
        """Whose request it is. A branch is asked for by those that it came from, too."""
        return Asker(
            session=observation.session,
            project=self._find_project(observation.project),
            ancestors=self._ancestors(observation),
            places=exchange.marks.places,
        )

    def _heard(self, observation: Observation) -> tuple[str, ...]:
        """The sessions whose settings hold for this one as well: those it branched off from, and whoever started it."""
        started = parent_session(observation.caller)
        return (*self._ancestors(observation), *([started] if started is not None else []))

    def _ancestors(self, observation: Observation) -> tuple[str, ...]:
        """The sessions that a branch came from, the nearest first."""
        session, kinship = observation.session, observation.kinship
        if kinship is not None and kinship.parent is not None:
            self._parents[session] = kinship.parent
            if len(self._parents) > _PARENTS:
                del self._parents[next(iter(self._parents))]
        ancestors: list[str] = []
        parent = self._parents.get(session)
        while parent is not None and parent not in ancestors:
            ancestors.append(parent)
            parent = self._parents.get(parent)
        return tuple(ancestors)

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

    def _refuse(self, observation: Observation, error: UllageError, body: bytes) -> Departure:
        observation.managed = observation.later = None
        if isinstance(error, RouteStopped):
            observation.route = report_stop(error)
        return Departure(body=body, refusal=error, session=observation.session)


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


def _make_trimmer(store: Store, settings: Settings, data_dir: Path) -> Trimmer | None:
    if not settings.artifacts.enabled:
        return None
    return Trimmer(
        store,
        data_dir=data_dir,
        find_root=root_finder(settings.store.scope),
        caps=make_artifact_caps(settings),
        redact=_redacted,
        adaptive=settings.artifacts.adaptive,
    )


def _make_guard(settings: Settings) -> PrivacyGuard | None:
    if not settings.privacy.enabled:
        return None
    # The library that finds secrets takes its time and memory: only who wants it pays.
    from ullage.core.privacy.guard import PrivacyGuard

    return PrivacyGuard(settings.privacy)


def _redacted(text: str) -> str:
    """A text that is quoted, without credentials; the library is loaded with the first one."""
    from ullage.core.privacy.secrets import redact

    return redact(text)[0]
