"""Where a session's next prompt would go: the same way of choosing that requests go, without one (routing specification, 29).

Nothing is sent, nothing is drawn by lot, no small model is asked, and nothing is kept.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import Struct, to_builtins
from msgspec.structs import replace

from ullage.core.profiles.cache_rules import find_cache_rule
from ullage.core.routing.filtering import Limits, Needs, Pin, find_eligible
from ullage.core.routing.report import report_route
from ullage.core.routing.route import active_pool
from ullage.core.routing.turn import Turn
from ullage.core.spend import Spend
from ullage.core.spend.ledger import judge
from ullage.core.spend.telling import budget_line
from ullage.core.spend.worst import worst_cost
from ullage.core.tokens import get_estimator
from ullage.core.wire import parse_request
from ullage.settings.budget import make_spend_limits

from .budgets import session_limits
from .judging import newest_decision
from .pricing import local_day
from .route_fitting import fit_route
from .route_habits import RouteHabits
from .route_planning import Overrides, Planned, RoutePlanning, read_overrides
from .route_pools import PoolAttempts
from .route_state import SessionRoute, SessionRoutes
from .routing import Asked

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ullage.core.routing.filtering import Candidate, Eligible
    from ullage.core.routing.route import Route, RouteConfig
    from ullage.settings import Settings
    from ullage.stores import Reader

    from .health import Health
    from .learning import Learning
    from .quota import Quotas

_EMPTY = parse_request(b'{"model":"auto","messages":[]}', "openai-chat")


class Standing(Struct, frozen=True, kw_only=True):
    """Where a session stands: what routing remembers of it, what was set for it, and the tokens of its newest request with its
    answer. `alias` is the virtual model that it asked for last."""

    session: str
    known: SessionRoute
    overrides: Overrides
    context_tokens: int
    alias: str | None = None


class Preview(Struct, frozen=True, kw_only=True):
    """A route that was planned for a prompt."""

    standing: Standing
    planned: Planned

    def report(self) -> dict[str, Any]:
        """As programs get it: the report of a route, and that it is none that was gone."""
        report: dict[str, Any] = to_builtins(report_route(self.planned.route))
        return {**report, "notes": list(self.planned.notes), "session": self.standing.session or None, "sent": False}


class Previewing:
    """Plans routes beside the requests. `learning`, `quotas` and `health` tell what is known of targets and providers."""

    def __init__(
        self, settings: Settings, reader: Reader, *, learning: Learning, quotas: Quotas, health: Health
    ) -> None:
        self._settings = replace(settings, routing=replace(settings.routing, explore=0.0))
        self._reader = reader
        self._learning = learning
        self._quotas = quotas
        self._health = health

    def stand(self, session: str) -> Standing:
        """Where a session stands; one that is not known, or none, is at its beginning. Raises `StoreError`."""
        record = self._reader.find_session(session) if session else None
        routes = SessionRoutes()
        routes.recall([record] if record is not None else [])
        newest = newest_decision(self._reader, session) if session else None
        known = routes.find(session)
        return Standing(
            session=session,
            known=known,
            overrides=read_overrides(self._reader.route_overrides(session)),
            context_tokens=_tokens_of(newest.usage, newest.estimated_input_tokens) if newest is not None else 0,
            alias=known.task.alias if known.task is not None else None,
        )

    def config(self, standing: Standing) -> RouteConfig:
        """What holds for the session's next request. Raises `CallError` for an alias that there is no more."""
        return self._planning().config(standing.alias, standing.overrides)

    def eligible(self, standing: Standing, candidates: Sequence[Candidate], *, now_ms: int) -> Eligible:
        """Who could take the session's next request, if it were no longer than the newest one."""
        config = self.config(standing)
        pin = standing.overrides.pin
        needs = Needs(context_tokens=standing.context_tokens, minimum_tier=config.minimum_tier)
        return find_eligible(
            candidates,
            Limits(
                needs=needs,
                constraints=config.constraints,
                scope=config.scope,
                pin=Pin(target=pin, kind="manual") if pin is not None else None,
                open_circuits=self._health.circuits((one.target for one in candidates), now_ms),
                pool=active_pool(config),
            ),
        )

    def plan(
        self, prompt: str, standing: Standing, candidates: Sequence[Candidate], *, now_ms: int, images: int = 0
    ) -> Preview:
        """The route of a prompt that comes next in a session. Raises `UllageError` for settings that make no sense."""
        known, tokens = standing.known, standing.context_tokens + self._count(prompt)
        asked = Asked(
            session=standing.session,
            helper=False,
            counting=False,
            rewritten=False,
            alias=standing.alias,
            conversation=_EMPTY,
            facts=(),
            hashes=(),
            client_key=True,
            now_ms=now_ms,
            tokens=lambda _: tokens,
            warm=lambda: self._warm(standing.session, now_ms),
        )
        turn = Turn(index=None, text=prompt, images=images, first=known.current is None, going_on=False, loop=False)
        planning = self._planning()

        def plan(tokens: int) -> Planned:
            return planning.plan(
                asked,
                turn,
                known,
                candidates,
                overrides=standing.overrides,
                failed=known.failures(now_ms),
                tokens=tokens,
                task_id="",
                fresh=True,
            )

        is_fitted = self._settings.mode == "managed"
        least_share = self._settings.routing.cost.least_share
        planned = fit_route(plan, candidates, tokens, least_share) if is_fitted else plan(tokens)
        told = self._judge(planned.route, standing.session, tokens, now_ms)
        notes = (*planned.notes, f"budget: {told}") if told else planned.notes
        return Preview(standing=standing, planned=replace(planned, notes=notes))

    def _judge(self, route: Route, session: str, tokens: int, now_ms: int) -> str:
        """What limits of spending say of a call to the chosen target, as long as the task asks for; empty where they say nothing.
        What is reserved before a call is sent is more: the longest answer that it may have."""
        limits = session_limits(self._reader, make_spend_limits(self._settings.budget), session)
        if route.selection is None or not limits.are_set:
            return ""
        chosen = route.selection.chosen.candidate
        model, rule = chosen.model, find_cache_rule(chosen.model.provider, chosen.model.id)
        output = route.task.required_output_tokens
        spend = Spend(
            id="",
            at_ms=now_ms,
            day=local_day(now_ms),
            provider=model.provider,
            model=model.id,
            session=session or None,
            estimate=worst_cost(chosen.price.prices, rule, input_tokens=tokens, output_tokens=output),
        )
        return budget_line(judge(limits, spend, self._reader.ledger.find_totals(spend.keys)))

    def _planning(self) -> RoutePlanning:
        habits = RouteHabits()
        habits.recall(self._reader.attempts())
        return RoutePlanning(
            self._settings,
            quotas=self._quotas,
            learning=self._learning,
            health=self._health,
            habits=habits,
            pools=PoolAttempts(self._settings, self._reader),
        )

    def _count(self, text: str) -> int:
        return get_estimator(self._settings.calibration.estimator).text(text)

    def _warm(self, session: str, now_ms: int) -> Mapping[str, int]:
        """Tokens of the session that each target's cache still holds."""
        if not session:
            return {}
        held = (one for one in self._reader.prefixes() if one.session == session)
        return {f"{one.provider}/{one.model}": one.tokens for one in held if one.used_ms + one.ttl_ms > now_ms}


def _tokens_of(usage: Mapping[str, Any] | None, estimated: int | None) -> int:
    """Tokens that the next request repeats: a prompt and its answer."""
    parts = ("input_fresh", "cache_read", "cache_write", "output")
    known = sum((usage or {}).get(part) or 0 for part in parts)
    return known or estimated or 0
