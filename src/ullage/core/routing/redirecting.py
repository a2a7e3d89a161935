"""A decided route that goes elsewhere than decided: kept where the session is, to watch (routing specification, section 24), or
sent to another target, to learn (section 23.2)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

if TYPE_CHECKING:
    from .route import Route, RouteSession


class Shadow(Struct, frozen=True, kw_only=True):
    """What would have been chosen in the place of the target that was kept.

    The USD are what all calls left were expected to cost at each; `None` where no price is known.
    """

    kept: str
    selected: str
    kept_usd: float | None
    selected_usd: float | None


def redirect(route: Route, target: str, *reasons: str) -> Route:
    """The route to another one of its ranked targets. What is said of the choice stays: margin and doubt are of the first one."""
    selection = route.selection
    assert selection is not None, "a route with ranked targets has one"
    chosen = next(one for one in selection.ranked if one.target == target)
    return replace(
        route,
        target=target,
        thinking=route.thinking_for(chosen),
        reasons=(*route.reasons, *reasons),
        selection=replace(selection, ranked=(chosen, *(one for one in selection.ranked if one is not chosen))),
    )


def shadow(route: Route, session: RouteSession) -> tuple[Route, Shadow | None]:
    """The route that stays at the session's target, and what it would have been.

    It is left as it is where the session has no target yet, where that may not take the task, and under a pin: what the user
    names is no choice of ours.
    """
    current = session.current
    scores = {one.target: one for one in route.ranked}
    if current not in scores or route.target is None or session.pin is not None or route.prefix.pinned:
        return route, None
    told = Shadow(
        kept=current,
        selected=route.target,
        kept_usd=scores[current].cost_usd,
        selected_usd=scores[route.target].cost_usd,
    )
    if current == route.target:
        return route, told
    return redirect(route, current, f"shadow kept {current}", f"would select {route.target}"), told
