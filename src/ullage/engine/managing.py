"""Managed mode: what is sent in place of a client's request, so that it fits (design, section 4)."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec import Struct, structs, to_builtins

from ullage.core.accounting import Meter, assemble, read_options
from ullage.core.caching import is_whole
from ullage.core.planning import Awareness, Budget, Caps, PlanInput, plan, plan_live
from ullage.core.planning.assembling import Evidence, RequestFacts, lay_out, make_input, resolve_caps
from ullage.core.planning.labels import find_labelled
from ullage.core.planning.layout import Layout, render_layout
from ullage.core.planning.manifest import report_plan
from ullage.core.planning.prompts import find_forsaken
from ullage.core.privacy import CLASSES, Exclusion
from ullage.core.wire import Conversation, parse_request, read_message
from ullage.core.wire.binding import refuses_unbound

from .binding import REFUSAL, Bindings
from .facts import TwoGenerations
from .keeping import Asker
from .tails import Tails
from .trimming import Offered, Owner

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from ullage.core.planning import Plan, Supplement
    from ullage.core.planning.bound import Settled
    from ullage.core.planning.tail_records import TailChoice, TailMemory
    from ullage.core.privacy import Classification, Destination
    from ullage.core.privacy.guard import PrivacyGuard
    from ullage.core.wire import Slice
    from ullage.settings.records import PlanningSettings
    from ullage.stores import SessionRecord

    from .keeping import Keeping
    from .measuring import Measuring
    from .quoting import Place
    from .trimming import Trimmer

# Different prompts and lists of tools remembered.
_SYSTEMS = 500

UNCHANGED = "unchanged"
_UNKNOWN_WINDOW = "window_unknown"
_PARTIAL = "prompt_kept_by_provider"
"""Why there is nothing to plan: no limit is known; or the request goes on from a response or a cache that its provider keeps, and
what it holds is no conversation of its own (faults, section 2: split-parallel)."""


class Managed:
    """What came of a request. `body` is what is sent in place of the client's own, `None` for that itself. `estimate` are the
    provider's tokens of the prompt as sent, `why` is the plan in a line, `excluded` what its destination may not see,
    `settled` which thinking is left out and sent, `tail_memories` what its session's next request goes by.

    The rest is made when it is asked for, once the request is on its way.
    """

    __slots__ = (
        "_conversation",
        "_cut",
        "_given",
        "_plan",
        "_sent",
        "_tail",
        "_timings_ms",
        "body",
        "estimate",
        "excluded",
        "settled",
        "status",
        "tail_memories",
        "why",
    )

    def __init__(
        self,
        conversation: Conversation,
        *,
        given: PlanInput | None = None,
        plan: Plan | None = None,
        tail: TailChoice | None = None,
        body: bytes | None = None,
        timings_ms: Mapping[str, float] | None = None,
        excluded: tuple[Exclusion, ...] = (),
        tail_memories: tuple[TailMemory, ...] = (),
        settled: Settled | None = None,
        cut: tuple[int, ...] = (),
        unplanned: str = "",
    ) -> None:
        self._conversation = conversation
        self._sent: Conversation | None = None
        self.settled = settled
        self._cut = cut
        self._given = given
        self._plan = plan
        self._tail = tail
        self._timings_ms = timings_ms or {}
        self.body = body
        self.excluded = excluded
        self.tail_memories = tail_memories
        self.status = plan.status if plan is not None else UNCHANGED
        self.why = _in_a_line(plan, settled.unbound if settled is not None else ()) if plan is not None else unplanned
        self.estimate = _provider_tokens(plan, given) if plan is not None and given is not None else None

    def conversation(self) -> Conversation:
        """What was sent."""
        client = self._conversation
        if self.body is None:
            return client
        if self._sent is None:
            self._sent = parse_request(self.body, client.dialect, path_model=client.model, path_stream=client.stream)
        return self._sent

    def report(self) -> dict[str, Any]:
        """The plan's part of the manifest."""
        if self._plan is None or self._given is None:
            return {"status": UNCHANGED, "error": None, "warnings": [self.why]}
        cache = to_builtins(self._tail) if self._tail is not None else None
        unbound = self.settled.unbound if self.settled is not None else ()
        pieces = (self._conversation.messages[index] for index in unbound)
        return report_plan(
            self._plan,
            self._given,
            cache=cache,
            timings_ms=self._timings_ms,
            unbound=sum(_count_thinking(piece, self._conversation) for piece in pieces),
            cut=self._cut,
        )


class Managing:
    """Makes plans, and remembers what those of a session go on from. Used by one thread only."""

    def __init__(
        self,
        settings: PlanningSettings,
        *,
        measuring: Measuring,
        keeping: Keeping,
        trimmer: Trimmer | None = None,
        guard: PrivacyGuard | None = None,
    ) -> None:
        self._settings = settings
        self._measuring = measuring
        self._keeping = keeping
        self._trimmer = trimmer
        self._guard = guard
        self._caps = Caps(
            recent_tail=settings.recent_tail_tokens,
            pinned=settings.max_pinned_tokens,
            memory=settings.max_memory_tokens,
            history=settings.max_retrieved_history_tokens,
            project=settings.max_project_tokens,
            summary=settings.max_summary_tokens,
        )
        self._tails = Tails(settings.tail)
        self._bindings = Bindings(measuring)
        self._beside: TwoGenerations[tuple[str, tuple[int, ...]], int] = TwoGenerations(_SYSTEMS)

    def manage(
        self,
        asker: Asker,
        conversation: Conversation,
        awareness: Awareness,
        active: Meter,
        now_ms: int,
        *,
        hashes: tuple[int, ...],
        instructing: tuple[int, ...] = (),
        labelled: frozenset[int] = frozenset(),
        destination: Destination | None = None,
    ) -> Managed:
        """What is sent for a request, planned in tokens of the `active` meter.

        `hashes` are the canonical ones of the messages as the client sent them, `instructing` the numbers of those that hold its
        instruction files: rules of the project outlive the turn that they came with. The `labelled` ones are to be kept with all
        that they belong to. What is added is only what the `destination` may see. Without a known window there is nothing to fit
        the request into: it stays as it is.
        """
        if not is_whole(conversation):
            return Managed(conversation, unplanned=_PARTIAL)
        if awareness.budget is None:
            return Managed(conversation, unplanned=_UNKNOWN_WINDOW)
        started = time.perf_counter()
        facts = self._read_facts(conversation, awareness.budget, active)
        work = _Work(
            asker=asker,
            conversation=conversation,
            meter=active,
            facts=facts,
            hashes=hashes,
            instructing=instructing,
            labelled=find_labelled(facts.facts, facts.tokens, labelled),
            awareness=awareness,
            budget=awareness.budget,
            caps=resolve_caps(self._caps, awareness.adaptive),
            binds=refuses_unbound(conversation),
            now_ms=now_ms,
        )
        kept = self._keeping.offer(
            asker,
            conversation,
            facts=work.facts.facts,
            hashes=work.hashes,
            meter=active,
            steady=self._settings.placement != "latest-user",
        )
        offered, excluded = self._screen(kept, destination)
        given, made, evidence, tail = self._plan(work, offered)
        planned = time.perf_counter()
        cuts = self._cut_words(work, given, made)
        layout = lay_out(conversation, made, evidence, cuts)
        settled = self._settle(work, given, layout)
        unbound = settled.unbound if settled is not None else ()
        if unbound and made.status == UNCHANGED:
            made = structs.replace(made, status="managed")
        body = _render(conversation, made, layout, unbound)
        self._note(work, offered, made)
        timings_ms = {"plan": _ms(started, planned), "render": _ms(planned, time.perf_counter())}
        return Managed(
            conversation,
            given=given,
            plan=made,
            tail=tail,
            body=body,
            timings_ms=timings_ms,
            excluded=excluded,
            tail_memories=self._tails.memories(asker.session),
            settled=settled,
            cut=tuple(cuts),
        )

    def _cut_words(self, work: _Work, given: PlanInput, made: Plan) -> dict[int, tuple[int, ...]]:
        """The blocks that messages with instructions lose, since the turn that they opened has left."""
        conversation = work.conversation
        found = {
            index: self._measuring.words(conversation.messages[index], conversation.dialect, work.meter)
            for index in find_forsaken(given.facts, made.kept, given.alone)
        }
        return {index: words for index, words in found.items() if words}

    def _settle(self, work: _Work, given: PlanInput, layout: Layout) -> Settled | None:
        """Which thinking the provider would refuse; `None` where it refuses none. What an earlier run has put beside the messages
        of the client is not known: with pins or memory, nothing that it had thought can be trusted."""
        if not work.binds:
            return None
        return self._bindings.settle(
            work.asker, work.conversation, work.facts.facts, layout, trusting=not given.supplements
        )

    def note_failure(self, session: str, managed: Managed, error: str) -> None:
        """Takes in that the provider did not answer what was planned, and what it said."""
        if managed.settled is not None:
            self._bindings.note_failure(session, managed.settled, refused=REFUSAL in error)

    def recall(self, records: Iterable[SessionRecord]) -> None:
        """Takes up the tails of earlier runs' sessions."""
        for record in records:
            self._tails.recall(record.id, record.tails)

    def _screen(
        self, offered: Sequence[Supplement], destination: Destination | None
    ) -> tuple[Sequence[Supplement], tuple[Exclusion, ...]]:
        """The offers that the destination may see, and those that it may not: one blocked word excludes the whole."""
        if self._guard is None or destination is None:
            return offered, ()
        allowed: list[Supplement] = []
        excluded: list[Exclusion] = []
        for one in offered:
            screened = self._guard.screen(one.text, _class_of(one.classification), destination)
            if screened.text is None:
                excluded.append(Exclusion(kind=one.kind, id=one.id, classification=screened.classification))
            else:
                allowed.append(structs.replace(one, text=screened.text, classification=screened.classification))
        return allowed, tuple(excluded)

    def _plan(
        self, work: _Work, offered: Sequence[Supplement]
    ) -> tuple[PlanInput, Plan, Sequence[Evidence], TailChoice | None]:
        """The plan, with what it was made from; made again without the references to what could not be kept on disk."""
        trims = self._recall_trims(work, self._offer_trims(work))
        given, evidence = self._input(work, offered, trims)
        tail = self._tails.choose(
            work.asker.session,
            work.conversation,
            _without_long(given, trims),
            awareness=work.awareness,
            hashes=work.hashes,
            now_ms=work.now_ms,
            steady=work.binds,
        )
        excluded: frozenset[Place] = frozenset()
        quoted = False
        while True:
            given = structs.replace(given, tail=tail.first if tail is not None else None)
            made = plan_live(given)
            if failed := self._keep_artifacts(work, trims, made):
                excluded |= failed
                quoted = False
                trims = self._recall_trims(work, self._offer_trims(work, excluded), excluded)
            elif lost := _find_lost(made, trims):
                self._quote_less(work, lost)
                trims = self._offer_trims(work, excluded)
            elif not quoted and (short := _find_short(made, given, trims)) is not None:
                quoted = True
                trims = self._quote_at_length(work, trims, short, excluded)
            else:
                return given, made, evidence, tail
            given, evidence = self._input(work, offered, trims)

    def _input(
        self, work: _Work, offered: Sequence[Supplement], trims: Offered
    ) -> tuple[PlanInput, Sequence[Evidence]]:
        evidence: list[Evidence] = [*offered, *trims.references]
        instructions = _pin_instructions(work, offered)
        given = make_input(
            work.facts,
            budget=work.budget,
            caps=work.caps,
            evidence=evidence,
            pinned=instructions | work.labelled,
            alone=instructions - work.labelled,
            labelled=work.labelled,
            placement=self._settings.placement,
            rescue=self._settings.rescue_predecessor,
        )
        return given, evidence

    def _offer_trims(self, work: _Work, excluded: frozenset[Place] = frozenset()) -> Offered:
        if self._trimmer is None:
            return Offered()
        return self._trimmer.offer(
            work.conversation,
            work.facts,
            work.meter,
            input_tokens=work.budget.active,
            excluded=excluded,
        )

    def _recall_trims(self, work: _Work, trims: Offered, excluded: frozenset[Place] = frozenset()) -> Offered:
        """The offers with what this turn has quoted at length already."""
        if self._trimmer is None:
            return trims
        session = work.asker.session
        return self._trimmer.recall(
            trims, work.conversation, work.facts, work.meter, session=session, excluded=excluded
        )

    def _quote_at_length(self, work: _Work, trims: Offered, short: _Short, excluded: frozenset[Place]) -> Offered:
        """What must be sent is quoted as far as the hard limit allows: it may go beyond the target."""
        if self._trimmer is None:
            return trims
        return self._trimmer.quote_at_length(
            trims,
            work.conversation,
            work.facts,
            work.meter,
            session=work.asker.session,
            indices=short.indices,
            spare=short.spare,
            excluded=excluded,
        )

    def _quote_less(self, work: _Work, indices: frozenset[int]) -> None:
        if self._trimmer is not None:
            self._trimmer.quote_less(work.conversation, work.meter, session=work.asker.session, indices=indices)

    def _keep_artifacts(self, work: _Work, trims: Offered, made: Plan) -> frozenset[Place]:
        if self._trimmer is None or not made.replaced:
            return frozenset()
        owner = Owner(session=work.asker.session, project=work.asker.project)
        return self._trimmer.keep(trims, work.conversation, made.replaced, owner, work.now_ms)

    def _note(self, work: _Work, offered: Sequence[Supplement], made: Plan) -> None:
        self._keeping.note_sent(
            work.asker,
            offered,
            {placed.supplement_id for placed in made.supplements},
            facts=work.facts.facts,
            hashes=work.hashes,
            meter=work.meter,
        )

    def _read_facts(self, conversation: Conversation, budget: Budget, meter: Meter) -> RequestFacts:
        weights = self._measuring.weigh(conversation, meter)
        fixed_tokens = sum(weights.system) + sum(weights.tools)
        if budget.offset == 0 and budget.ratio == 1:
            # Nothing is learned yet of what every request of this target has beside what the client wrote.
            fixed_tokens += self._find_beside(conversation, meter)
        return RequestFacts(
            facts=self._measuring.facts(conversation), tokens=weights.messages, fixed_tokens=fixed_tokens
        )

    def _find_beside(self, conversation: Conversation, meter: Meter) -> int:
        """Tokens that come with a request once, by accounting's rules, as those around a list of tools."""
        pieces = (*conversation.system, *conversation.tools)
        key = (meter.key, tuple(piece.hash for piece in pieces))
        known = self._beside.find(key)
        if known is None:
            alone = structs.replace(conversation, messages=())
            measures = self._measuring.measure(alone, meter)
            weighed = sum(measure.weight for measure in (*measures.system, *measures.tools))
            total = assemble(meter, **measures._asdict(), options=read_options(conversation)).total.tokens
            known = max(0, total - weighed)
            self._beside.keep(key, known)
        return known


class _Work(Struct, frozen=True, kw_only=True):
    """One request on its way to a plan."""

    asker: Asker
    conversation: Conversation
    meter: Meter
    facts: RequestFacts
    hashes: tuple[int, ...]
    instructing: tuple[int, ...]
    labelled: frozenset[int]
    awareness: Awareness
    budget: Budget
    caps: Caps
    binds: bool
    now_ms: int


def _pin_instructions(work: _Work, offered: Sequence[Supplement]) -> frozenset[int]:
    """The messages of the user that hold instruction files, the newest first, as far as they fit the cap of pins beside the
    user's own, and half of the room: rules are worth keeping, not worth a request that cannot be sent."""
    facts = work.facts
    pins = sum(one.tokens for one in offered if one.kind == "pin") + sum(facts.tokens[index] for index in work.labelled)
    room = min(work.caps.pinned - pins, (work.budget.active - facts.fixed_tokens) // 2)
    pinned: set[int] = set()
    for index in reversed(work.instructing):
        if index not in work.labelled and facts.facts[index].opens_turn and facts.tokens[index] <= room:
            room -= facts.tokens[index]
            pinned.add(index)
    return frozenset(pinned)


def _class_of(name: str) -> Classification:
    """A class by its name; what is not known may go nowhere."""
    return next((known for known in CLASSES if known == name), "local-only")


class _Short(NamedTuple):
    """Messages that must be sent and cannot be sent whole. Of the hard limit `spare` tokens are left when all is sent that must
    be (below 0: so many lack)."""

    indices: frozenset[int]
    spare: int


def _find_short(made: Plan, given: PlanInput, trims: Offered) -> _Short | None:
    """The messages that must be sent, where they do not fit even in an emergency, or fit as references of the usual size; `None`
    where they fit, or are quoted at length already."""
    if made.error == "fixed_over_limit" or made.status not in ("emergency", "fallback"):
        return None
    least = plan(given)
    if least.status != "refused":
        return None
    must = frozenset(least.kept)
    replaced = must.intersection(one.index for one in made.replaced)
    indices = replaced - trims.long if made.status == "emergency" else must
    return _Short(indices, given.budget.hard - least.tokens) if indices else None


def _without_long(given: PlanInput, trims: Offered) -> PlanInput:
    """The request as if nothing of what is quoted at length were: quotes that may become shorter do not move the tail."""
    if not trims.long:
        return given
    shorter = (structs.replace(one, tokens_after=0) if one.index in trims.long else one for one in given.trims)
    return structs.replace(given, trims=tuple(shorter))


def _find_lost(made: Plan, trims: Offered) -> frozenset[int]:
    """What is quoted at length and is left out for its length: as a reference of the usual size it may stay."""
    return trims.long.intersection(drop.index for drop in made.dropped) if trims.long else frozenset()


def _render(conversation: Conversation, made: Plan, layout: Layout, unbound: tuple[int, ...]) -> bytes | None:
    """The body that a plan sends; `None` where that is all of the client's own and nothing else."""
    if not made.dropped and not made.supplements and not made.replaced and not unbound:
        return None
    return render_layout(conversation, layout, unbound=unbound)


def _count_thinking(piece: Slice, conversation: Conversation) -> int:
    return sum(part.kind == "thinking" for part in read_message(piece, conversation.dialect).parts)


def _provider_tokens(made: Plan, given: PlanInput) -> int:
    """What the plan's tokens are in those of the provider, by what was learned of it."""
    return max(0, round(given.budget.offset + given.budget.ratio * made.tokens))


def _in_a_line(made: Plan, unbound: tuple[int, ...]) -> str:
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
    if unbound:
        told.append(f"without_thinking={len(unbound)}")
    if made.error is not None:
        told.append(f"error={made.error}")
    return "; ".join(told)


def _ms(start: float, end: float) -> float:
    return round((end - start) * 1000, 3)
