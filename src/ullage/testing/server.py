"""The fake provider: a real HTTP server on a loopback address that answers like the four APIs."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any, Self

from aiohttp import web
from msgspec import Struct

from ullage.core.content import Usage

from .behaviour import default_reply
from .bodies import decode_body
from .dialects import DIALECT_MODULES, anthropic, catalogue, gemini
from .faults import Fault
from .prompt import Generation, text_tokens
from .recording import Received, Recorder
from .routes import Route, find_route
from .script import Reply, Rule, Script

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from .prompt import Prompt

_LINE_LIMIT_BYTES = 256 * 1024
"""Longest header or request line let in: clients put whole JSON documents into headers."""


class Answer(Struct, kw_only=True):
    """An answer before delivery: a whole body, or the parts of a stream."""

    status: int = 200
    headers: list[tuple[str, str]] = []
    parts: list[bytes] = []
    streamed: bool = False
    usage: Usage | None = None
    fault: Fault | None = None


class FakeProvider:
    """A provider of all four dialects for tests, demonstrations and benchmarks.

    Use it as `async with FakeProvider() as provider: …` and point clients at `provider.url`. `script` holds the rules tried in
    order before the default behaviour. `models` are the names that `GET /v1/models` lists; any name is answered. `clock` gives
    epoch seconds. Received requests are in `requests`.
    """

    def __init__(
        self,
        script: Iterable[Rule] = (),
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        models: Iterable[str] = catalogue.MODELS,
        clock: Callable[[], float] = time.time,
        recorder: Recorder | None = None,
    ) -> None:
        self.script = Script(tuple(script))
        self.requests = recorder if recorder is not None else Recorder()
        self.models = tuple(models)
        self._host = host
        self._port = port
        self._clock = clock
        self._answers = 0
        self._runner: web.ServerRunner | None = None
        self._connections: dict[Any, int] = {}
        self.connections_opened = 0

    @property
    def url(self) -> str:
        """The root, without a trailing slash and without `/v1`."""
        return f"http://{self._host}:{self._port}"

    async def start(self) -> Self:
        """Listens; with port 0 the system picks one."""
        server = web.Server(
            self._handle,
            handler_cancellation=True,
            auto_decompress=False,
            access_log=None,
            max_line_size=_LINE_LIMIT_BYTES,
            max_field_size=_LINE_LIMIT_BYTES,
        )
        self._runner = web.ServerRunner(server, handle_signals=False, shutdown_timeout=0.1)
        await self._runner.setup()
        await web.TCPSite(self._runner, self._host, self._port, backlog=1024).start()
        self._port = self._runner.addresses[0][1]
        return self

    async def stop(self) -> None:
        """Stops listening and drops open connections."""
        if self._runner is not None:
            await self._runner.cleanup()
            self._runner = None

    async def __aenter__(self) -> Self:
        return await self.start()

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        received = await self._receive(request)
        headers = {key.lower(): value for key, value in request.headers.items()}
        route = find_route(received.method, received.path, headers)
        answer = self._respond(route, received)
        received.status, received.usage = answer.status, answer.usage
        try:
            response = await self._deliver(request, answer, received)
        except (asyncio.CancelledError, ConnectionError):
            received.cancelled = True
            raise
        received.finished = True
        return response

    async def _receive(self, request: web.BaseRequest) -> Received:
        connection = self._connections.get(request.protocol)
        if connection is None:
            self.connections_opened += 1
            connection = self._connections[request.protocol] = self.connections_opened
        if request.headers.get("expect", "").lower() == "100-continue":
            await request.writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        received = Received(
            number=self.requests.total + 1,
            connection=connection,
            method=request.method,
            target=request.raw_path,
            headers=request.raw_headers,
            body=await request.content.read(),
            received_s=self._clock(),
        )
        self.requests.add(received)
        return received

    def _respond(self, route: Route, received: Received) -> Answer:
        if route.kind in ("generate", "count"):
            return self._respond_to_prompt(route, received)
        if route.kind == "models":
            return _json(catalogue.models(route.dialect, self.models))
        if route.kind == "model":
            return _json(catalogue.model(route.dialect, route.name))
        if route.kind == "hello":
            return _json(b"{}")
        if route.kind == "upgrade":
            return self._error(route, 426, "This server speaks HTTP with server-sent events only.")
        return self._error(route, 404, f"Unknown request: {received.method} {received.path}")

    def _respond_to_prompt(self, route: Route, received: Received) -> Answer:
        module = DIALECT_MODULES[route.dialect]
        received.dialect = route.dialect
        try:
            payload = decode_body(received.body, received.header("content-encoding"))
        except ValueError as error:
            return self._error(route, 400, f"The body is no JSON object: {error}")
        prompt = module.read(payload, route.model, route.stream)
        received.model = prompt.model
        if route.kind == "count":
            return _json(gemini.count(prompt) if route.dialect == "gemini" else anthropic.count(prompt))
        return self._generate(prompt)

    def _generate(self, prompt: Prompt) -> Answer:
        rule = self.script.pick(prompt)
        reply = (rule.reply if rule else None) or default_reply(prompt)
        self._answers += 1
        generation = Generation(
            number=self._answers,
            prompt=prompt,
            reply=reply,
            usage=reply.usage or _usage(prompt, reply),
            created_s=self._clock(),
        )
        module = DIALECT_MODULES[prompt.dialect]
        if not prompt.stream:
            return _json(module.answer(generation), usage=generation.usage)
        return Answer(
            headers=[("content-type", "text/event-stream; charset=utf-8"), ("cache-control", "no-cache")],
            parts=module.events(generation),
            streamed=True,
            usage=generation.usage,
        )

    def _error(self, route: Route, status: int, message: str) -> Answer:
        return _json(DIALECT_MODULES[route.dialect].error(status, message, None), status=status)

    async def _deliver(self, request: web.BaseRequest, answer: Answer, received: Received) -> web.StreamResponse:
        if not answer.streamed:
            body = b"".join(answer.parts)
            received.answer_bytes = len(body)
            return web.Response(status=answer.status, headers=answer.headers, body=body)
        response = web.StreamResponse(status=answer.status, headers=answer.headers)
        await response.prepare(request)
        for part in answer.parts:
            await response.write(part)
            received.answer_bytes += len(part)
        await response.write_eof()
        return response


def _json(body: bytes, *, status: int = 200, usage: Usage | None = None) -> Answer:
    headers = [("content-type", "application/json")]
    return Answer(status=status, headers=headers, parts=[body], usage=usage)


def _usage(prompt: Prompt, reply: Reply) -> Usage:
    reasoning = text_tokens(reply.thinking)
    calls = sum(text_tokens(call.name) + text_tokens(call.arguments_json) for call in reply.tool_calls)
    return Usage(
        input_fresh=prompt.tokens,
        cache_read=0,
        cache_write=0,
        output=reasoning + text_tokens(reply.text) + calls,
        reasoning=reasoning,
    )
