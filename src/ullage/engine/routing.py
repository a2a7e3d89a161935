"""Which target each request for a virtual model goes to: decided for a task, kept for its calls (routing specification, 2, 20).

A turn of the user is a task, with all calls of its tool loop. Its target is kept as long as it may take the next call; helpers of
the client are routed by themselves and leave the session where it is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Literal

from msgspec import Struct
from msgspec.structs import replace

from ullage.core.errors import RoutingError
from ullage.core.planning import SliceFacts
from ullage.core.routing.cache_terms import Habits
from ullage.core.routing.filtering import Candidate, Limits, Needs, find_eligible
from ullage.core.routing.prefix import parse_prefix
from ullage.core.routing.route import Route, RouteSession, resolve_route
from ullage.core.routing.task import TaskProfile, analyze_task
from ullage.core.routing.thinking import Level
from ullage.core.routing.turn import Turn, gather_evidence, read_turn
from ullage.core.wire import Conversation
from ullage.settings.route_config import make_route_config, usual_policy

from .kinds import CONVERSATION
from .quota import Quotas, add_quota
from .route_habits import RouteHabits
from .route_state import LONGEST_GRUDGE_MS, Failure, SessionRoute, SessionRoutes, TaskState
from .targets import Destination
from .virtual import VirtualModels

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ullage.core.content import Answer
    from ullage.core.routing.exclusions import Stop
    from ullage.core.routing.route import RouteConfig
    from ullage.core.routing.scoring import Signals
    from ullage.core.routing.weights import Policy
    from ullage.settings import Settings
    from ullage.stores import AttemptRecord, SessionRecord

    from .exchange import Exchange
    from .observation import Observation
    from .targets import Targets

Reason = Literal["user", "continuation", "retry", "helper"]
"""Why a request is sent: a new task, a further call of one, the same again, or an errand of the client."""

_IDLE_MS = 300_000
_MINUTE_MS = 60_000
_CREDENTIALS = ("authorization", "x-api-key", "x-goog-api-key", "api-key")
_RETRYABLE = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 529})
_HELPER_POLICY: Policy = "cost"
_SAME: frozenset[Reason] = frozenset({"continuation", "retry"})


class Asked(Struct, frozen=True, kw_only=True):
    """A request for a virtual model, as routing sees it. `tokens` estimates its prompt in tokens of a target, `warm` the tokens
    that each target's cache holds of it; both are asked for where they are needed. `counting`: only its tokens are asked for."""

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


class Decision(Struct, frozen=True, kw_only=True):
    """Where a request goes. `route` is there where it was decided with this request. `notes` say what came of it beside."""

    destination: Destination
    candidate: Candidate
    thinking: Level
    reason: Reason
    kept: bool
    task_id: str
    policy: str
    profile: TaskProfile
    context_tokens: int | None = None
    route: Route | None = None
    notes: tuple[str, ...] = ()
    shadow: str | None = None

    @property
    def target(self) -> str:
        """`provider/model`."""
        return self.destination.target


class RouteStopped(RoutingError):  # noqa: N818 - a decision, not a fault
    """Nobody may take a request. `route` says who was looked at and why each is out."""

    def __init__(self, stop: Stop, route: Route) -> None:
        super().__init__(stop.message, hint=stop.hint, code=stop.code)
        self.route = route


class Routing:
    """Decides, and remembers the sessions. Used by one thread only."""

    def __init__(
        self, settings: Settings, targets: Targets | None, quotas: Quotas, *, new_id: Callable[[], str]
    ) -> None:
        routing = settings.routing
        self.names = VirtualModels(routing.aliases, enabled=routing.enabled)
        self.sessions = SessionRoutes()
        self._settings = settings
        self._targets = targets
        self._quotas = quotas
        self._new_id = new_id
        self._habits = RouteHabits()
        self._configs: dict[str | None, RouteConfig] = {}

    def recall(self, records: Iterable[SessionRecord], attempts: Iterable[AttemptRecord]) -> None:
        """Takes up what is kept of earlier runs."""
        self.sessions.recall(records)
        self._habits.recall(attempts)

    def decide(self, asked: Asked) -> Decision:
        """The target of a request. Raises `RoutingError` where nobody may take it."""
        known = self.sessions.find(asked.session)
        turn = read_turn(asked.conversation, asked.facts)
        candidates = self._candidates(asked)
        if asked.helper:
            return self._count(asked, known, candidates) or self._route(asked, turn, known, candidates, "helper")
        failed = known.failures(asked.now_ms)
        opener = f"{asked.hashes[turn.index]:032x}" if turn.index is not None else ""
        reason = _reason(asked, turn, known, opener)
        notes: tuple[str, ...] = ()
        if reason != "user":
            kept = self._keep(asked, turn, known, candidates, reason, failed)
            if isinstance(kept, Decision):
                return kept
            notes = (kept,)
        decision = self._route(asked, turn, known, candidates, reason, failed=failed, notes=notes)
        self._begin_task(asked, known, decision, opener)
        return decision

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
            known.compacting = False

    def settle(self, observation: Observation, exchange: Exchange, answer: Answer | None) -> None:
        """Notes how a request ended that was decided."""
        decision = observation.decision
        if decision is None or decision.reason == "helper" or not observation.session:
            return
        known, now_ms = self.sessions.find(observation.session), exchange.created_ms + round(exchange.last_ms)
        failure = _failure(exchange, answer)
        if failure is not None:
            known.failed[decision.target] = Failure(status=failure, until_ms=now_ms + LONGEST_GRUDGE_MS)
        elif answer is not None and answer.complete:
            known.failed.clear()
            known.answered_ms = now_ms
        if known.task is not None and known.task.id == decision.task_id:
            known.task.settled = answer is not None and answer.complete and not answer.tool_calls
        observation.session_route = known.plain()

    def _candidates(self, asked: Asked) -> tuple[Candidate, ...]:
        if self._targets is None:
            return ()
        return self._targets.candidates(asked.conversation.dialect, client_key=asked.client_key)

    def _config(self, alias: str | None) -> RouteConfig:
        config = self._configs.get(alias)
        if config is None:
            config = self._configs[alias] = make_route_config(self._settings, alias)
        return config

    def _count(self, asked: Asked, known: SessionRoute, candidates: Sequence[Candidate]) -> Decision | None:
        """Who counts tokens: the target that the session is at."""
        task = known.task
        found = next((one for one in candidates if one.target == known.current), None)
        destination = self._destination(asked, found.target) if found is not None else None
        if not asked.counting or task is None or found is None or destination is None:
            return None
        return Decision(
            destination=destination,
            candidate=found,
            thinking=task.thinking,
            reason="helper",
            kept=True,
            task_id=task.id,
            policy=task.policy,
            profile=task.profile,
        )

    def _keep(
        self,
        asked: Asked,
        turn: Turn,
        known: SessionRoute,
        candidates: Sequence[Candidate],
        reason: Reason,
        failed: Mapping[str, str],
    ) -> Decision | str:
        """The task's target once more; a text says why it cannot take this call."""
        task = known.task
        assert task is not None, "it goes on"
        if task.alias != asked.alias:
            return f"{asked.alias or 'ullage/auto'} is asked for now"
        if task.target in failed:
            return f"{task.target} is left: {failed[task.target]}"
        found = next((one for one in candidates if one.target == task.target), None)
        if found is None:
            return f"{task.target} is no longer there"
        if self._quotas.cools_down(found.model.provider, asked.now_ms):
            return f"{task.target} is left: its provider asked to wait"
        tokens = asked.tokens(task.target)
        config = self._config(asked.alias)
        needs = Needs(context_tokens=tokens, output_tokens=task.profile.required_output_tokens, images=turn.images > 0)
        limits = Limits(needs=needs, constraints=replace(config.constraints, auto_exclude=()))
        eligible = find_eligible((found,), limits)
        if not eligible.candidates:
            return f"{task.target} cannot go on: {eligible.excluded[0].reason}"
        destination = self._destination(asked, task.target)
        if destination is None:
            return f"{task.target} cannot be reached"
        task.messages = len(asked.facts)
        task.calls += 1
        known.note_author(len(asked.facts), task.target, rewritten=asked.rewritten)
        return Decision(
            destination=destination,
            candidate=found,
            thinking=task.thinking,
            reason=reason,
            kept=True,
            task_id=task.id,
            policy=task.policy,
            profile=task.profile,
            context_tokens=tokens,
        )

    def _route(
        self,
        asked: Asked,
        turn: Turn,
        known: SessionRoute,
        candidates: Sequence[Candidate],
        reason: Reason,
        *,
        failed: Mapping[str, str] | None = None,
        notes: tuple[str, ...] = (),
    ) -> Decision:
        config = self._config(asked.alias)
        current = known.current if any(one.target == known.current for one in candidates) else None
        tokens = asked.tokens(current)
        warm = _warm(asked, known, current, tokens)
        cold = _coldness(asked, known, warm)
        session = self._session(asked, turn, known, warm, cold=cold is not None, current=current, failed=failed or {})
        session = replace(session, signals=self._signals(candidates, asked.now_ms))
        route = resolve_route(
            candidates,
            turn.text,
            context_tokens=tokens,
            images=turn.images,
            policy=_HELPER_POLICY if asked.helper else usual_policy(self._settings, asked.alias),
            session=session,
            config=replace(config, thinking="off") if asked.helper else config,
        )
        if route.target is None or route.selection is None:
            assert route.stop is not None, "nobody was chosen"
            raise RouteStopped(route.stop, route)
        destination = self._destination(asked, route.target)
        if destination is None:
            raise RoutingError(
                f"{route.target} was chosen and cannot be reached",
                hint="`ullage doctor` says whose key is missing.",
                code="auth-unavailable",
            )
        return Decision(
            destination=destination,
            candidate=route.selection.chosen.candidate,
            thinking=route.thinking,
            reason=reason,
            kept=False,
            task_id=known.task.id if reason in _SAME and known.task is not None else self._new_id(),
            policy=route.policy,
            profile=route.task,
            context_tokens=tokens,
            route=route,
            notes=(*notes, *([f"cache cold ({cold})"] if cold is not None else [])),
        )

    def _session(
        self,
        asked: Asked,
        turn: Turn,
        known: SessionRoute,
        warm: Mapping[str, int],
        *,
        cold: bool,
        current: str | None,
        failed: Mapping[str, str],
    ) -> RouteSession:
        """What the session knows as the task begins."""
        previous = None if asked.helper else known.previous
        evidence = gather_evidence(asked.conversation, asked.facts, turn)
        first = turn.first and not asked.helper
        _, text = parse_prefix(turn.text, first_turn=first)
        likely = analyze_task(text, previous=previous, evidence=evidence)
        return RouteSession(
            first_turn=first,
            current=current,
            cold=cold,
            warm=warm,
            habits=Habits(calls=1) if asked.helper else self._habits.of(likely.kinds),
            previous=previous,
            evidence=evidence,
            trigger="extension" if asked.helper else "user",
            failed=failed,
            switched_usd=known.switched_usd,
            stayed_usd=known.stayed_usd,
        )

    def _signals(self, candidates: Sequence[Candidate], now_ms: int) -> Mapping[str, Signals]:
        """What is known of the candidates' providers."""
        return add_quota({}, [one.target for one in candidates], self._quotas.signals(now_ms))

    def _begin_task(self, asked: Asked, known: SessionRoute, decision: Decision, opener: str) -> None:
        """Notes what was decided; a task that is moved to another target goes on as the same."""
        assert decision.route is not None, "it was decided"
        before = known.task if known.task is not None and known.task.id == decision.task_id else None
        if before is None and known.task is not None:
            self._habits.add(known.task.profile.kinds, known.task.calls)
        _note_spending(known, decision.route)
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
            calls=before.calls + 1 if before is not None else 1,
        )

    def _destination(self, asked: Asked, target: str) -> Destination | None:
        assert self._targets is not None, "it has candidates"
        return self._targets.destination(target, asked.conversation.dialect, client_key=asked.client_key)


def is_helper(observation: Observation, exchange: Exchange) -> bool:
    """Whether a request is an errand of the client."""
    return observation.caller.kind not in CONVERSATION or exchange.endpoint.purpose != "generate"


def has_key(headers: Mapping[str, str]) -> bool:
    """Whether the client sent a credential of its own."""
    return any(headers.get(name) for name in _CREDENTIALS)


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


def _warm(asked: Asked, known: SessionRoute, current: str | None, tokens: int) -> Mapping[str, int]:
    """Tokens of the prompt that each target's cache holds. Of the current one all, where its provider has not told."""
    warm = dict(asked.warm())
    if current is not None and current not in warm:
        warm[current] = tokens if asked.now_ms - known.answered_ms <= _IDLE_MS else 0
    return warm


def _coldness(asked: Asked, known: SessionRoute, warm: Mapping[str, int]) -> str | None:
    """Why no cache holds the session's prefix any more; `None` where one may (section 12.3)."""
    if known.current is None:
        return None
    if known.compacted:
        return "compaction"
    idle_ms = asked.now_ms - known.answered_ms
    if known.answered_ms and not any(warm.values()) and idle_ms > _IDLE_MS:
        return f"idle {idle_ms // _MINUTE_MS}m"
    return None


def _note_spending(known: SessionRoute, route: Route) -> None:
    """What the session's switches have cost, and what staying would have (section 12.4)."""
    switch = route.selection.switch if route.selection is not None else None
    if switch is None:
        return
    known.stayed_usd += switch.stay_usd or 0.0
    if route.target == switch.other:
        known.switched_usd += max(0.0, switch.cache_loss_usd or 0.0)


def _failure(exchange: Exchange, answer: Answer | None) -> str | None:
    """What went wrong in a way that another target may mend; `None` where nothing did, or nothing can."""
    if exchange.outcome == "left":
        return None
    if exchange.status is None:
        return exchange.warnings[-1] if exchange.warnings else "no answer"
    if exchange.status in _RETRYABLE:
        return str(exchange.status)
    if exchange.status < 400 and (exchange.outcome == "cut" or (answer is not None and answer.error_type is not None)):
        return "a broken answer"
    return None
