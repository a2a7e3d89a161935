"""Catalogues know providers by common names and addresses; here they are asked by the names that the settings give them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ullage.catalogs.providers import find_provider
from ullage.settings import provider_root
from ullage.settings.well_known import WELL_KNOWN
from ullage.upstream import provider_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ullage.core.profiles import Layer
    from ullage.settings import Settings

    from .knowledge import Sources


def source_name(name: str, root: str) -> str:
    """What catalogues call a provider: by its name if they know it, whatever its address, else as its address is known."""
    return name if find_provider(name) is not None else provider_of(root)


def name_sources(sources: Sources, settings: Settings) -> Sources:
    """The same sources, that answer to the names of the settings' providers too."""
    names = {}
    for name, said in settings.providers.items():
        root = provider_root(said.url) if said.url else WELL_KNOWN[name].root
        names[name] = source_name(name, root)
    return _NamedSources(sources, names) if names else sources


class _NamedSources:
    def __init__(self, sources: Sources, names: Mapping[str, str]) -> None:
        self._sources = sources
        self._names = names

    def layers(self, provider: str, model: str) -> Sequence[Layer]:
        return self._sources.layers(self._names.get(provider, provider), model)

    def note_models(self, provider: str, payload: bytes) -> None:
        self._sources.note_models(self._names.get(provider, provider), payload)
