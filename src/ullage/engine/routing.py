"""Which target each request for a virtual model goes to: decided for a task, kept for its calls (routing specification, 2, 20).

A turn of the user is a task, with all calls of its tool loop. Its target is kept as long as it may take the next call; helpers of
the client are routed by themselves and leave the session where it is.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Literal

from msgspec import Struct
from msgspec.structs import replace

from ullage.core.caching import is_whole
from ullage.core.errors import RoutingError, StoreError
from ullage.core.planning import SliceFacts
from ullage.core.routing.escalation import NO_STREAKS, Escalation, find_escalation, follow, step_up
from ullage.core.routing.filtering import Candidate, Limits, Needs, find_eligible
from ullage.core.routing.mistakes import read_outcomes
from ullage.core.routing.prefix import parse_prefix
from ullage.core.routing.redirecting import redirect
from ullage.core.routing.task import TaskProfile, analyze_task
from ullage.core.routing.thinking import Level
from ullage.core.routing.turn import Turn, gather_evidence, read_turn
from ullage.core.wire import Conversation, read_message

from .classifying import NOT_ASKED, Graded
from .health import Outcome
from .kinds import CONVERSATION
from .route_failures import remember
from .route_fitting import fit_route
from .route_habits import NOTHING_SPENT, RouteHabits
from .route_planning import Overrides, Planned, RoutePlanning, read_overrides
from .route_pools import PoolAttempts
from .route_state import SessionRoute, SessionRoutes, TaskState
from .route_telling import report_decision
from .targets import Destination, Targets
from .virtual import VirtualModels

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ullage.core.content import Answer
    from ullage.core.routing.exclusions import Stop
    from ullage.core.routing.route import Route
    from ullage.settings import Settings
    from ullage.stores import AttemptRecord, SessionRecord, Store

    from .classifying import Classifying, Question
    from .exchange import Exchange, GivenUp
    from .health import Health
    from .learning import Learning
    from .observation import Observation
    from .quota import Quotas

Reason = Literal["user", "continuation", "retry", "helper"]
"""Why a request is sent: a new task, a further call of one, the same again, or an errand of the client."""

_CREDENTIALS = ("authorization", "x-api-key", "x-goog-api-key", "api-key")


class Asked(Struct, frozen=True, kw_only=True):
    """A request for a virtual model, as routing sees it. `tokens` estimates its prompt in tokens of a target, `warm` the tokens
    that each target's cache holds of it; both are asked for where they are needed. `counting`: it asks for no answer, but for a
    count of its tokens, say. `graded` is what a small model said of the task. `fitted`: a plan will make the prompt fit.
    `tried` are the targets that this request has failed at, or must not go to, each with why; `thrifty`: what weighs is the cost.
    `ancestors` are the sessions whose settings hold for it too, the nearest first. `refusal` says why it has no form in the
    protocol of a target, where it has none. `summary`: it asks for a summary of its conversation, of `reserve` tokens at most,
    where the client says so. `task_id` is that of the task that it begins, where it has one already."""

    session: str
    helper: bool
    counting: bool
    rewritten: bool
    alias: str | None
    conversation: Conversation
    facts: Sequence[SliceFacts]
    hashes: Sequence[int]
    client_key: bool
    now_ms: int
    tokens: Callable[[str | None], int]
    warm: Callable[[], Mapping[str, int]]
    graded: Graded = NOT_ASKED
    fitted: bool = False
    ancestors: tuple[str, ...] = ()
    tried: Mapping[str, str] = {}
    thrifty: bool = False
    summary: bool = False
    task_id: str | None = None
    reserve: int | None = None
    refusal: Callable[[Candidate], str | None] = lambda _: None
    targets: Targets | None = None

    def untranslatable(self, candidates: Iterable[Candidate]) -> Mapping[str, str]:
        """The targets that cannot be asked in their own protocol, each with why."""
        return {one.target: reason for one in candidates if (reason := self.refusal(one)) is not None}


class Decision(Struct, frozen=True, kw_only=True):
    """Where a request goes. `planned` is there where it was decided with this request. `notes` say what came of it
    beside. `as_asked`: the model thinks as much as the client asks for. `off`: routing is off for the session."""

    destination: Destination
    candidate: Candidate
    thinking: Level
    reason: Reason
    kept: bool
    task_id: str
    policy: str
    profile: TaskProfile
    context_tokens: int | None = None
    planned: Planned | None = None
    notes: tuple[str, ...] = ()
    as_asked: bool = False
    off: bool = False

    @property
    def target(self) -> str:
        """`provider/model`."""
        return self.destination.target


class RouteStopped(RoutingError):  # noqa: N818 - a decision, not a fault
    """Nobody may take a request. `route` says who was looked at and why each is out; at `reopens_ms`, epoch milliseconds, the
    first may be tried again."""

    def __init__(self, stop: Stop, route: Route) -> None:
        super().__init__(stop.message, hint=stop.hint, code=stop.code)
        self.route = route
        self.reopens_ms = stop.reopens_ms


class Routing:
    """Decides, and remembers the sessions. Used by one thread only."""

    def __init__(
        self,
        settings: Settings,
        targets: Targets | None,
        quotas: Quotas,
        learning: Learning,
        health: Health,
        store: Store,
        *,
        new_id: Callable[[], str],
    ) -> None:
        routing = settings.routing
        self.names = VirtualModels(routing.aliases, enabled=routing.enabled)
        self.sessions = SessionRoutes()
        self._escalates = routing.escalation
        self._shadows = routing.shadow
        self._summarizers = routing.compaction_models
        self._watches = routing.shadow
        self._least_share = routing.cost.least_share
        self._targets = targets
        self._quotas = quotas
        self._health = health
        self._store = store
        self._new_id = new_id
        self._habits = RouteHabits()
        self._pools = PoolAttempts(settings, store)
        self._planning = RoutePlanning(
            settings, quotas=quotas, learning=learning, health=health, habits=self._habits, pools=self._pools
        )

    def recall(self, records: Iterable[SessionRecord], attempts: Iterable[AttemptRecord]) -> None:
        """Takes up what is kept of earlier runs."""
        self.sessions.recall(records)
        self._habits.recall(attempts)

    def decide(self, asked: Asked) -> Decision:
        """The target of a request. Raises `RoutingError` where nobody may take it."""
        known = self.sessions.find(asked.session)
        turn = read_turn(asked.conversation, asked.facts)
        candidates = self._candidates(asked)
        overrides = self._overrides(asked)
        decision = (
            self._run_errand(asked, turn, known, candidates, overrides)
            if asked.helper
            else self._step(asked, turn, known, candidates, overrides)
        )
        self._pools.note(decision.target)
        if not asked.counting:
            self._health.note_sent(decision.target, asked.now_ms)
        return replace(decision, as_asked=overrides.as_asked, off=overrides.off)

    def let_go(self, decision: Decision, now_ms: int) -> None:
        """Its target is not asked after all: where its circuit is half open, whoever comes next may try it."""
        self._health.note(Outcome(target=decision.target, asked_ms=now_ms, at_ms=now_ms, told=False))

    def new_task_id(self) -> str:
        """That of a task that a request will begin, for what is spent on it before."""
        return self._new_id()

    def find_question(self, asked: Asked, classifying: Classifying) -> Question | Graded:
        """What a small model is to be asked of a request that begins a task, or what is known of it already."""
        if asked.helper or not classifying.enabled:
            return NOT_ASKED
        known, turn = self.sessions.find(asked.session), read_turn(asked.conversation, asked.facts)
        overrides = self._overrides(asked)
        prefix, text = parse_prefix(turn.text, first_turn=turn.first)
        if overrides.pin is not None or overrides.off or prefix.model is not None:
            return NOT_ASKED
        if _reason(asked, turn, known, _opener(asked, turn)) != "user":
            return NOT_ASKED
        config = self._planning.config(asked.alias, overrides)
        evidence = gather_evidence(asked.conversation, asked.facts, turn)
        task = analyze_task(text, previous=known.previous, evidence=evidence, analyzer=config.analyzer)
        return classifying.consider(task, text, session=asked.session, config=config, now_ms=asked.now_ms)

    def moves_summaries(self, session: str, ancestors: Sequence[str]) -> bool:
        """Whether a summary may be written by another model than the one that its client names: not where routing is off, only
        watches, or has a target pinned."""
        held = Overrides()
        with contextlib.suppress(StoreError):  # as above
            held = read_overrides(self._read_overrides(session, ancestors))
        return not (held.off or self._shadows) and held.pin is None

    def is_better(self, decision: Decision, asked_for: str) -> bool:
        """Whether the summary of a client that has asked for this target goes elsewhere for a reason: somebody was named for
        summaries, or it was found to cost less there."""
        assert decision.planned is not None, "it was decided"
        named = bool(self._summarizers) or any(one.target == asked_for for one in decision.planned.route.ranked)
        return named and decision.target != asked_for

    def author_of(self, session: str) -> Callable[[int], str | None]:
        """Who wrote the messages of a session, by their numbers."""
        return self.sessions.find(session).author

    def note_kinship(self, observation: Observation) -> None:
        """What a request says of its session before it is routed: a summary was asked for, history was rewritten, a branch."""
        kinship, session = observation.kinship, observation.session
        if kinship is not None and kinship.parent is not None:
            self.sessions.inherit(session, kinship.parent)
        known = self.sessions.find(session)
        if observation.caller.kind == "compaction":
            known.compacting = True
        elif kinship is not None and kinship.relation in ("rewrite", "branch"):
            known.compacted |= known.compacting or (kinship.relation == "rewrite" and not kinship.shared)
            known.compacting, known.summary = False, ""

    def note_failed(self, observation: Observation, given_up: GivenUp) -> None:
        """Notes that the target of a request has failed, and that another one is to be asked."""
        failure = remember(given_up.failure, given_up.provider, self._quotas, given_up.at_ms)
        if failure is not None and observation.session and not _is_errand(observation.decision):
            known = self.sessions.find(observation.session)
            known.failed[given_up.target] = failure
            known.failing = True

    def settle(
        self, observation: Observation, exchange: Exchange, answer: Answer | None, outcome: Outcome | None
    ) -> None:
        """Notes how a request ended that was decided. `outcome` is what that says of its target."""
        decision = observation.decision
        if decision is None:
            return
        observation.route = report_decision(decision, observation.told, exchange.losses)
        if _is_errand(decision) or not observation.session:
            return
        known, now_ms = self.sessions.find(observation.session), exchange.created_ms + round(exchange.last_ms)
        failure = remember(outcome.failure, exchange.provider, self._quotas, now_ms) if outcome is not None else None
        whole = answer is not None and answer.complete and answer.error_type is None
        if failure is not None:
            known.failed[decision.target] = failure
        elif whole:
            known.failed.clear()
            known.answered_ms, known.last_good = now_ms, decision.target
        if whole:
            known.failing = False
        elif outcome is not None and (outcome.failure is not None or (exchange.status or 0) >= HTTPStatus.BAD_REQUEST):
            known.failing = True
        if known.task is not None and known.task.id == decision.task_id:
            known.task.settled = whole and answer is not None and not answer.tool_calls
            usage = answer.usage if answer is not None else None
            if usage is not None and usage.prompt and usage.output is not None:
                known.task.spent = known.task.spent.with_call(prompt=usage.prompt, output=usage.output)
        observation.session_route = known.plain()

    def _candidates(self, asked: Asked) -> tuple[Candidate, ...]:
        """Whoever may be chosen from; nobody is asked twice in one request."""
        targets = asked.targets or self._targets
        if targets is None:
            return ()
        known = targets.candidates(asked.conversation.dialect, client_key=asked.client_key)
        return tuple(one for one in known if one.target not in asked.tried) if asked.tried else known

    def _overrides(self, asked: Asked) -> Overrides:
        with contextlib.suppress(StoreError):  # the settings alone hold; the store says itself what is wrong with it
            return read_overrides(self._read_overrides(asked.session, asked.ancestors))
        return Overrides()

    def _read_overrides(self, session: str, ancestors: Sequence[str]) -> Mapping[str, Any]:
        """What was set for the session, else for one it came from, else for all."""
        held = self._store.route_overrides(session)
        if not ancestors:
            return held
        everyone = self._store.route_overrides()
        for ancestor in ancestors:
            inherited = self._store.route_overrides(ancestor)
            held = {**held, **{key: value for key, value in inherited.items() if held.get(key) == everyone.get(key)}}
        return held

    def _run_errand(
        self, asked: Asked, turn: Turn, known: SessionRoute, candidates: Sequence[Candidate], overrides: Overrides
    ) -> Decision:
        """Who takes an errand of the client; what asks for no answer goes to the target that the session is at."""
        task = known.task
        found = next((one for one in candidates if one.target == known.current), None)
        if asked.counting and task is not None and found is not None and overrides.pin in (None, found.target):
            destination = self._destination(asked, found.target)
            if destination is not None:
                return _again(task, destination, found, "helper")
        return self._plan(asked, turn, known, candidates, overrides, "helper", failed=asked.tried)

    def _step(
        self, asked: Asked, turn: Turn, known: SessionRoute, candidates: Sequence[Candidate], overrides: Overrides
    ) -> Decision:
        """Who takes a step of the conversation: the target of its task, or whoever is chosen for it."""
        failed = {**known.failures(asked.now_ms), **asked.tried}
        if known.current is not None and overrides.pin is None and not is_whole(asked.conversation):
            # What its provider keeps of the conversation, no other one can go on from.
            overrides = replace(overrides, pin=known.current)
        opener = _opener(asked, turn)
        reason = _reason(asked, turn, known, opener)
        notes: tuple[str, ...] = ()
        if reason != "user":
            assert known.task is not None, "it goes on"
            escalation = None if overrides.off else self._find_escalation(asked, turn, known.task)
            kept = self._keep(asked, turn, known.task, candidates, overrides, reason, failed)
            if isinstance(kept, Decision):
                raised = self._escalate(asked, turn, known, candidates, overrides, reason, escalation)
                if raised is not None and not self._watches:
                    self._begin_task(asked, known, raised, opener)
                    return raised
                if raised is not None and escalation is not None:
                    told = f"would go on at {raised.target}, thinking {raised.thinking}: {escalation.reason}"
                    kept = replace(kept, notes=(*kept.notes, told))
                known.task.messages = len(asked.facts)
                known.task.calls += 1
                known.note_author(len(asked.facts), kept.target, rewritten=asked.rewritten)
                return kept
            notes = (kept,)
        decision = self._plan(asked, turn, known, candidates, overrides, reason, failed=failed, notes=notes)
        self._begin_task(asked, known, decision, opener)
        return decision

    def _keep(
        self,
        asked: Asked,
        turn: Turn,
        task: TaskState,
        candidates: Sequence[Candidate],
        overrides: Overrides,
        reason: Reason,
        failed: Mapping[str, str],
    ) -> Decision | str:
        """The task's target once more; a text says why it cannot take this call."""
        target = task.target
        if task.alias != asked.alias:
            return f"{asked.alias or 'ullage/auto'} is asked for now"
        if overrides.pin not in (None, target):
            return f"{overrides.pin} is pinned now"
        if target in failed:
            return f"{target} is left: {failed[target]}"
        found = next((one for one in candidates if one.target == target), None)
        if found is None:
            return f"{target} is no longer there"
        if self._health.circuits((target,), asked.now_ms):
            return f"{target} is left: it failed lately, its circuit is open"
        if self._quotas.refuses(found.model.provider, asked.now_ms):
            return f"{target} is left: its provider has no credit or allowance left"
        tokens = asked.tokens(target)
        needs = Needs(
            context_tokens=0 if asked.fitted else tokens,
            output_tokens=task.profile.required_output_tokens,
            images=turn.images > 0,
        )
        config = self._planning.config(asked.alias, overrides)
        limits = Limits(
            needs=needs,
            scope=config.scope,
            constraints=replace(config.constraints, auto_exclude=()),
            untranslatable=asked.untranslatable((found,)),
        )
        eligible = find_eligible((found,), limits)
        if not eligible.candidates:
            return f"{target} cannot go on: {eligible.excluded[0].reason}"
        destination = self._destination(asked, target)
        if destination is None:
            return f"{target} cannot be reached"
        return replace(_again(task, destination, found, reason), context_tokens=tokens)

    def _plan(
        self,
        asked: Asked,
        turn: Turn,
        known: SessionRoute,
        candidates: Sequence[Candidate],
        overrides: Overrides,
        reason: Reason,
        *,
        failed: Mapping[str, str],
        notes: tuple[str, ...] = (),
    ) -> Decision:
        goes_on = reason in ("continuation", "retry") and known.task is not None
        task_id = known.task.id if goes_on and known.task is not None else asked.task_id or self._new_id()
        if asked.summary:  # a client may summarise in two halves: they are one task, of its own (section 22)
            task_id = known.summary = known.summary or task_id
        current = known.current if any(one.target == known.current for one in candidates) else None
        tokens = asked.tokens(current)

        def plan(tokens: int) -> Planned:
            return self._planning.plan(
                asked,
                turn,
                known,
                candidates,
                overrides=overrides,
                failed=failed,
                tokens=tokens,
                task_id=task_id,
                fresh=reason == "user",
            )

        planned = fit_route(plan, candidates, tokens, self._least_share) if asked.fitted else plan(tokens)
        route = planned.route
        if route.target is None or route.selection is None:
            assert route.stop is not None, "nobody was chosen"
            raise RouteStopped(route.stop, route)
        return Decision(
            destination=self._reach(asked, route.target),
            candidate=route.selection.chosen.candidate,
            thinking=route.thinking,
            reason=reason,
            kept=False,
            task_id=task_id,
            policy=route.policy,
            profile=route.task,
            context_tokens=tokens,
            planned=planned,
            notes=(*notes, *planned.notes),
        )

    def _find_escalation(self, asked: Asked, turn: Turn, task: TaskState) -> Escalation | None:
        """Whether the calls since the last request show that the task asks for more (section 21)."""
        if not self._escalates:
            return None
        start, streaks = task.messages, task.streaks
        if asked.rewritten or start > len(asked.facts):
            start, streaks = (turn.index or 0) + 1, NO_STREAKS
        dialect = asked.conversation.dialect
        new = (read_message(piece, dialect) for piece in asked.conversation.messages[start:])
        task.streaks = follow(streaks, read_outcomes(new))
        return find_escalation(task.streaks, pinned=task.pinned, done=task.escalated)

    def _escalate(
        self,
        asked: Asked,
        turn: Turn,
        known: SessionRoute,
        candidates: Sequence[Candidate],
        overrides: Overrides,
        reason: Reason,
        escalation: Escalation | None,
    ) -> Decision | None:
        """The same task at a stronger target, or with more thinking; once. `None` where it asks for neither or there is none."""
        task = known.task
        if escalation is None or task is None:
            return None
        task.escalated = True
        try:
            decision = self._plan(
                asked, turn, known, candidates, overrides, reason, failed=known.failures(asked.now_ms)
            )
        except RouteStopped:  # where nobody else may take it, it stays
            return None
        assert decision.planned is not None, "it was decided"
        route = decision.planned.route
        settled = overrides.as_asked or self._planning.config(asked.alias, overrides).thinking is not None
        step = step_up(route.ranked, task.target, task.thinking, settled=settled)
        if step is None:
            return None
        moved = redirect(route, step.target)
        assert moved.selection is not None, "it is ranked"
        return replace(
            decision,
            destination=self._reach(asked, step.target),
            candidate=moved.selection.chosen.candidate,
            thinking=step.thinking,
            planned=replace(decision.planned, route=replace(moved, thinking=step.thinking)),
            notes=(*decision.notes, f"escalated: {escalation.reason}"),
        )

    def _begin_task(self, asked: Asked, known: SessionRoute, decision: Decision, opener: str) -> None:
        """Notes what was decided; a task that is moved to another target goes on as the same."""
        assert decision.planned is not None, "it was decided"
        before = known.task if known.task is not None and known.task.id == decision.task_id else None
        if before is None and known.task is not None:
            self._habits.add(known.task.profile.kinds, known.task.calls, known.task.spent)
        if not asked.tried:
            _note_spending(known, decision.planned.route)
        known.failing &= decision.target == known.current
        known.current = decision.target
        known.compacted = False
        known.note_author(len(asked.facts), decision.target, rewritten=asked.rewritten)
        known.task = TaskState(
            id=decision.task_id,
            target=decision.target,
            opener=opener,
            messages=len(asked.facts),
            thinking=decision.thinking,
            policy=decision.policy,
            profile=decision.profile,
            started_ms=before.started_ms if before is not None else asked.now_ms,
            alias=asked.alias,
            calls=before.calls + (not asked.tried) if before is not None else 1,
            spent=before.spent if before is not None else NOTHING_SPENT,
            began_tokens=before.began_tokens if before is not None else decision.context_tokens or 0,
            pinned=decision.planned.pinned,
            escalated=before.escalated if before is not None else False,
            streaks=before.streaks if before is not None else NO_STREAKS,
        )

    def _reach(self, asked: Asked, target: str) -> Destination:
        found = self._destination(asked, target)
        if found is None:
            raise RoutingError(
                f"{target} was chosen and cannot be reached",
                hint="`ullage doctor` says whose key is missing.",
                code="auth-unavailable",
            )
        return found

    def _destination(self, asked: Asked, target: str) -> Destination | None:
        targets = asked.targets or self._targets
        assert targets is not None, "it has candidates"
        return targets.destination(target, asked.conversation.dialect, client_key=asked.client_key)


def is_helper(observation: Observation, exchange: Exchange) -> bool:
    """Whether a request is an errand of the client."""
    return observation.caller.kind not in CONVERSATION or exchange.endpoint.purpose != "generate"


def has_key(headers: Mapping[str, str]) -> bool:
    """Whether the client sent a credential of its own."""
    return any(headers.get(name) for name in _CREDENTIALS)


def _is_errand(decision: Decision | None) -> bool:
    return decision is None or decision.reason == "helper"


def _again(task: TaskState, destination: Destination, candidate: Candidate, reason: Reason) -> Decision:
    """A task's target once more."""
    return Decision(
        destination=destination,
        candidate=candidate,
        thinking=task.thinking,
        reason=reason,
        kept=True,
        task_id=task.id,
        policy=task.policy,
        profile=task.profile,
    )


def _opener(asked: Asked, turn: Turn) -> str:
    return f"{asked.hashes[turn.index]:032x}" if turn.index is not None else ""


def _reason(asked: Asked, turn: Turn, known: SessionRoute, opener: str) -> Reason:
    """Whether the request begins a task, goes on with one, or repeats its newest call."""
    task = known.task
    if task is None:
        return "user"
    same = task.opener == opener
    if same and len(asked.facts) == task.messages:
        return "retry"
    if turn.loop or (same and turn.going_on):
        return "continuation"
    # The client has summarised the history while the model was at work: the task goes on (section 12.3).
    return "continuation" if asked.rewritten and known.compacted and not task.settled else "user"


def _note_spending(known: SessionRoute, route: Route) -> None:
    """What the session's switches have cost, and what staying would have (section 12.4)."""
    switch = route.selection.switch if route.selection is not None else None
    if switch is None:
        return
    known.stayed_usd += switch.stay_usd or 0.0
    if route.target == switch.other:
        known.switched_usd += max(0.0, switch.cache_loss_usd or 0.0)
