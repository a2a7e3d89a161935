"""Which provider root each dialect goes to: names, defaults, the form of an address."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from ullage.core.errors import SettingsError
from ullage.core.privacy.hosts import is_loopback
from ullage.core.wire.conversation import DIALECTS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ullage.core.wire.conversation import Dialect

    from .records import Settings

DEFAULT_UPSTREAMS: dict[Dialect, str] = {
    "openai-chat": "https://api.openai.com",
    "openai-responses": "https://api.openai.com",
    "anthropic": "https://api.anthropic.com",
    "gemini": "https://generativelanguage.googleapis.com",
}

SHORT_NAMES: dict[str, tuple[Dialect, ...]] = {"openai": ("openai-chat", "openai-responses")}
UPSTREAM_NAMES: tuple[str, ...] = (*DIALECTS, *SHORT_NAMES)

# What providers' manuals print behind their root. The clients add it themselves (interface specification, section 1).
API_VERSIONS = ("/v1", "/v1beta")

# What stands in an address that holds a password or a key: such a one is never repeated.
ADDRESS_SECRETS = "@?#"
_EXAMPLE = "For example https://api.openai.com."


def resolve_upstreams(settings: Settings) -> dict[Dialect, str]:
    """The root of every dialect: what is set, else the provider's public address. Never ends in `/`, `/v1` or `/v1beta`."""
    return DEFAULT_UPSTREAMS | expand_upstreams(settings.upstreams)


def expand_upstreams(upstreams: Mapping[str, str]) -> dict[Dialect, str]:
    """Short names spelled out and addresses in their short form. A dialect's own name wins over a short one."""
    roots: dict[Dialect, str] = {}
    for name, dialects in SHORT_NAMES.items():
        if name in upstreams:
            roots |= dict.fromkeys(dialects, provider_root(upstreams[name]))
    return roots | {dialect: provider_root(upstreams[dialect]) for dialect in DIALECTS if dialect in upstreams}


def parse_upstream_flag(text: str) -> dict[Dialect, str]:
    """The root of every dialect that a `DIALECT=URL` flag sets. Raises `SettingsError`."""
    name, separator, url = text.partition("=")
    name = name.strip()
    if not separator:
        raise SettingsError(
            "--upstream needs DIALECT=URL.",
            hint="For example --upstream anthropic=http://127.0.0.1:9000.",
        )
    if name not in UPSTREAM_NAMES:
        raise SettingsError(f"--upstream: there is no dialect {name!r}.", hint=f"One of {', '.join(UPSTREAM_NAMES)}.")
    return expand_upstreams({name: url})


def provider_root(url: str) -> str:
    """An http or https address without trailing slash or API version.

    Raises `SettingsError`, whose message does not repeat an address that may hold a password.
    """
    text = url.strip()
    named = "The address" if any(sign in text for sign in ADDRESS_SECRETS) else repr(text)
    try:
        parts = urlsplit(text)
        host, _ = parts.hostname, parts.port
    except ValueError as error:
        raise SettingsError(f"{named} is not an address: {error}.", hint=_EXAMPLE) from error
    if parts.username is not None or parts.password is not None:
        raise SettingsError(
            "An upstream's address must not hold a user name or password.",
            hint="The client's own credential is passed on.",
        )
    if parts.scheme not in ("http", "https") or not host or any(c.isspace() for c in text):
        raise SettingsError(f"{named} is not an http or https address.", hint=_EXAMPLE)
    if parts.query or parts.fragment:
        raise SettingsError("An upstream's address ends with its path.", hint="Leave out what follows ? or #.")
    return without_version(text.rstrip("/?#"))


def without_version(url: str) -> str:
    for version in API_VERSIONS:
        if url.endswith(version):
            return without_version(url.removesuffix(version).rstrip("/"))
    return url


def is_own_address(url: str, settings: Settings) -> bool:
    """Whether a provider root is the daemon's own address, so that requests would go round for ever."""
    parts = urlsplit(url)
    port = parts.port or {"http": 80, "https": 443}.get(parts.scheme)
    return settings.server.port != 0 and port == settings.server.port and is_loopback(parts.hostname or "")
