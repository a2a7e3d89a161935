"""Providers' keys: which environment variable holds whose, read when a command asks for one and at no other time."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ullage.core.errors import SettingsError

from .keyrings import read_keyring
from .load import environment

if TYPE_CHECKING:
    from collections.abc import Mapping

# The names that the providers' own manuals and SDKs use; the first that is set wins.
KEY_VARIABLES: dict[str, tuple[str, ...]] = {
    "openai": ("OPENAI_API_KEY",),
    "anthropic": ("ANTHROPIC_API_KEY",),
    "google": ("GEMINI_API_KEY", "GOOGLE_API_KEY"),
    "openrouter": ("OPENROUTER_API_KEY",),
    "deepseek": ("DEEPSEEK_API_KEY",),
    "mistral": ("MISTRAL_API_KEY",),
    "groq": ("GROQ_API_KEY",),
    "xai": ("XAI_API_KEY",),
}
_ALIASES = {"gemini": "google"}
_KEY = re.compile(r"[!-~]+")


class Credential:
    """A provider's key and the variable it came from, or its place in a keyring. It shows itself by that name alone, in
    tracebacks too."""

    __slots__ = ("_value", "variable")

    def __init__(self, variable: str, value: str) -> None:
        self.variable = variable
        self._value = value

    def reveal(self) -> str:
        """The key itself: for the header that carries it, and for finding it in what must not show it."""
        return self._value

    def __repr__(self) -> str:
        return self.variable if ":" in self.variable else f"${self.variable}"


def provider_name(text: str) -> str:
    """The name of a provider as it is used here; `gemini` is Google's."""
    name = text.strip().lower()
    return _ALIASES.get(name, name)


def find_credential(provider: str, environ: Mapping[str, str] | None = None) -> Credential | None:
    """The provider's key from the environment; `None` if there is none, or none is known to exist for it.

    Raises `SettingsError` for a value that no key can have; the message does not repeat it.
    """
    environ = environment() if environ is None else environ
    found = (read_variable(variable, environ) for variable in KEY_VARIABLES.get(provider, ()))
    return next((credential for credential in found if credential is not None), None)


def read_key(place: str, environ: Mapping[str, str]) -> Credential | None:
    """The key at a place that a setting names, `env:VARIABLE` or `keyring:SERVICE/USER`; `None` if there is none.

    Raises `SettingsError` for a value that no key can have, and for a keyring that cannot be read.
    """
    kind, _, name = place.partition(":")
    if kind == "env":
        return read_variable(name, environ)
    service, _, user = name.partition("/")
    return _checked(place, read_keyring(service, user) or "")


def read_variable(variable: str, environ: Mapping[str, str]) -> Credential | None:
    """The key in a variable; `None` if it is not set. Raises `SettingsError` for a value that no key can have."""
    return _checked(variable, environ.get(variable, ""))


def _checked(place: str, found: str) -> Credential | None:
    value = found.strip()
    if not value:
        return None
    if not _KEY.fullmatch(value):
        raise SettingsError(
            f"{place} holds characters that no key has.", hint=f"Set {place} to the key alone, without quotes."
        )
    return Credential(place, value)


def need_credential(provider: str, environ: Mapping[str, str] | None = None) -> Credential:
    """The same. Raises `SettingsError` (`no_key`) if there is none."""
    found = find_credential(provider, environ)
    if found is not None:
        return found
    names = KEY_VARIABLES.get(provider)
    if names is None:
        raise SettingsError(
            f"No variable is known that holds a key of {provider!r}.",
            hint=f"Known providers: {', '.join(KEY_VARIABLES)}.",
            code="no_key",
        )
    raise SettingsError(f"There is no key of {provider}.", hint=f"Set {' or '.join(names)}.", code="no_key")
