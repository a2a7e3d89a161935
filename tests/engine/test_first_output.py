"""When an answer said something: the first text or call of a tool of a stream, as it passed; thinking says nothing."""

from __future__ import annotations

import asyncio
import gzip
import json
import zlib
from typing import Any

import pytest

from tests.engine.test_routing import HARD, Desk
from ullage.gateway.routes import find_endpoint
from ullage.stores import CallRecord
from ullage.testing import make_request

TEXT = {"type": "text", "text": ""}, {"type": "text_delta", "text": "Yes."}
THINKING = {"type": "thinking", "thinking": ""}, {"type": "thinking_delta", "thinking": "Hm."}
TOOL = {"type": "tool_use", "id": "t", "name": "ls", "input": {}}, {"type": "input_json_delta", "partial_json": "{}"}


def event(kind: str, **fields: Any) -> bytes:
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **fields})}\n\n".encode()


def stream(*blocks: tuple[dict[str, Any], dict[str, Any]]) -> list[bytes]:
    """An answer, one chunk an event: three for each block."""
    usage = {"input_tokens": 1, "output_tokens": 1}
    chunks = [
        event("message_start", message={"id": "m", "model": "x", "role": "assistant", "content": [], "usage": usage})
    ]
    for index, (start, delta) in enumerate(blocks):
        chunks += [
            event("content_block_start", index=index, content_block=start),
            event("content_block_delta", index=index, delta=delta),
            event("content_block_stop", index=index),
        ]
    return [*chunks, event("message_delta", delta={"stop_reason": "end_turn"}, usage=usage), event("message_stop")]


def answered(chunks: list[bytes], *, coding: str = "", large: bool = False) -> tuple[CallRecord, list[float]]:
    """The record of a call, and when its chunks passed: the clock moves on with every look at it."""
    with Desk() as desk:
        request = make_request("anthropic", model="auto", turns=(HARD,), stream=True)
        endpoint = find_endpoint("POST", request.path.partition("?")[0], request.headers)
        assert endpoint is not None
        exchange = desk.engine.begin(
            id="c", endpoint=endpoint, headers=request.headers, body=request.body, root="https://usual.test"
        )
        asyncio.run(desk.engine.depart(exchange, None))
        exchange.asked = True
        headers = [(b"content-type", b"text/event-stream")]
        exchange.answer_began(200, [*headers, *([(b"content-encoding", coding.encode())] if coding else [])])
        for chunk in chunks:
            exchange.answer_chunk(chunk)
            if large:
                exchange.hand_over()
                assert desk.engine.flush()
        times = [at_ms for _, at_ms in exchange.arrivals]
        exchange.ended("whole")
        desk.engine.finish(exchange)
        assert desk.engine.flush()
        call = desk.store.find_call("c")
        assert call is not None
        return call, times


@pytest.mark.parametrize(
    ("blocks", "place"),
    [([TEXT], 2), ([THINKING, TEXT], 5), ([THINKING, TOOL], 4), ([TOOL], 1)],
    ids=["text", "thinking, text", "thinking, tool", "tool"],
)
def test_it_is_when_the_first_text_or_call_passed(blocks: list[Any], place: int) -> None:
    call, times = answered(stream(*blocks))
    assert call.first_output_ms == times[place]
    assert call.first_byte_ms is not None and call.first_byte_ms <= times[0]
    assert call.route is not None
    assert call.route["attempts"][-1]["ms_to_output"] == call.first_output_ms


def test_it_is_the_same_where_pieces_are_read_while_they_come() -> None:
    call, _ = answered(stream(THINKING, TEXT), large=True)
    assert call.first_output_ms is not None and call.first_byte_ms is not None
    assert call.first_output_ms > call.first_byte_ms
    assert (call.stop_reason, call.usage is not None) == ("end", True)


def test_compressed_answers_are_read_as_they_came() -> None:
    packer = zlib.compressobj(wbits=31)
    chunks = [packer.compress(chunk) + packer.flush(zlib.Z_SYNC_FLUSH) for chunk in stream(THINKING, TEXT)]
    assert gzip.decompress(b"".join([*chunks, packer.flush()]))
    call, times = answered(chunks, coding="gzip")
    assert call.first_output_ms == times[5]


def test_an_answer_that_only_thinks_never_said_anything() -> None:
    call, _ = answered(stream(THINKING))
    assert call.first_output_ms is None
