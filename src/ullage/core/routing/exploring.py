"""How likely each target was to get a task, and the few tasks that try another target than the best.

Routing specification, section 23.2. By default nothing is tried, and the chosen target has the propensity 1: then nobody can
learn what the others would have made of the task. Only tasks that were drawn by lot show that, and their propensities say how
much each of them counts.
"""

from __future__ import annotations

import hashlib
from math import exp
from typing import TYPE_CHECKING

from .redirecting import redirect
from .selection import QUALITY_GAP, may_stand_for

if TYPE_CHECKING:
    from .route import Route, RouteSession
    from .scoring import RouteScore
    from .selection import Selection, Weighing
    from .weights import Policy

TEMPERATURE = 0.05
"""By how much less utility (cost term, for the policy `cost`) a target is tried e times as rarely: about what separates
neighbours in the worked examples."""

_DIGITS = 6


def propensities(selection: Selection, weighing: Weighing, share: float) -> dict[str, float]:
    """How likely each target is to get the task, the chosen one first; who has no chance is left out. They add up to 1.

    `share` is the part of tasks that try another target. It is shared out, by what the policy orders by, among those whose work
    is expected to be little worse than the chosen one's, and which neither a guard nor the floor of `cost` bars.
    """
    chosen, *others = selection.ranked
    tried = [one for one in others if _is_tried(one, selection, weighing)] if share > 0 else []
    if not tried:
        return {chosen.target: 1.0}
    worth = [_worth(one, weighing.policy) for one in tried]
    weights = [exp((one - max(worth)) / TEMPERATURE) for one in worth]
    whole = sum(weights)
    chances = {chosen.target: 1 - share}
    chances |= {one.target: share * weight / whole for one, weight in zip(tried, weights, strict=True)}
    return chances


def _is_tried(one: RouteScore, selection: Selection, weighing: Weighing) -> bool:
    little_worse = one.terms.quality > selection.chosen.terms.quality - QUALITY_GAP
    return little_worse and may_stand_for(one, selection, weighing)


def _worth(one: RouteScore, policy: Policy) -> float:
    return one.terms.cost if policy == "cost" else one.utility


def draw(chances: dict[str, float], ticket: float) -> str:
    """The target that a ticket from 0 up to 1 falls to."""
    passed = 0.0
    for target, chance in chances.items():
        passed += chance
        if ticket < passed:
            return target
    return next(iter(chances))  # the chances may lack a last digit of 1


def ticket_of(task_id: str) -> float:
    """The ticket of a task, from 0 up to 1: the same for the same task."""
    return int.from_bytes(hashlib.sha256(task_id.encode("utf-8", "replace")).digest()[:6]) / 2.0**48


def explore(route: Route, session: RouteSession, share: float, task_id: str) -> tuple[Route, dict[str, float]]:
    """The route of a task, and its propensities. A part of tasks, `share`, tries another target.

    Nothing is tried where the user named a target or asked for a stronger or cheaper one, nor where a target is held warm for the
    session: that would cost money beside.
    """
    if route.selection is None:
        return route, {}
    if route.weighing is None:
        return route, {route.ranked[0].target: 1.0}
    is_free = session.pin is None and not route.prefix.pinned and not route.prefix.bump
    is_free = is_free and (session.current is None or session.cold)
    chances = propensities(route.selection, route.weighing, share if is_free else 0.0)
    drawn = draw(chances, ticket_of(task_id))
    told = {target: round(chance, _DIGITS) for target, chance in chances.items()}
    if drawn != route.target:
        route = redirect(route, drawn, f"tried instead of {route.target}, to learn")
    return route, told
