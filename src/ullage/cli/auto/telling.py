"""A choice in the few lines of `ullage auto why` and `ullage auto plan`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ullage.cli.routed_text import failed_attempts, tell_switch
from ullage.core.terminal import safe

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


def tell_choice(route: Mapping[str, Any]) -> Iterator[str]:
    """Target, thinking, policy, reasons, and the utility times 100, which is a rule of thumb and no probability."""
    if route.get("target") is None:
        stop = route.get("stop") or {}
        yield f"none  {safe(stop.get('message', 'no model could take it'))} ({stop.get('code', '?')})"
        if stop.get("hint"):
            yield f"hint: {safe(stop['hint'])}"
        return
    yield f"{safe(route['target'])} · thinking {route.get('thinking', 'off')} · policy {route.get('policy', '?')}"
    yield from (safe(f"asked was {attempt}") for attempt in failed_attempts(route))
    reasons = [*(route.get("reasons") or ()), *(route.get("notes") or ())]
    if reasons:
        yield safe(", ".join(reasons))
    utility = utility_of(route)
    if utility is not None:
        yield f"utility {100 * utility:.1f} (heuristic)"
    yield from map(safe, tell_switch(route.get("switch")))


def utility_of(route: Mapping[str, Any]) -> float | None:
    """The score of the target; `None` where it was not weighed."""
    return next((one["score"] for one in route.get("ranked") or () if one["target"] == route.get("target")), None)
