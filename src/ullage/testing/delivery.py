"""An answer on its way out: written in parts, slowly or brokenly if a fault says so."""

from __future__ import annotations

import asyncio
import socket
import struct
from typing import TYPE_CHECKING

from aiohttp import web
from msgspec import Struct

from ullage.core.content import Usage

from .faults import Fault, accepts, compress, rechunk

if TYPE_CHECKING:
    from .recording import Received

_NO_FAULT = Fault()
_RESET = struct.pack("ii", 1, 0)
"""SO_LINGER on with no time left: closing sends a reset."""


class Outgoing(Struct, kw_only=True):
    """An answer before delivery. `parts` are written one by one if `streamed`, else they are one body with its length."""

    status: int = 200
    headers: list[tuple[str, str]] = []
    parts: list[bytes] = []
    streamed: bool = False
    usage: Usage | None = None
    fault: Fault | None = None


async def deliver(request: web.BaseRequest, outgoing: Outgoing, received: Received) -> web.StreamResponse:
    """Writes the answer. `received` learns how many bytes went out and whether that was all."""
    fault = outgoing.fault or _NO_FAULT
    if fault.delay_ms:
        await asyncio.sleep(fault.delay_ms / 1000)
    if fault.hang_up:
        return _close(request, web.Response())
    parts, headers = outgoing.parts, outgoing.headers
    if fault.encoding and accepts(request.headers.get("accept-encoding", ""), fault.encoding):
        parts = list(compress(parts, fault.encoding))
        headers = [*headers, ("content-encoding", fault.encoding)]
    if not outgoing.streamed and outgoing.fault is None:
        body = b"".join(parts)
        received.answer_bytes, received.finished = len(body), True
        return web.Response(status=outgoing.status, headers=headers, body=body)
    response = web.StreamResponse(status=outgoing.status, headers=headers)
    if not outgoing.streamed:
        response.content_length = sum(map(len, parts))
    await response.prepare(request)
    if fault.first_byte_ms:
        await asyncio.sleep(fault.first_byte_ms / 1000)
    if fault.chunk_bytes:
        parts = list(rechunk(parts, fault.chunk_bytes))
    await _write(response, parts, fault, received)
    if fault.ends_at is not None:
        return await _fail(request, response, fault)
    await response.write_eof()
    received.finished = True
    return response


async def _write(response: web.StreamResponse, parts: list[bytes], fault: Fault, received: Received) -> None:
    """Writes the parts up to the byte at which the fault ends them."""
    left = fault.ends_at
    for part in parts:
        if left is not None:
            part = part[:left]
            left -= len(part)
        if not part:
            continue
        await response.write(part)
        received.answer_bytes += len(part)
        if fault.pause_ms:
            await asyncio.sleep(fault.pause_ms / 1000)


async def _fail(request: web.BaseRequest, response: web.StreamResponse, fault: Fault) -> web.StreamResponse:
    """Breaks off in the way the fault asks for, once everything written has left."""
    transport = request.transport
    # A transport tells nobody that its buffer is empty.
    while transport and not transport.is_closing() and transport.get_write_buffer_size():  # noqa: ASYNC110 - see above
        await asyncio.sleep(0.001)
    if fault.ends_at == fault.stall_after:
        await asyncio.Event().wait()
    if transport is not None and fault.ends_at == fault.reset_after:
        transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
    return _close(request, response)


def _close(request: web.BaseRequest, response: web.StreamResponse) -> web.StreamResponse:
    request.protocol.force_close()
    if request.transport is not None:
        request.transport.close()
    return response
