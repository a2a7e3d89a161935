"""Making our files anew: fetch LiteLLM's catalogue, distil it, distil genai-prices.

The daemon has a short child process do this (`python -m ullage.catalogs`): reading 3.5 MB of JSON would hold the interpreter's
lock for a tenth of a second, and genai-prices would stay in its memory.
"""

from __future__ import annotations

import time
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import aiohttp
import msgspec
from msgspec.structs import replace

from ullage._version import __version__
from ullage.core.errors import InputError, UllageError, UpstreamError

from .files import GENAI_FILE, LITELLM_FILE, CatalogueFile, make_file, read_catalogue, write_bytes
from .genai import make_genai
from .litellm import LITELLM, distil_litellm
from .orders import Outcome

if TYPE_CHECKING:
    from .orders import Order

LARGEST_BYTES = 64 * 1024 * 1024
"""Most that is read of a download; the catalogue has 3.5 MB."""

_CONNECT_S = 15.0
_TOTAL_S = 120.0
_OK = 200
_UNCHANGED = 304


async def carry_out(order: Order) -> Outcome:
    """Does what is ordered; if it fails, the old file stays. Never raises for what lies outside."""
    try:
        if order.source == LITELLM:
            await _renew_litellm(order)
        else:
            _write(order, GENAI_FILE, make_genai(_now_ms()))
    except UllageError as error:
        return Outcome(failure=error.message)
    except OSError as error:
        return Outcome(failure=f"The cache folder cannot be written: {error}.")
    return Outcome()


async def _renew_litellm(order: Order) -> None:
    old = read_catalogue(Path(order.cache_dir) / LITELLM_FILE)
    now_ms = _now_ms()
    answer = await fetch(order.address, etag=old.file.etag if old else "", proxy=order.proxy)
    day = datetime.fromtimestamp(now_ms / 1000, tz=UTC).date().isoformat()
    if answer is None and old is not None:
        new = replace(old.file, as_of=day, checked_ms=now_ms)
    else:
        data, etag = answer or (b"", "")
        new = make_file(distil_litellm(data), as_of=day, checked_ms=now_ms, etag=etag)
    _write(order, LITELLM_FILE, new)


def _write(order: Order, name: str, file: CatalogueFile) -> None:
    write_bytes(Path(order.cache_dir) / name, msgspec.json.encode(file))


def _now_ms() -> int:
    return time.time_ns() // 1_000_000


async def fetch(address: str, *, etag: str = "", proxy: str | None = None) -> tuple[bytes, str] | None:
    """The body at the address and its mark; `None` if it still has the mark `etag`.

    Raises `UpstreamError` if nothing came, `InputError` for an answer that is too large. Nothing is followed.
    """
    host = urlsplit(address).hostname
    timeout = aiohttp.ClientTimeout(total=_TOTAL_S, sock_connect=_CONNECT_S)
    headers = {"user-agent": f"ullage/{__version__}"} | ({"if-none-match": etag} if etag else {})
    try:
        async with (
            aiohttp.ClientSession(timeout=timeout, cookie_jar=aiohttp.DummyCookieJar()) as session,
            session.get(address, headers=headers, proxy=proxy, allow_redirects=False) as response,
        ):
            if response.status == _UNCHANGED and etag:
                return None
            if response.status != _OK:
                raise UpstreamError(f"{host} answered with status {response.status}.")
            return await _read(response), response.headers.get("etag", "")
    except (aiohttp.ClientError, TimeoutError, OSError, ValueError) as error:
        # The library's own words may hold the address of the proxy, with a password in it.
        raise UpstreamError(f"{host} could not be reached ({type(error).__name__}).") from error


async def _read(response: aiohttp.ClientResponse) -> bytes:
    data = bytearray()
    async for chunk in response.content.iter_any():
        data += chunk
        if len(data) > LARGEST_BYTES:
            raise InputError(f"{response.url.host} sends more than {LARGEST_BYTES // 1024 // 1024} MiB.")
    return bytes(data)
