"""What the host of an address says by itself."""

from __future__ import annotations

import ipaddress
from types import MappingProxyType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

PROVIDER_HOSTS: Mapping[str, str] = MappingProxyType(
    {
        "api.openai.com": "openai",
        "api.anthropic.com": "anthropic",
        "generativelanguage.googleapis.com": "google",
        "chatgpt.com": "openai-codex",
        "openrouter.ai": "openrouter",
        "api.deepseek.com": "deepseek",
        "api.mistral.ai": "mistral",
        "api.groq.com": "groq",
        "api.x.ai": "xai",
    }
)
"""Hosts whose provider has a better name than the host."""


def is_loopback(host: str) -> bool:
    """Whether a host name or address is this machine's own loopback. Unknown names are not."""
    if host.lower().rstrip(".") == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False
