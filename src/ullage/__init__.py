"""ullage: see, fit and steer what a coding agent sends to a model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._version import __version__

if TYPE_CHECKING:
    from .library import (
        Breakdown,
        Conversation,
        Evidence,
        ModelOverride,
        ModelProfile,
        ModelRecord,
        Plan,
        Reference,
        Route,
        RouteConfig,
        RouteSession,
        Session,
        Settings,
        Supplement,
        account,
        parse_request,
        plan,
        read_session,
        render,
        resolve_profile,
        resolve_route,
        shorten_results,
    )

__all__ = [
    "Breakdown",
    "Conversation",
    "Evidence",
    "ModelOverride",
    "ModelProfile",
    "ModelRecord",
    "Plan",
    "Reference",
    "Route",
    "RouteConfig",
    "RouteSession",
    "Session",
    "Settings",
    "Supplement",
    "__version__",
    "account",
    "parse_request",
    "plan",
    "read_session",
    "render",
    "resolve_profile",
    "resolve_route",
    "shorten_results",
]


def __getattr__(name: str) -> Any:
    """The library is loaded when something of it is asked for: commands start without it."""
    if name.startswith("_") or name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from . import library

    return getattr(library, name)
