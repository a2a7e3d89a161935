"""One pooled HTTP transport to all providers. Bytes go out as they are and come back as they are.

Nothing is followed, decoded, retried or added: a redirect, a compressed body or a cookie is the client's business. The
libraries' errors become `UpstreamError` here and nowhere else.
"""

from __future__ import annotations

import asyncio
import io
import ssl
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import aiohttp
from multidict import CIMultiDict
from yarl import URL

from ullage.core.errors import UpstreamError
from ullage.core.privacy.hosts import PROVIDER_HOSTS

if TYPE_CHECKING:
    from ullage.settings.records import UpstreamSettings

Headers = Sequence[tuple[bytes, bytes]]

# The library would add these on its own; the client decides about its headers, not we.
_NOT_ADDED = ("accept", "accept-encoding", "content-type", "user-agent")

_LARGE_BODY_BYTES = 256 * 1024

KNOWN_PROVIDERS = frozenset(PROVIDER_HOSTS.values())
"""Names that `provider_of` gives to a provider's own host."""


def provider_of(root: str) -> str:
    """The provider behind an upstream root: its common name, else host and port."""
    parts = urlsplit(root)
    return PROVIDER_HOSTS.get(parts.hostname or "", parts.netloc)


class _IdleWatch:
    """Cancels the task that waits for a provider which has been silent for too long.

    A timer ticks a few times within the limit and counts the ticks without bytes; setting a timer anew for every chunk would
    cost as much as relaying the chunk does. Time in which nobody waits for the provider (the client is slow) does not count.
    """

    __slots__ = ("_handle", "_loop", "_task", "_tick_s", "expired", "silent", "waiting")

    _TICKS = 4

    def __init__(self, limit_s: float) -> None:
        self._loop = asyncio.get_running_loop()
        self._task = asyncio.current_task()
        self._tick_s = limit_s / self._TICKS
        self.expired = False
        self.silent = 0
        self.waiting = True
        self._handle = self._loop.call_later(self._tick_s, self._tick)

    def stop(self) -> None:
        """Nothing is waited for any more."""
        self._handle.cancel()

    def translated(self, error: BaseException, host: str | None) -> BaseException:
        """The error as callers know it: our own cancellation is a time-out, a library's error is an `UpstreamError`."""
        if isinstance(error, asyncio.CancelledError) and self.expired:
            assert self._task is not None
            self._task.uncancel()
            return _translate(TimeoutError(), host)
        return _translate(error, host) if isinstance(error, Exception) else error

    def _tick(self) -> None:
        if self.waiting:
            self.silent += 1
        if self.silent >= self._TICKS and self._task is not None:
            self.expired = True
            self._task.cancel()
        else:
            self._handle = self._loop.call_later(self._tick_s, self._tick)


class UpstreamResponse:
    """An answer whose headers have arrived. Close it, or abort it, when done."""

    def __init__(self, response: aiohttp.ClientResponse, watch: _IdleWatch) -> None:
        self._response = response
        self._read = response.content.readany
        self._watch = watch
        self.status = response.status
        self.headers: Headers = response.raw_headers

    async def read(self) -> bytes:
        """The next bytes of the body as they come, undecoded; none at its end. Raises `UpstreamError` when it breaks."""
        watch = self._watch
        watch.waiting = True
        try:
            chunk = await self._read()
        except BaseException as error:
            raise watch.translated(error, self._response.url.host) from error
        watch.waiting = False
        watch.silent = 0
        return chunk

    def release(self) -> None:
        """Gives the connection back if the body was read to its end, else closes it."""
        self._watch.stop()
        self._response.release()

    def abort(self) -> None:
        """Closes the connection at once: the provider stops generating."""
        self._watch.stop()
        self._response.close()


class UpstreamClient:
    """The transport. Made inside the running event loop; `close` it there.

    `proxies` maps an upstream root to the address of the proxy to reach it by.
    """

    def __init__(self, settings: UpstreamSettings, proxies: Mapping[str, str] | None = None) -> None:
        self._idle_s = settings.idle_timeout_s
        self._proxies = {URL(root).origin(): URL(address) for root, address in (proxies or {}).items()}
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=settings.connections, keepalive_timeout=settings.keep_alive_s),
            cookie_jar=aiohttp.DummyCookieJar(),
            auto_decompress=False,
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=settings.connect_timeout_s),
            skip_auto_headers=_NOT_ADDED,
            max_line_size=2**16,
            max_field_size=2**16,
        )
        # The library would send GET, PUT and DELETE again when a kept connection closes; whether to repeat is the client's
        # business. It offers no public switch; its own test client sets this one.
        self._session._retry_connection = False

    async def open(self, method: str, url: str, headers: Headers, body: bytes) -> UpstreamResponse:
        """Sends a request and waits for the head of its answer. `url` is sent exactly as given.

        Raises `UpstreamError` (`upstream_refused`, `upstream_dns`, `upstream_tls`, `upstream_timeout`, `upstream_closed`) if
        no answer began.
        """
        fields = CIMultiDict([(name.decode("latin-1"), _text(value)) for name, value in headers])
        target = URL(url, encoded=True)
        proxy = self._proxies.get(target.origin()) if self._proxies else None
        watch = _IdleWatch(self._idle_s)
        try:
            response = await self._session.request(
                method,
                target,
                headers=fields,
                data=_payload(body),
                allow_redirects=False,
                proxy=proxy,
            )
        except BaseException as error:
            watch.stop()
            raise watch.translated(error, target.host) from error
        watch.silent = 0
        if not 200 <= response.status < 600:
            watch.stop()
            response.close()
            raise _no_answer(target.host, response.status)
        return UpstreamResponse(response, watch)

    async def close(self) -> None:
        """Closes all connections."""
        await self._session.close()
        # One turn of the loop lets the transports finish their closing.
        await asyncio.sleep(0)


def _text(value: bytes) -> str:
    """A header's value so that the library, which writes UTF-8, writes these bytes again; other bytes it cannot write."""
    try:
        return value.decode()
    except UnicodeDecodeError:
        return value.decode("latin-1")


def _payload(body: bytes) -> bytes | io.BytesIO | None:
    """A large body is written in pieces, so that other requests get their turn between them."""
    return (io.BytesIO(body) if len(body) > _LARGE_BODY_BYTES else body) or None


def _translate(error: Exception, host: str | None) -> UpstreamError:
    if isinstance(error, UpstreamError):
        return error
    code, what = _describe(error)
    return UpstreamError(
        f"{host or 'the provider'} {what}",
        code=code,
        hint="Repeat the request; `ullage doctor --online` tests the way to the provider.",
    )


def _no_answer(host: str | None, status: int) -> UpstreamError:
    return UpstreamError(
        f"{host or 'the provider'} answered with status {status}, which is none",
        code="upstream_failed",
        hint="Is that address a provider's? `ullage config show` lists them.",
    )


def _describe(error: Exception) -> tuple[str, str]:
    if isinstance(error, aiohttp.ClientConnectorDNSError):
        return "upstream_dns", "has no address: its name could not be resolved"
    if isinstance(error, (aiohttp.ClientSSLError, ssl.SSLError)):
        return "upstream_tls", "could not be reached safely: the TLS connection failed"
    if isinstance(error, (TimeoutError, aiohttp.ServerTimeoutError)):
        return "upstream_timeout", "did not answer in time"
    if isinstance(error, aiohttp.ClientConnectorError):
        return "upstream_refused", "refused the connection"
    if isinstance(error, (aiohttp.ClientPayloadError, aiohttp.ServerDisconnectedError, OSError)):
        return "upstream_closed", "closed the connection before its answer was whole"
    if isinstance(error, (aiohttp.InvalidURL, ValueError)):
        return "upstream_address", "cannot be asked: the address is not valid"
    return "upstream_failed", f"failed ({type(error).__name__})"
