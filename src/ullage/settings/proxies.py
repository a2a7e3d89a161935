"""Which provider is reached through a proxy, by the usual environment variables (HTTPS_PROXY, HTTP_PROXY, NO_PROXY)."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

if TYPE_CHECKING:
    from collections.abc import Iterable


def find_proxies(roots: Iterable[str]) -> dict[str, str]:
    """Maps the roots that have a proxy to its address. Loopback addresses never have one."""
    known = getproxies()
    found = {}
    for root in roots:
        parts = urlsplit(root)
        host = parts.hostname or ""
        proxy = known.get(parts.scheme) or known.get("all")
        if proxy and host not in ("127.0.0.1", "localhost", "::1") and not proxy_bypass(parts.netloc):
            found[root] = proxy
    return found
