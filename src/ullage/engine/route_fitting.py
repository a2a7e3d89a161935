"""Where a prompt goes that a plan makes fit: reducing the context and choosing the target are one decision.

Routing specification, section 33, number 12, and section 34.6.
"""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING

from msgspec.structs import replace

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ullage.core.routing.filtering import Candidate

    from .route_planning import Planned


def fit_route(
    plan: Callable[[int], Planned], candidates: Sequence[Candidate], tokens: int, least_share: float
) -> Planned:
    """The route of a prompt of so many tokens, by `plan`, which makes one for as many as it is told.

    Where the one that is pinned, all of the pool, or all there are have too small a window, it goes to whoever has room for the
    most of it. Under `cost` it may also go to one that has room for `least_share` of it or more, where what is left is expected
    to cost less there than all of it elsewhere: what is left out may be missed, so that is for the user to say, and for nobody
    who said nothing (1). Nothing is reduced on account of a price that is not known.
    """
    whole = plan(tokens)
    rooms = _rooms(whole, candidates, tokens)
    if whole.route.target is None:
        reduced = (_reduced(plan, room, tokens) for room in sorted(set(rooms.values()), reverse=True))
        return next((one for one in reduced if one.route.target is not None), whole)
    if whole.route.policy != "cost" or _usd(whole) == inf:
        return whole
    fair = {room for room in rooms.values() if least_share * tokens <= room < tokens}
    cheaper = (one for room in fair if (one := _reduced(plan, room, tokens)).route.target in rooms)
    best = min((whole, *cheaper), key=_usd)
    if best is whole:
        return whole
    saved = f"${_usd(best):.4f} in place of ${_usd(whole):.4f} for all of it at {whole.route.target}"
    return replace(best, notes=(*best.notes, f"reduced for the price: {saved}"))


def _rooms(planned: Planned, candidates: Sequence[Candidate], tokens: int) -> Mapping[str, int]:
    """Of each target that is out for its window alone: the longest context that it holds, by the margin of the hard fit (section
    6)."""
    task = planned.route.task
    beside = task.required_context_tokens - tokens
    small = {one.target for one in planned.route.excluded if one.code == "window-too-small"}
    rooms = {
        one.target: 100 * ((one.model.context_window or 0) - task.required_output_tokens) // 115 - beside
        for one in candidates
        if one.target in small
    }
    return {target: room for target, room in rooms.items() if room > 0}


def _reduced(plan: Callable[[int], Planned], room: int, tokens: int) -> Planned:
    planned = plan(min(room, tokens))
    note = f"{planned.route.target} gets what fits of {tokens:,} tokens, about {room:,}"
    return replace(planned, notes=(*planned.notes, note))


def _usd(planned: Planned) -> float:
    ranked = planned.route.ranked
    return inf if not ranked or ranked[0].cost_usd is None else ranked[0].cost_usd
