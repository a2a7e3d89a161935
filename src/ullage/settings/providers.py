"""The providers that routed requests may go to: the well-known ones, and what the user says of them and of others.

Roots and dialects are those of the providers' own manuals.
"""

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

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from .records import Settings
    from .routing import ProviderSettings


class KnownProvider(Struct, frozen=True, kw_only=True):
    """A provider whose address everybody may know. `root` has no API version."""

    root: str
    dialects: tuple[Dialect, ...]


WELL_KNOWN: dict[str, KnownProvider] = {
    "openai": KnownProvider(root="https://api.openai.com", dialects=("openai-chat", "openai-responses")),
    "anthropic": KnownProvider(root="https://api.anthropic.com", dialects=("anthropic",)),
    "google": KnownProvider(root="https://generativelanguage.googleapis.com", dialects=("gemini",)),
    "openrouter": KnownProvider(root="https://openrouter.ai/api", dialects=("openai-chat",)),
    "deepseek": KnownProvider(root="https://api.deepseek.com", dialects=("openai-chat",)),
    "mistral": KnownProvider(root="https://api.mistral.ai", dialects=("openai-chat",)),
    "groq": KnownProvider(root="https://api.groq.com/openai", dialects=("openai-chat",)),
    "xai": KnownProvider(root="https://api.x.ai", dialects=("openai-chat", "openai-responses")),
    "ollama": KnownProvider(root="http://127.0.0.1:11434", dialects=("openai-chat",)),
    "llama.cpp": KnownProvider(root="http://127.0.0.1:8080", dialects=("openai-chat",)),
    "vllm": KnownProvider(root="http://127.0.0.1:8000", dialects=("openai-chat",)),
    "lm-studio": KnownProvider(root="http://127.0.0.1:1234", dialects=("openai-chat",)),
}
"""By name. Those of this machine count where the settings name them."""


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
        found = _with_key(provider, said.key if said is not None else "", environ)
        if said is not None or found.credential is not None:
            yield found


def _with_key(provider: Provider, key: str, environ: Mapping[str, str]) -> Provider:
    """The provider with its key, or with why it has none."""
    if key == "none" or (not key and provider.loopback and provider.name not in KEY_VARIABLES):
        return provider
    try:
        found = find_credential(provider.name, environ) if not key else read_key(key, environ)
    except SettingsError as error:
        return replace(provider, problem=error.message)
    if found is not None:
        return replace(provider, credential=found)
    variables = KEY_VARIABLES.get(provider.name)
    return replace(
        provider, problem=f"Set {' or '.join(variables)}." if variables else f"Set providers.{provider.name}.key."
    )
