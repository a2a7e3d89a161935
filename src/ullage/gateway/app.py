"""The ASGI app: what a request asks for, its relay, and what we answer ourselves."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from ullage._version import __version__
from ullage.core.errors import RequestError, RoutingError, UllageError, UpstreamError

from .answering import answer, refuse, status_of
from .astray import answer_virtual
from .attempts import Delivery, Routed
from .body import RequestBody
from .control import SCRAPE_PATH
from .fallbacks import is_theirs, may_be_replaced, own_answer
from .headers import (
    TRACE_HEADER,
    answer_headers,
    losses_header,
    request_headers,
    told_headers,
    waiting_header,
    warning_headers,
)
from .listing import read_list, with_virtual
from .relay import ClientLeft, Leaving, Send, relay, send_list
from .routes import find_endpoint
from .sending import Outgoing, send_to

if TYPE_CHECKING:
    from ullage.core.wire import Dialect
    from ullage.engine import Endpoint, Engine, Exchange
    from ullage.settings.records import ServerSettings
    from ullage.settings.routing import FailoverSettings
    from ullage.upstream import Headers, UpstreamClient, UpstreamResponse

    from .control import Control

Scope = dict[str, Any]
Receive = Callable[[], Awaitable[dict[str, Any]]]

# `/` is asked for by older versions of Claude Code at start, with HEAD.
_OPEN_PATHS = frozenset({"/", "/healthz", "/readyz"})


class Gateway:
    """One callable for all provider routes, health and control.

    `upstreams` maps a dialect to its provider's root. `connections` tells how many clients are connected now.
    """

    def __init__(
        self,
        *,
        engine: Engine,
        upstream: UpstreamClient,
        upstreams: Mapping[Dialect, str],
        limits: ServerSettings,
        failover: FailoverSettings,
        control: Control,
        connections: Callable[[], int],
    ) -> None:
        self._engine = engine
        self._upstream = upstream
        self._upstreams = upstreams
        self._limits = limits
        self._control = control
        self._delivery = Delivery(engine, upstream, failover)
        self._connections = connections

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers one request."""
        raw_path = scope["raw_path"].decode("latin-1")
        if raw_path in _OPEN_PATHS:
            await answer(send, 200, _health(), head=scope["method"] == "HEAD")
        elif raw_path.startswith("/ullage/") or raw_path == SCRAPE_PATH:
            await self._control_request(scope, receive, send)
        else:
            await self._provider_request(scope, raw_path, receive, send)

    async def _control_request(self, scope: Scope, receive: Receive, send: Send) -> None:
        named = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        try:
            told = await self._control.answer(scope, RequestBody(named, receive))
        except ClientLeft:
            return
        await answer(send, told.status, told.body, head=scope["method"] == "HEAD", content_type=told.content_type)

    async def _provider_request(self, scope: Scope, raw_path: str, receive: Receive, send: Send) -> None:
        headers: Headers = scope["headers"]
        named = {name.decode("latin-1"): value.decode("latin-1") for name, value in headers}
        query = scope["query_string"].decode("latin-1")
        endpoint = find_endpoint(scope["method"], raw_path, named, query)
        request_id = self._engine.new_id()
        incoming = RequestBody(named, receive)
        try:
            self._refuse(endpoint, named, raw_path)
            assert endpoint is not None
            body = await incoming.read(self._limits.body_limit_bytes)
            own = await answer_virtual(self._engine, scope["method"], endpoint, named, body)
        except UllageError as error:
            self._engine.turn_away(request_id, endpoint, named, status_of(error))
            await _turn_away(send, endpoint, error, request_id, incoming)
            return
        except ClientLeft:
            return
        if own is not None:
            told = [(b"x-ullage-request", request_id.encode())]
            await answer(send, 200, own, told, head=scope["method"] == "HEAD")
            self._engine.turn_away(request_id, endpoint, named, 200)
            return
        exchange = self._engine.begin(
            id=request_id, endpoint=endpoint, headers=named, body=body, root=self._upstreams[endpoint.dialect]
        )
        url = self._upstreams[endpoint.dialect] + endpoint.path + ("?" + query if query else "")
        outgoing = Outgoing(scope["method"], url, headers, body, endpoint.dialect)
        try:
            with Leaving(scope["ullage.connection"]):
                if exchange.managed:
                    await self._managed(outgoing, endpoint, exchange, send, query)
                else:
                    await self._exchange(outgoing, endpoint, exchange, send, told=warning_headers(named))
        except ClientLeft:
            exchange.ended("left")
        except asyncio.CancelledError:
            exchange.warnings.append("daemon_stopped")
            exchange.ended("cut")
            raise
        except BaseException:
            exchange.ended("error")
            raise
        finally:
            self._engine.finish(exchange)

    async def _managed(
        self, outgoing: Outgoing, endpoint: Endpoint, exchange: Exchange, send: Send, query: str
    ) -> None:
        """Sends what the route and the plan made of the request."""
        since_s = asyncio.get_running_loop().time()
        departure = await self._engine.depart(exchange, self._upstream)
        if departure.refusal is None and departure.route is not None and endpoint.purpose == "generate":
            await self._delivery.deliver(Routed(outgoing, endpoint, exchange, query, departure, since_s), send)
            return
        told = told_headers(departure, trace=exchange.headers.get(TRACE_HEADER) == "1")
        told += [*warning_headers(exchange.headers), *losses_header(exchange.losses)]
        if isinstance(departure.refusal, RoutingError) and endpoint.purpose == "count_tokens":
            exchange.ended("answered")
            await self._own_answer(outgoing, endpoint, exchange, send, told)
            return
        if departure.refusal is not None:
            exchange.refused(status_of(departure.refusal))
            told += waiting_header(departure.refusal, exchange.now_ms())
            await refuse(send, endpoint, departure.refusal, exchange.id, told=told)
            return
        await self._exchange(send_to(outgoing, departure, endpoint, query), endpoint, exchange, send, told=told)

    async def _exchange(
        self, outgoing: Outgoing, endpoint: Endpoint, exchange: Exchange, send: Send, *, told: Headers
    ) -> None:
        extra = [(b"x-ullage-request", exchange.id.encode()), *told]
        begun, whole = b"", False
        names = await self._virtual_names(outgoing, endpoint, exchange)
        exchange.ask()
        try:
            response = await self._upstream.open(
                outgoing.method, outgoing.url, request_headers(outgoing.headers, outgoing.dialect), outgoing.body
            )
            managed = self._engine.manages(exchange.headers)
            replaceable = may_be_replaced(endpoint.purpose, response.status, has_names=bool(names), managed=managed)
            if replaceable:
                begun = await _first_bytes(response)
            elif names:
                begun, whole = await read_list(response)
        except UpstreamError as error:
            exchange.failed(error.code)
            if names:
                await self._own_answer(outgoing, endpoint, exchange, send, told)
            else:
                await refuse(send, endpoint, error, exchange.id)
            return
        if replaceable and not is_theirs(endpoint.purpose, response.status, begun, _coding_of(response)):
            response.abort()
            exchange.ended("answered")
            await self._own_answer(outgoing, endpoint, exchange, send, told)
            return
        if whole and response.status == 200:
            merged = with_virtual(begun, _coding_of(response), endpoint.dialect, names)
            if merged is not None:
                exchange.ended(await send_list(response, send, exchange, extra, begun, merged))
                return
        exchange.ended(await relay(response, send, exchange, extra, begun))

    async def _virtual_names(self, outgoing: Outgoing, endpoint: Endpoint, exchange: Exchange) -> Sequence[str]:
        """The names to add to a list of models."""
        if endpoint.purpose != "models" or outgoing.method != "GET":
            return ()
        return await self._engine.virtual_names(endpoint.dialect, exchange.headers)

    async def _own_answer(
        self, outgoing: Outgoing, endpoint: Endpoint, exchange: Exchange, send: Send, told: Headers
    ) -> None:
        status, body = await own_answer(endpoint, outgoing.body, exchange, self._engine)
        extra = [(b"x-ullage-request", exchange.id.encode()), *told]
        await answer(send, status, body, extra, head=outgoing.method == "HEAD")

    def _refuse(self, endpoint: Endpoint | None, headers: Mapping[str, str], raw_path: str) -> None:
        """Raises for what cannot be served at all."""
        if self._connections() > self._limits.max_connections:
            raise UllageError(
                f"more than {self._limits.max_connections} connections are open",
                code="too_many_connections",
                hint="Try again; `server.max_connections` sets the limit.",
            )
        if endpoint is None:
            raise RequestError(
                f"no provider route is known for {raw_path[:200]}",
                code="no_route",
                hint="Point the client at the gateway's root or its /v1.",
            )
        if headers.get("upgrade", "").lower() == "websocket":
            raise RequestError(
                "WebSocket connections are not relayed",
                code="websocket",
                hint="The client goes on over HTTP; with Codex nothing needs to be set.",
            )


def _coding_of(response: UpstreamResponse) -> str:
    return dict(answer_headers(response.headers)).get(b"content-encoding", b"").decode("latin-1")


async def _first_bytes(response: UpstreamResponse) -> bytes:
    """What an answer begins with. A client that leaves meanwhile takes the provider's connection with it."""
    try:
        return await response.read()
    except BaseException:
        response.abort()
        raise


def _health() -> bytes:
    return msgspec.json.encode({"service": "ullage", "version": __version__, "status": "ok"})


async def _turn_away(
    send: Send, endpoint: Endpoint | None, error: UllageError, request_id: str, incoming: RequestBody
) -> None:
    """Refuses a request whose body may not have been read."""
    try:
        await incoming.discard()
    except ClientLeft:
        return
    close = not incoming.is_read or error.code == "too_many_connections"
    await refuse(send, endpoint, error, request_id, close=close)
