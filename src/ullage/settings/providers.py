"""The providers that routed requests may go to: the well-known ones, and what the user says of them and of others."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from msgspec import Struct
from msgspec.structs import replace

from ullage.core.errors import SettingsError
from ullage.core.privacy.hosts import is_loopback
from ullage.core.wire.conversation import Dialect

from .credentials import KEY_VARIABLES, Credential, find_credential, read_key
from .upstreams import provider_root
from .well_known import WELL_KNOWN

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from .records import Settings
    from .routing import ProviderSettings


class Provider(Struct, frozen=True, kw_only=True):
    """A provider that can be reached. `models` are the ids it is said to offer, empty where nobody says.

    Without a `credential` it is asked without one, as local servers expect, or, where `problem` says so, not at all.
    """

    name: str
    root: str
    dialects: tuple[Dialect, ...]
    models: tuple[str, ...] = ()
    credential: Credential | None = None
    problem: str = ""

    @property
    def loopback(self) -> bool:
        return is_loopback(urlsplit(self.root).hostname or "")


def find_providers(settings: Settings, environ: Mapping[str, str]) -> tuple[Provider, ...]:
    """All providers with a key of their own, of this machine, or named in the settings; in the order of their names."""
    return tuple(sorted(_find(settings.providers, environ), key=lambda one: one.name))


def _find(named: Mapping[str, ProviderSettings], environ: Mapping[str, str]) -> Iterator[Provider]:
    for name in {**WELL_KNOWN, **named}:
        said, known = named.get(name), WELL_KNOWN.get(name)
        root = provider_root(said.url) if said is not None and said.url else known.root if known else ""
        dialects = (said.dialects if said is not None else ()) or (known.dialects if known else ())
        if not root or not dialects:
            continue
        provider = Provider(name=name, root=root, dialects=dialects, models=said.models if said is not None else ())
        usual = known.key if known is not None else ""
        found = _with_key(provider, (said.key if said is not None else "") or usual, environ)
        if said is not None or found.credential is not None:
            yield found


def _with_key(provider: Provider, key: str, environ: Mapping[str, str]) -> Provider:
    """The provider with its key, or with why it has none."""
    if key == "none" or (not key and provider.loopback and provider.name not in KEY_VARIABLES):
        return provider
    try:
        found = find_credential(provider.name, environ) if not key else read_key(key, environ)
    except SettingsError as error:
        return replace(provider, problem=f"{error.message} {error.hint}".rstrip())
    if found is not None:
        return replace(provider, credential=found)
    if key:
        kind, _, place = key.partition(":")
        missing = f"{place} is not set." if kind == "env" else f"The keyring has no password for {place}."
        return replace(provider, problem=missing)
    variables = KEY_VARIABLES.get(provider.name)
    wanted = " or ".join(variables) if variables else f"providers.{provider.name}.key"
    return replace(provider, problem=f"Set {wanted}.")
