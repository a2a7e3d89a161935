"""The route of a prompt where planning itself fails: by the hard limits alone, without reading the prompt for what it asks.

Routing specification, section 20.2. What stops a route on purpose stops this one as well: the same filters decide it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from ullage.core.errors import UllageError

from .filtering import Limits, Needs, Pin, find_eligible, set_aside
from .prefix import parse_prefix
from .route import NEW_SESSION, NO_CONFIG, Route, active_pool
from .scoring import NO_SIGNALS, Situation, score
from .selection import Selection
from .task import Demand, Semantic, TaskProfile
from .thinking import fit_level

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from .exclusions import Excluded
    from .filtering import Candidate
    from .route import RouteConfig, RouteSession
    from .scoring import RouteScore
    from .thinking import Level

FAULTS = 3
"""After so many failures in a row planning is not tried for `PAUSE_MS`."""
PAUSE_MS = 60_000
MAX_ATTEMPTS = 3
"""Targets that are named, unless it is configured otherwise (section 31)."""
REASON = "fail-safe"

_SPENT = ("blocked", "cooldown")
_LEAST_TOKENS, _OUTPUT_TOKENS = 1_024, 4_096
_LETTERS_A_TOKEN = 4
_HALF = 0.5
_LEVEL: Level = "medium"


class Faults(Struct, frozen=True, kw_only=True):
    """How planning has failed lately. `until_ms` is when it is tried again, epoch milliseconds."""

    in_a_row: int = 0
    until_ms: int = 0

    def pausing(self, now_ms: int) -> bool:
        """Whether the fail-safe route is taken without trying to plan."""
        return now_ms < self.until_ms

    def failed(self, now_ms: int) -> Faults:
        """After one more failure."""
        count = self.in_a_row + 1
        return Faults(in_a_row=count, until_ms=now_ms + PAUSE_MS if count >= FAULTS else 0)


NO_FAULTS = Faults()
"""Also what a plan that was made leaves behind."""


def route_safely(
    plan: Callable[[], Route], fallback: Callable[[], Route], faults: Faults, now_ms: int
) -> tuple[Route, Faults, Exception | None]:
    """The planned route, or the fallback where planning fails or has failed too often; how it has failed from now on; the failure
    to be reported. What planning refuses on purpose (`UllageError`) is raised."""
    if faults.pausing(now_ms):
        return fallback(), faults, None
    try:
        return plan(), NO_FAULTS, None
    except UllageError:
        raise
    except Exception as error:  # noqa: BLE001 - whatever is wrong with planning must not cost the request
        return fallback(), faults.failed(now_ms), error


def failsafe_route(
    candidates: Iterable[Candidate],
    prompt: str,
    *,
    context_tokens: int = 0,
    images: int = 0,
    session: RouteSession = NEW_SESSION,
    config: RouteConfig = NO_CONFIG,
    last_good: str | None = None,
    max_attempts: int = MAX_ATTEMPTS,
) -> Route:
    """A route within scope, constraints, pins, least tier, fit, circuits, pool and quotas; balanced, and by no rule.

    `last_good` is the target that answered last: it comes first where it is eligible. At most `max_attempts` targets are ranked.
    Raises `CallError` for a pool that there is not, as planning does.
    """
    prefix, text = parse_prefix(prompt, first_turn=session.first_turn)
    task = _plain_task(text, context_tokens, images)
    manual = session.pin is not None
    pinned = session.pin or prefix.model
    eligible = find_eligible(
        candidates,
        Limits(
            needs=Needs(
                context_tokens=max(context_tokens, task.required_context_tokens),
                output_tokens=task.required_output_tokens,
                images=images > 0,
                minimum_tier=config.minimum_tier,
                pinned_tier=prefix.minimum_tier,
            ),
            constraints=config.constraints,
            scope=config.scope,
            pin=Pin(target=pinned, kind="manual" if manual else "prompt") if pinned is not None else None,
            open_circuits=session.circuits,
            pool=active_pool(config),
            untranslatable=session.untranslatable,
        ),
    )
    left, excluded = _set_aside(eligible.candidates, session)
    level = config.thinking or config.host_thinking or _LEVEL
    route = Route(
        target=None,
        thinking="off",
        demanded_thinking=level,
        policy="balanced",
        task=task,
        prompt=text,
        prefix=prefix,
        excluded=(*eligible.excluded, *excluded),
        rule=None,
        verdicts=(),
        warnings=(*eligible.warnings, "the task was not analyzed: this is the fail-safe route"),
        reasons=(REASON,),
        stop=eligible.stop,
    )
    if not left:
        return route
    ranked = _rank(left, task, session, last_good)[:max_attempts]
    chosen = ranked[0]
    model = chosen.candidate.model
    return replace(
        route,
        target=chosen.target,
        thinking=fit_level(level, reasoning=model.reasoning is not False, levels=model.thinking_levels),
        reasons=(REASON, "last known good") if chosen.target == last_good else (REASON,),
        selection=Selection(
            ranked=ranked, kept=None, margin=None, interval=None, confidence=None, rival=None, flips=()
        ),
    )


def _set_aside(
    candidates: Sequence[Candidate], session: RouteSession
) -> tuple[tuple[Candidate, ...], tuple[Excluded, ...]]:
    """Without those that failed for this task, and without providers whose quota is spent; each unless nobody would be left."""
    left, failed = set_aside(candidates, "failover", session.failed)
    spent = {
        one.target: f"the quota of {one.model.provider} is spent ({quota})"
        for one in left
        if (quota := session.signals.get(one.target, NO_SIGNALS).quota) in _SPENT
    }
    left, blocked = set_aside(left, "quota", spent)
    return left, (*failed, *blocked)


def _rank(
    candidates: Sequence[Candidate], task: TaskProfile, session: RouteSession, last_good: str | None
) -> tuple[RouteScore, ...]:
    """The last one that was good, then by utility. Of what is learned nothing counts: it may be what planning fails by."""
    found = score(candidates, task, "balanced", Situation(context=0, current=session.current))
    return tuple(sorted(found, key=lambda one: (one.target != last_good, -one.utility, one.target)))


def _plain_task(text: str, context_tokens: int, images: int) -> TaskProfile:
    """A task that nothing is known of but its size: it asks for half of everything."""
    plain = len(text.encode("ascii", "ignore"))
    tokens = -(-plain // _LETTERS_A_TOKEN) + len(text) - plain
    return TaskProfile(
        kinds=("mixed",),
        complexity=_HALF,
        demand=Demand(
            coding=_HALF,
            reasoning=_HALF,
            tool_use=_HALF,
            instruction_following=_HALF,
            context=_HALF,
            vision=float(images > 0),
        ),
        semantic=Semantic(debugging=0, planning=0, architecture=0, review=0, generation=0, explanation=0),
        risk=_HALF,
        latency_sensitivity=_HALF,
        cost_sensitivity=_HALF,
        confidence=0.0,
        requires_vision=images > 0,
        required_context_tokens=context_tokens + max(tokens, _LEAST_TOKENS),
        required_output_tokens=_OUTPUT_TOKENS,
    )
