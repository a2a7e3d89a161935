"""What a route is made from, and made: the session's settings, what was learned, what caches hold; a way out where that fails.

Routing specification, sections 2, 12, 20.2, 23 and 24.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from ullage.core.errors import CallError, RoutingError
from ullage.core.routing.cache_terms import Habits
from ullage.core.routing.classifier import merge_verdict
from ullage.core.routing.compaction import rank_summarizers, tell_summary
from ullage.core.routing.exploring import explore
from ullage.core.routing.failsafe import NO_FAULTS, failsafe_route, route_safely
from ullage.core.routing.identity import find_identity
from ullage.core.routing.prefix import parse_prefix
from ullage.core.routing.redirecting import redirect, shadow
from ullage.core.routing.route import Route, RouteConfig, RouteSession, active_pool, resolve_route
from ullage.core.routing.selection import may_stand_for
from ullage.core.routing.task import analyze_task
from ullage.core.routing.thinking import LEVELS
from ullage.core.routing.turn import gather_evidence
from ullage.core.routing.weights import Policy, find_policy
from ullage.settings.route_config import make_route_config, usual_policy

from .quota import add_quota
from .steering import HOST, NO_POOL, OFF

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ullage.core.routing.filtering import Candidate
    from ullage.core.routing.scoring import RouteScore, Signals
    from ullage.core.routing.task import TaskProfile
    from ullage.core.routing.turn import Turn
    from ullage.settings import Settings

    from .health import Health
    from .learning import Learning
    from .quota import Quotas
    from .route_habits import RouteHabits
    from .route_pools import PoolAttempts
    from .route_state import SessionRoute
    from .routing import Asked

_log = logging.getLogger("ullage.engine")

_IDLE_MS = 300_000
_MINUTE_MS = 60_000
_HELPER_POLICY: Policy = "cost"


class Overrides(Struct, frozen=True, kw_only=True):
    """What the user has set for one session, or for all: `None` where nothing. `off`: the session stays where it is; `as_asked`:
    models think as much as the client asks for."""

    pin: str | None = None
    policy: Policy | None = None
    pool: str | None = None
    thinking: str | None = None
    off: bool = False
    as_asked: bool = False


class Planned(Struct, frozen=True, kw_only=True):
    """A route with what came of it beside. `shadow` is the target that would have been taken."""

    route: Route
    notes: tuple[str, ...] = ()
    propensities: Mapping[str, float] = {}
    shadow: str | None = None
    pinned: bool = False


def read_overrides(plain: Mapping[str, Any]) -> Overrides:
    """What the store keeps of a session's settings; what has no meaning is none."""
    pin, pool = plain.get("pin"), plain.get("pool")
    policy, thinking = plain.get("policy"), plain.get("thinking")
    return Overrides(
        pin=pin if isinstance(pin, str) else None,
        pool=pool if isinstance(pool, str) else None,
        policy=find_policy(policy) if isinstance(policy, str) else None,
        thinking=thinking if isinstance(thinking, str) else None,
        off=plain.get("activation") == OFF,
        as_asked=thinking == HOST,
    )


class RoutePlanning:
    """Makes routes. Used by one thread only."""

    def __init__(
        self,
        settings: Settings,
        *,
        quotas: Quotas,
        learning: Learning,
        health: Health,
        habits: RouteHabits,
        pools: PoolAttempts,
    ) -> None:
        self._settings = settings
        self._quotas = quotas
        self._learning = learning
        self._health = health
        self._habits = habits
        self._pools = pools
        self._configs: dict[str | None, RouteConfig] = {}
        self._faults = NO_FAULTS

    def config(self, alias: str | None, overrides: Overrides) -> RouteConfig:
        """What holds for a request: the settings, under an alias, with what the user has set since. A pool that there is no more
        stays active: whoever plans by it is told."""
        config = self._configs.get(alias)
        if config is None:
            config = self._configs[alias] = make_route_config(self._settings, alias)
        if overrides.pool is not None:
            config = replace(config, pool=None if overrides.pool == NO_POOL else overrides.pool)
        if overrides.thinking is not None:
            fixed = next((level for level in LEVELS if level == overrides.thinking), None)
            config = replace(config, thinking=fixed)
        return config

    def plan(
        self,
        asked: Asked,
        turn: Turn,
        known: SessionRoute,
        candidates: Sequence[Candidate],
        *,
        overrides: Overrides,
        failed: Mapping[str, str],
        tokens: int,
        task_id: str,
        fresh: bool,
    ) -> Planned:
        """The route of a request; `fresh` says that it begins a task. Raises `UllageError` for settings that make no sense:
        `RoutingError` for a pool that there is not (section 13)."""
        current = known.current if any(one.target == known.current for one in candidates) else None
        warm = _warm(asked, known, current, tokens)
        cold = _coldness(asked, known, warm)
        config = self.config(asked.alias, overrides)
        _check_pool(config, overrides)
        plain = RouteSession(
            first_turn=turn.first and not asked.helper,
            current=current,
            pin=overrides.pin,
            cold=cold is not None,
            failing=known.failing,
            warm=warm,
            trigger="extension" if asked.helper else "user",
            failed=failed,
            circuits=self._health.circuits((one.target for one in candidates), asked.now_ms),
            untranslatable=asked.untranslatable(candidates),
            switched_usd=known.switched_usd,
            stayed_usd=known.stayed_usd,
        )
        if asked.helper:
            config = replace(config, thinking="off")
        if asked.summary:
            config = replace(config, scope=self._settings.routing.compaction_models or config.scope)
        # What a client says of how to summarise is no task: it asks for no tier.
        text = "" if asked.summary else turn.text
        policy = overrides.policy or usual_policy(self._settings, asked.alias)
        session = plain

        def plan() -> Route:
            nonlocal session
            session = self._informed(asked, turn, known, plain, candidates, config, tokens, fresh=fresh)
            return resolve_route(
                candidates,
                text,
                context_tokens=tokens,
                images=turn.images,
                policy=_HELPER_POLICY if asked.helper or asked.thrifty else policy,
                session=session,
                config=config,
            )

        def fall_back() -> Route:
            quotas = add_quota({}, [one.target for one in candidates], self._quotas.signals(asked.now_ms))
            return failsafe_route(
                candidates,
                turn.text,
                context_tokens=tokens,
                images=turn.images,
                session=replace(plain, signals=quotas),
                config=config,
                last_good=known.last_good,
                max_attempts=self._settings.routing.failover.max_attempts,
            )

        route, self._faults, fault = route_safely(plan, fall_back, self._faults, asked.now_ms)
        notes = [f"cache cold ({cold})"] if cold is not None else []
        if known.failing and current is not None:
            notes.append(f"{current} did not answer the newest request, so nothing keeps the session there")
        if fault is not None:
            _log.error("No route could be planned; the fail-safe one is taken.", exc_info=fault)
            notes.append("routing failed, the fail-safe route is taken")
        if asked.graded.note is not None:
            notes.append(asked.graded.note)
        pinned = overrides.pin is not None or route.prefix.pinned
        if asked.summary and not (pinned or overrides.off):
            route = _for_a_summary(route, asked, tokens, warm)
        if route.target is None:
            return Planned(route=route, notes=tuple(notes), pinned=pinned)
        failures = {} if asked.thrifty else failed  # who is too dear has not failed
        planned = self._redirected(route, session, overrides, failures, task_id, fresh=fresh, helper=asked.helper)
        return replace(planned, notes=(*notes, *planned.notes), pinned=pinned)

    def _redirected(
        self,
        route: Route,
        session: RouteSession,
        overrides: Overrides,
        failed: Mapping[str, str],
        task_id: str,
        *,
        fresh: bool,
        helper: bool,
    ) -> Planned:
        """What is made of a choice: another target of the same model after a failure, a lot that is drawn, or none at all. Where
        routing is off, errands stay as well; they are neither watched nor drawn by lot."""
        route, notes = self._stand_in(route, failed)
        chances: Mapping[str, float] = {route.target: 1.0} if route.target is not None else {}
        selected: str | None = None
        if overrides.off and (fresh or helper):
            route, _ = shadow(route, session, why="stays at")
            notes = (*notes, "routing is off for this session")
        elif fresh and not helper:
            if self._settings.routing.shadow:
                route, selected = shadow(route, session)
            else:
                route, chances = explore(route, session, self._settings.routing.explore, task_id)
        told = {route.target: 1.0} if route.target is not None and route.target not in chances else chances
        return Planned(route=route, notes=notes, propensities=told, shadow=selected)

    def _stand_in(self, route: Route, failed: Mapping[str, str]) -> tuple[Route, tuple[str, ...]]:
        """After a failure an untried target of the same logical model goes first (section 20.1)."""
        if not failed or route.target is None:
            return route, ()
        if route.target in failed:
            return route, ("all targets that may take it have failed lately",)
        aliases = self._settings.routing.identities
        wanted = {find_identity(target, aliases=aliases).value for target in failed}
        alike = (one.target for one in _open_to(route) if find_identity(one.target, aliases=aliases).value in wanted)
        target = next((one for one in alike if one not in failed), None)
        return (redirect(route, target), ("retry failover",)) if target is not None else (route, ("retry failover",))

    def _informed(
        self,
        asked: Asked,
        turn: Turn,
        known: SessionRoute,
        plain: RouteSession,
        candidates: Sequence[Candidate],
        config: RouteConfig,
        tokens: int,
        *,
        fresh: bool,
    ) -> RouteSession:
        """The session with what is known of tasks like this one, of its targets, and of their providers."""
        previous = None if asked.helper else known.previous
        evidence = gather_evidence(asked.conversation, asked.facts, turn)
        task = known.task
        made = 0
        if task is not None and not asked.helper:
            evidence = replace(evidence, grown_tokens=max(0, tokens - task.began_tokens) if task.began_tokens else 0)
            # The call that has failed is yet to be made.
            made = 0 if fresh else max(0, task.calls - bool(asked.tried))
        _, text = parse_prefix(turn.text, first_turn=plain.first_turn)
        likely = analyze_task(
            text, context_tokens=tokens, previous=previous, evidence=evidence, analyzer=config.analyzer
        )
        grade = asked.graded.verdict
        if grade is not None:
            likely = merge_verdict(likely, grade)
        targets = [one.target for one in candidates]
        signals, preferences = self._signals(likely, targets, asked.now_ms)
        return replace(
            plain,
            habits=Habits(calls=1) if asked.helper else self._habits.of(likely.kinds, made=made),
            previous=previous,
            grade=grade,
            evidence=evidence,
            signals=signals,
            preferences=preferences,
            attempts=self._pools.of(config.pool, asked.now_ms),
        )

    def _signals(
        self, task: TaskProfile, targets: Sequence[str], now_ms: int
    ) -> tuple[Mapping[str, Signals], Mapping[str, float]]:
        signals, preferences = self._learning.signals(task, targets, now_ms)
        return add_quota(signals, targets, self._quotas.signals(now_ms)), preferences


def _check_pool(config: RouteConfig, overrides: Overrides) -> None:
    try:
        active_pool(config)
    except CallError as error:
        set_since = overrides.pool == config.pool
        hint = f"{error.hint} `ullage auto pool --clear` takes back what was set." if set_since else error.hint
        raise RoutingError(error.message, hint=hint, code=error.code) from error


def _open_to(route: Route) -> Sequence[RouteScore]:
    """Whoever may stand in for the chosen target."""
    selection, weighing = route.selection, route.weighing
    if selection is None or weighing is None:
        return route.ranked
    return [one for one in route.ranked if one is selection.chosen or may_stand_for(one, selection, weighing)]


def _for_a_summary(route: Route, asked: Asked, tokens: int, warm: Mapping[str, int]) -> Route:
    """The route to whoever writes the summary for the least (section 22)."""
    candidates = [one.candidate for one in route.ranked]
    ranked = rank_summarizers(candidates, tokens=tokens, reserve=asked.reserve, warm=warm)
    return redirect(route, ranked[0].target, tell_summary(ranked)) if ranked else route


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
