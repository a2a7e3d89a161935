"""Which source a field comes from: overrides first, then exact ids, then similar models, each in the order of the sources."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from .facts import Layer
    from .overrides import ModelOverride

_RANKS = {"litellm": 0, "genai-prices": 1, "provider": 2}


class Provenance(Struct, frozen=True, kw_only=True):
    """Where the value of one field comes from. `detail` is for people: an override's key, or the id in the source and its age.
    `exact` is false for what a source says of a similar model only."""

    source: Literal["override", "client", "litellm", "genai-prices", "provider", "default", "unknown"]
    detail: str = ""
    exact: bool = True


class Found(NamedTuple):
    """A value and where it comes from."""

    value: Any
    origin: Provenance


UNKNOWN = Found(None, Provenance(source="unknown"))


class Said:
    """What the overrides say of `key` (`provider/model`), field by field: `*`, then `provider/*`, then the key; later wins.

    The provider ends at the first slash (planner specification, section 3.1). `keys` are those that matched, in that order.
    """

    def __init__(self, key: str, overrides: Mapping[str, ModelOverride]) -> None:
        provider = key.partition("/")[0]
        self.keys = tuple(name for name in ("*", f"{provider}/*", key) if name in overrides)
        self._entries = [(name, overrides[name]) for name in reversed(self.keys)]

    def find(self, field: str) -> Found | None:
        """The value of the most particular key that has one."""
        for key, entry in self._entries:
            value = getattr(entry, field, None)
            if value is not None:
                return Found(value, Provenance(source="override", detail=key))
        return None


def in_order(layers: Iterable[Layer]) -> list[Layer]:
    """The layers as they decide: exact ones before others, each in the order of the sources."""
    return sorted(layers, key=lambda layer: (not layer.exact, _RANKS[layer.source]))


def choose(field: str, said: Said, ordered: Iterable[Layer]) -> Found:
    """The field as an override or the first layer has it."""
    overridden = said.find(field)
    if overridden is not None:
        return overridden
    for layer in ordered:
        value = getattr(layer.facts, field, None)
        if value is not None:
            return Found(value, credit(layer))
    return UNKNOWN


def credit(layer: Layer, note: str = "", *, exact: bool = True) -> Provenance:
    """The layer as the source of a value. `exact` off marks a value that rests on a similar model elsewhere as well."""
    name = f"{layer.matched} ({layer.as_of})" if layer.as_of else layer.matched
    return Provenance(source=layer.source, detail=f"{name}: {note}" if note else name, exact=exact and layer.exact)
