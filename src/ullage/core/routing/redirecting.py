"""A decided route that goes elsewhere than decided: kept where the session is, to watch (routing specification, section 24), or
sent to another target, to learn (section 23.2)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from .route import settle_on
from .selection import stand_for

if TYPE_CHECKING:
    from .route import Route, RouteSession


def redirect(route: Route, target: str, *reasons: str) -> Route:
    """The route to another one of its ranked targets. All that is said is of that one, and nothing of how sure the choice is: it
    was not chosen by its score."""
    selection = route.selection
    assert selection is not None, "a route with ranked targets has one"
    if target == route.target:
        return replace(route, reasons=(*route.reasons, *reasons))
    chosen = next(one for one in selection.ranked if one.target == target)
    settled = settle_on(route, stand_for(selection, chosen), scored=False)
    return replace(settled, reasons=(*settled.reasons, *reasons))


def shadow(route: Route, session: RouteSession, *, why: str = "shadow kept") -> tuple[Route, str | None]:
    """The route that stays at the session's target, and the target that it would have gone to, which may be the same. `why` is
    what the first reason of it begins with.

    It is left as it is, and nothing is told, where the session has no target yet, where that may not take the task, and under a
    pin: what the user names is no choice of ours.
    """
    current, selected = session.current, route.target
    is_ranked = any(one.target == current for one in route.ranked)
    if current is None or not is_ranked or session.pin is not None or route.prefix.pinned:
        return route, None
    if current == selected:
        return route, selected
    return redirect(route, current, f"{why} {current}", f"would select {selected}"), selected
