"""Where a provider's key may go, and the headers that carry it (design specification, section 10)."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from ullage.core.errors import CallError
from ullage.core.privacy import is_loopback

from .client import KNOWN_PROVIDERS, provider_of

if TYPE_CHECKING:
    from ullage.core.wire import Dialect
    from ullage.settings.credentials import Credential

_ANTHROPIC_VERSION = "2023-06-01"
_JSON = (b"content-type", b"application/json")


def request_headers(
    dialect: Dialect, credential: Credential | None, *, stream: bool = False
) -> list[tuple[bytes, bytes]]:
    """The headers of a request of ours. Without a credential none is sent, as local servers expect."""
    accepted = b"text/event-stream" if stream else b"application/json"
    headers = [_JSON, (b"accept", accepted), (b"accept-encoding", b"identity")]
    if dialect == "anthropic":
        headers.append((b"anthropic-version", _ANTHROPIC_VERSION.encode()))
    if credential is not None:
        headers.append(key_header(dialect, credential))
    return headers


def check_destination(provider: str, root: str) -> None:
    """Raises `CallError` if the provider's key must not go to this address.

    It may go to the provider, to a loopback address, and over TLS to an address that the user's own settings or call put in the
    provider's place; never in clear text over a network, and never to another provider that we know.
    """
    parts = urlsplit(root)
    host = parts.hostname or ""
    if is_loopback(host):
        return
    if parts.scheme != "https":
        raise CallError(
            f"A key of {provider} is not sent to {host} in clear text.",
            hint="Give an https address; http is for addresses of this machine.",
            code="key_unsafe",
        )
    there = provider_of(root)
    if there != provider and there in KNOWN_PROVIDERS:
        raise CallError(
            f"{host} is {there}, and a key of {provider} is not sent there.",
            hint=f"Name --provider {there}, or set the upstream to {provider}'s address.",
            code="key_elsewhere",
        )


def key_header(dialect: Dialect, credential: Credential) -> tuple[bytes, bytes]:
    """The header that carries a key in a dialect."""
    key = credential.reveal().encode()
    match dialect:
        case "anthropic":
            return b"x-api-key", key
        case "gemini":
            return b"x-goog-api-key", key
        case "openai-chat" | "openai-responses":
            return b"authorization", b"Bearer " + key
