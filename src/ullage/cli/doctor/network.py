"""Short looks at addresses: who listens there, and whether a provider answers."""

from __future__ import annotations

import http.client
import ipaddress
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

# A program on this machine answers in milliseconds, or is stuck.
LOCAL_TIMEOUT_S = 1.0
ONLINE_TIMEOUT_S = 5.0
MAX_HEALTH_BYTES = 64 * 1024


class Listener(Struct, frozen=True, kw_only=True):
    """Who has an address: `nobody`, an `ullage` with its version, or some `other` program."""

    kind: Literal["nobody", "ullage", "other"]
    version: str | None = None


def find_listener(url: str) -> Listener:
    """Asks an address on this machine for its health, as only an ullage answers it."""
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port or 80, timeout=LOCAL_TIMEOUT_S)
    try:
        connection.connect()
    except OSError:
        return Listener(kind="nobody")
    try:
        connection.request("GET", "/healthz", headers={"connection": "close"})
        answer = msgspec.json.decode(connection.getresponse().read(MAX_HEALTH_BYTES))
    except (OSError, http.client.HTTPException, msgspec.DecodeError, ValueError):
        return Listener(kind="other")
    finally:
        connection.close()
    if isinstance(answer, dict) and answer.get("service") == "ullage":
        return Listener(kind="ullage", version=str(answer.get("version")))
    return Listener(kind="other")


def reach_all(roots: Sequence[str], *, use_proxy: bool) -> dict[str, str]:
    """What keeps each root from being reached, empty if it answers; all are asked at once."""
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(max_workers=len(roots)) as pool:
        return dict(zip(roots, pool.map(lambda root: fault_of(root, use_proxy=use_proxy), roots), strict=True))


def fault_of(root: str, *, use_proxy: bool) -> str:
    """Why a provider cannot be reached, empty if it gave any answer. Sends no credential."""
    from urllib.error import HTTPError, URLError
    from urllib.request import ProxyHandler, Request, build_opener

    opener = build_opener(*(() if use_proxy else (ProxyHandler({}),)))
    request: Any = Request(root, method="HEAD")  # noqa: S310 - a root has been checked to be http or https
    try:
        opener.open(request, timeout=ONLINE_TIMEOUT_S).close()
    except HTTPError as error:
        error.close()
    except URLError as error:
        return str(error.reason)
    except (OSError, http.client.HTTPException) as error:
        return str(error) or type(error).__name__
    return ""


def no_proxy_covers(host: str, environ: Mapping[str, str]) -> bool:
    """Whether NO_PROXY keeps requests to a host away from the proxy."""
    listed = environ.get("NO_PROXY") or environ.get("no_proxy") or ""
    return any(covers(entry.strip(), host) for entry in listed.split(","))


def covers(entry: str, host: str) -> bool:
    """Whether one entry of NO_PROXY speaks of a host: by name, by domain, or as a network."""
    if entry in ("*", host):
        return True
    try:
        return ipaddress.ip_address(host) in ipaddress.ip_network(entry, strict=False)
    except ValueError:
        return bool(entry) and host.endswith("." + entry.lstrip("."))
