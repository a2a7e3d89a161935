"""Where a request goes, and what may go there (planner specification, section 23.2)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal
from urllib.parse import urlsplit

from msgspec import Struct

from .classes import CLASSES, Classification, highest
from .hosts import PROVIDER_HOSTS, is_loopback

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .policy import PrivacySettings

# Servers of models by the names that settings know them by, and the ports that their manuals give them on this machine.
_USUAL_PORTS = {"ollama": 11434, "lmstudio": 1234, "llama-cpp": 8080}
_THIS_MACHINE = "localhost"


class Destination(Struct, frozen=True, kw_only=True):
    """What one provider may be sent. `base` is the class of text without a marker, `redact` whether secrets are withheld."""

    kind: Literal["local", "remote"]
    provider: str
    allowed: tuple[Classification, ...]
    base: Classification = "normal"
    redact: bool = True

    def allows(self, classification: Classification) -> bool:
        return classification in self.allowed


def find_destination(settings: PrivacySettings, *, provider: str, root: str) -> Destination:
    """The destination behind an upstream root. `provider` is its name as the daemon knows it.

    A provider is local only if the settings name it: by its name, its host, or host and port; an address of this machine alone is
    not enough, since proxies to remote models listen there too. `ollama`, `lmstudio` and `llama-cpp` also mean their usual ports
    on this machine. One that `remote_providers` names is remote, whatever else is said of it; named twice, it may be sent what
    both allow.
    """
    names = _names(provider, root)
    rules = [rule.allowed for name, rule in settings.remote_providers.items() if _plain(name) in names]
    if not rules and any(_plain(name) in names for name in settings.local_providers):
        return Destination(
            kind="local", provider=provider, allowed=CLASSES, base=settings.default_classification, redact=False
        )
    return Destination(
        kind="remote",
        provider=provider,
        allowed=tuple(
            one for one in CLASSES if all(one in allowed for allowed in rules or [settings.remote_default_allowed])
        ),
        base=settings.default_classification,
        redact=settings.redact_secrets,
    )


def narrow(destinations: Sequence[Destination]) -> Destination:
    """What all of the destinations may be sent, where it is not known which of them it will be. There must be one."""
    first, *others = destinations
    if not others:
        return first
    return Destination(
        kind="local" if all(one.kind == "local" for one in destinations) else "remote",
        provider=", ".join(one.provider for one in destinations),
        allowed=tuple(one for one in first.allowed if all(one in other.allowed for other in others)),
        base=highest(*(one.base for one in destinations)),
        redact=any(one.redact for one in destinations),
    )


def _names(provider: str, root: str) -> tuple[str, ...]:
    """Everything that settings may call the provider: whatever name it has been given, a known host is known by its own too."""
    parts = urlsplit(root)
    host = _plain(parts.hostname or "")
    port = parts.port or {"http": 80, "https": 443}.get(parts.scheme)
    usual = [name for name, usual in _USUAL_PORTS.items() if host == _THIS_MACHINE and port == usual]
    common = [PROVIDER_HOSTS[host]] if host in PROVIDER_HOSTS else []
    return tuple(dict.fromkeys((_plain(provider), f"{host}:{port}", *usual, *common, host)))


def _plain(name: str) -> str:
    """The name without case, with one name for all addresses of this machine."""
    lowered = name.strip().lower()
    host, separator, port = lowered.rpartition(":")
    if separator and port.isdigit() and is_loopback(host):
        return f"{_THIS_MACHINE}:{port}"
    return _THIS_MACHINE if is_loopback(lowered) else lowered
