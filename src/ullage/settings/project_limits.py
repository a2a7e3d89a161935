"""What a project allows, where names of one's own and pools would lead past it (routing specification, section 31)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .provenance import Choice
from .routing_checks import POOLS, tighten

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .layers import Layer

_MODELS, _INCLUDED, _POOL = "routing.models", "routing.constraints.model_include", "routing.pool"
_NO_MEMBER = {"": 1.0}
"""Members of a pool that no target and no provider is."""


def keep_to_models(layer: Layer, accepted: Mapping[str, Choice], below: Mapping[str, Choice]) -> dict[str, Choice]:
    """A project's `routing.models` as a constraint as well: an alias, a pin or the classifier's target may stand in place of the
    scope, and none of them leads past a constraint. `accepted` is what may be used of the layer, `below` what is set without it.
    """
    if layer.kind != "project" or _MODELS not in accepted:
        return {}
    models = next(tuple(entry.value) for entry in layer.entries if entry.key == _MODELS)
    if not models:
        return {}
    held = accepted.get(_INCLUDED) or below.get(_INCLUDED)
    included = tighten(_INCLUDED, models, held.value if held is not None else ())
    return {_INCLUDED: Choice(included, accepted[_MODELS].source)}


def keep_to_pool(chosen: Mapping[str, Choice]) -> dict[str, Choice]:
    """Where a project has chosen a pool, all others with only those of their members that this one has too."""
    active = chosen.get(_POOL)
    if active is None or active.source.kind != "project":
        return {}
    kept = chosen.get(f"{POOLS}.{active.value}")
    if kept is None:
        return {}
    return {
        key: Choice(_within(choice.value, kept.value), choice.source)
        for key, choice in chosen.items()
        if key.startswith(f"{POOLS}.") and choice is not kept
    }


def _within(pool: Mapping[str, Any], outer: Mapping[str, Any]) -> dict[str, Any]:
    """The pool with its own weights; others stand in only where both admit them."""
    found = dict(pool)
    for members in ("targets", "providers"):
        own, allowed = pool.get(members) or {}, outer.get(members) or {}
        if own and allowed:
            found[members] = {name: weight for name, weight in own.items() if name in allowed} or _NO_MEMBER
        elif allowed:
            found[members] = dict.fromkeys(allowed, 1.0)
    if outer.get("fallback") != "any":
        found.pop("fallback", None)
    return found
