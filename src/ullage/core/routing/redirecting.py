"""A decided route that goes elsewhere than decided: kept where the session is, to watch (routing specification, section 24), or
sent to another target, to learn (section 23.2)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

if TYPE_CHECKING:
    from .route import Route, RouteSession


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


def shadow(route: Route, session: RouteSession) -> tuple[Route, str | None]:
    """The route that stays at the session's target, and the target that it would have gone to, which may be the same.

    It is left as it is, and nothing is told, where the session has no target yet, where that may not take the task, and under a
    pin: what the user names is no choice of ours.
    """
    current, selected = session.current, route.target
    is_ranked = any(one.target == current for one in route.ranked)
    if current is None or not is_ranked or session.pin is not None or route.prefix.pinned:
        return route, None
    if current == selected:
        return route, selected
    return redirect(route, current, f"shadow kept {current}", f"would select {selected}"), selected
