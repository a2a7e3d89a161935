"""What holds for the routes of a session, and who said so: the session's own setting, the one for all, or the settings file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import Struct

from .place import EVERY_SESSION

if TYPE_CHECKING:
    from .place import Place

OF_SESSION, OF_ALL, OF_SETTINGS = "session", "all sessions", "settings"


class Held(Struct, frozen=True, kw_only=True):
    """A value with who said so. `None` is none."""

    value: Any
    source: str


def hold(place: Place) -> dict[str, Held]:
    """By key, as of `engine.steering`. Raises `StoreError`."""
    from ullage.engine.steering import KEYS

    routing = place.settings.routing
    usual: dict[str, Any] = {
        "activation": "active",
        "policy": routing.policy,
        "pin": None,
        "pool": routing.pool or None,
        "thinking": routing.thinking,
    }
    everyone = place.store.route_overrides(EVERY_SESSION)
    merged = place.store.route_overrides(place.session)
    found: dict[str, Held] = {}
    for key in KEYS:
        if key not in merged:
            found[key] = Held(value=usual[key], source=OF_SETTINGS)
            continue
        source = OF_ALL if everyone.get(key) == merged[key] else OF_SESSION
        found[key] = Held(value=merged[key] or None, source=source)
    return found


def told(held: Held, none: str = "none") -> str:
    """The value with its source, for people."""
    value = none if held.value is None else held.value
    return f"{value}  ({held.source})" if held.source != OF_SETTINGS else str(value)
