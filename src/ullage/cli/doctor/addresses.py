"""Who listens where: the daemon, the providers, a proxy in between."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from ullage._version import __version__
from ullage.pi.address import is_running, read_address
from ullage.settings import is_loopback, resolve_upstreams
from ullage.settings.proxies import find_proxies

from .check import Check
from .network import Listener, find_listener, no_proxy_covers, reach_all

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ullage.core.wire import Dialect
    from ullage.settings import Loaded


def find_daemon(loaded: Loaded) -> Listener:
    """Who has the daemon's own address; where it picks a port, the one that the last daemon has told of."""
    server = loaded.settings.server
    if server.port == 0:
        address = read_address(loaded.paths.data_dir)
        return find_listener(address.url) if address is not None and is_running(address) else Listener(kind="nobody")
    host = f"[{server.host}]" if ":" in server.host else server.host
    return find_listener(f"http://{host}:{server.port}")


def daemon(loaded: Loaded, listener: Listener) -> Check:
    """Whether the daemon runs, or could."""
    host, port = loaded.settings.server.host, loaded.settings.server.port
    address = f"{host}:{port}" if port else "the port that it picked"
    match listener.kind:
        case "ullage" if listener.version == __version__:
            return Check(id="daemon", title="Daemon", status="ok", detail=f"running on {address}")
        case "ullage":
            return Check(
                id="daemon",
                title="Daemon",
                status="warn",
                detail=f"version {listener.version} is running on {address}, this is {__version__}",
                next="Stop it, then run `ullage serve` again.",
            )
        case "other":
            return Check(
                id="daemon",
                title="Daemon",
                status="fail",
                detail=f"another program has {address}",
                next="Stop that program, or choose another port with server.port or --port.",
            )
        case "nobody":
            detail = f"not running, {address} is free" if port else "not running; it picks a port at each start"
            return Check(id="daemon", title="Daemon", status="ok", detail=detail, next="Run `ullage serve`.")


def upstreams(loaded: Loaded) -> Iterator[Check]:
    """Where requests go, and what is strange about it."""
    roots = by_root(resolve_upstreams(loaded.settings))
    proxies = find_proxies(roots) if loaded.settings.upstream.use_proxy_environment else {}
    for root, dialects in roots.items():
        way = f" through the proxy {address_of(proxies[root])}" if root in proxies else ""
        fault, step = fault_of_root(root)
        yield Check(
            id="upstream",
            title="Upstream",
            status="warn" if fault else "ok",
            detail=f"{root} for {', '.join(dialects)}{way}" + (f": {fault}" if fault else ""),
            next=step,
        )


def fault_of_root(root: str) -> tuple[str, str]:
    """What is strange about a root, and what to do; both empty if nothing is."""
    parts = urlsplit(root)
    if not is_loopback(parts.hostname or ""):
        return ("keys and conversations go there unencrypted", "Use https.") if parts.scheme == "http" else ("", "")
    match find_listener(root).kind:
        case "nobody":
            return "nobody listens there", "Start what should be there, or set upstreams to the provider."
        case "ullage":
            return (
                "that is an ullage itself, requests would go through two or in a circle",
                "Set upstreams to the provider.",
            )
        case "other":
            return "", ""


def address_of(proxy: str) -> str:
    """Host and port of a proxy, without the password that its variable may hold."""
    return urlsplit(proxy if "//" in proxy else f"//{proxy}").netloc.rpartition("@")[2]


def by_root(roots: Mapping[Dialect, str]) -> dict[str, list[str]]:
    """The dialects that each root serves."""
    found: dict[str, list[str]] = {}
    for dialect, root in roots.items():
        found.setdefault(root, []).append(dialect)
    return found


def reached(loaded: Loaded) -> Iterator[Check]:
    """Whether each provider answers at all; what it answers does not matter."""
    roots = list(by_root(resolve_upstreams(loaded.settings)))
    for root, fault in reach_all(roots, use_proxy=loaded.settings.upstream.use_proxy_environment).items():
        yield Check(
            id="reach",
            title="Reach",
            status="fail" if fault else "ok",
            detail=f"{root}: {fault}" if fault else f"{root} answers",
            next="Check the network, the proxy and the address." if fault else "",
        )


def proxy(loaded: Loaded, environ: Mapping[str, str]) -> Iterator[Check]:
    """A proxy that clients would ask for the daemon, too."""
    host = loaded.settings.server.host
    named = [name for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy") if environ.get(name)]
    if named and not no_proxy_covers(host, environ):
        yield Check(
            id="proxy",
            title="Proxy",
            status="warn",
            detail=f"{named[0]} is set and NO_PROXY does not name {host}: clients may ask the proxy for the daemon",
            next=f"Add {host} to NO_PROXY.",
        )
