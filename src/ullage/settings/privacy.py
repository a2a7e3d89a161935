"""How far a project may go with privacy: it may keep more back than the user does, never less (design, section 10)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ullage.core.privacy.classes import CLASSES

from .catalog import catalog

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from .provenance import Choice

SECTION = "privacy"
REMOTE_PROVIDERS = f"{SECTION}.remote_providers"
ALLOWED = "allowed"
"""The one field of a remote provider; its value may stand for the provider's table."""

DEFAULT_ALLOWED = f"{SECTION}.remote_default_allowed"
LOCAL_PROVIDERS = f"{SECTION}.local_providers"


def _at_least(value: bool, held: bool) -> bool:
    return value or not held


def is_among(value: tuple[str, ...], held: tuple[str, ...]) -> bool:
    """Whether a list of classes or providers names nothing that is not in the other one."""
    return {name.lower() for name in value} <= {name.lower() for name in held}


def _as_high(value: str, held: str) -> bool:
    order: tuple[str, ...] = CLASSES
    return order.index(value) >= order.index(held)


_IS_AS_STRICT: Mapping[str, Callable[[Any, Any], bool]] = {
    f"{SECTION}.enabled": _at_least,
    f"{SECTION}.default_classification": _as_high,
    LOCAL_PROVIDERS: is_among,
    DEFAULT_ALLOWED: is_among,
    f"{SECTION}.redact_secrets": _at_least,
}
PROJECT_RAISES = frozenset(_IS_AS_STRICT)
"""Settings that a project may make stricter."""


def is_of_privacy(key: str) -> bool:
    """Whether a setting belongs to the section, by its dotted key."""
    return key.startswith(f"{SECTION}.")


def is_as_strict(key: str, value: Any, held: Any) -> bool:
    """Whether a value keeps back at least what the one that holds without the project does."""
    return _IS_AS_STRICT[key](value, held)


def refuse_provider_to_project(
    name: str, value: tuple[str, ...], below: Mapping[str, Choice]
) -> tuple[str, str] | None:
    """Why a project's file may not allow a provider these classes, and what else to do. `below` is what the user has set."""
    of_user = below.get(f"{REMOTE_PROVIDERS}.{name}")
    if of_user is not None:
        held: tuple[str, ...] = tuple(of_user.value.get(ALLOWED, ()))
    else:
        default = below.get(DEFAULT_ALLOWED)
        held = catalog()[DEFAULT_ALLOWED].default if default is None else default.value
    if is_among(value, held):
        return None
    return (
        f"A project file may only take classes from {REMOTE_PROVIDERS}.{name}, which has {', '.join(held) or 'none'}.",
        "More belongs in the user's own file.",
    )
