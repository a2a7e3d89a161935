"""A provider that costs next to nothing: canned answers from memory, as a raw ASGI app.

`x-bench-chunks: N` asks for a stream of N server-sent events, `x-bench-pause-ms` for a pause between them.
Run: `python -m benchmarks.parts.provider PORT`.
"""

from __future__ import annotations

import asyncio
import sys
from typing import Any

import uvicorn

EVENT = (
    b'event: content_block_delta\ndata: {"type":"content_block_delta","index":0,'
    b'"delta":{"type":"text_delta","text":"some words of an answer "}}\n\n'
)
START = (
    b'event: message_start\ndata: {"type":"message_start","message":{"id":"m","type":"message","role":"assistant",'
    b'"model":"claude-opus-4-8","content":[],"stop_reason":null,"usage":{"input_tokens":10,'
    b'"cache_read_input_tokens":1000,"cache_creation_input_tokens":50,"output_tokens":1}}}\n\n'
    b'event: content_block_start\ndata: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}\n\n'
)
END = (
    b'event: content_block_stop\ndata: {"type":"content_block_stop","index":0}\n\n'
    b'event: message_delta\ndata: {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":200}}\n\n'
    b'event: message_stop\ndata: {"type":"message_stop"}\n\n'
)
ANSWER = (
    b'{"id":"m","type":"message","role":"assistant","model":"claude-opus-4-8","content":[{"type":"text","text":"'
    + b"word " * 180
    + b'"}],"stop_reason":"end_turn","usage":{"input_tokens":10,"cache_read_input_tokens":1000,'
    b'"cache_creation_input_tokens":50,"output_tokens":200}}'
)


async def app(scope: dict[str, Any], receive: Any, send: Any) -> None:
    """Reads the request to its end, then answers."""
    while (await receive()).get("more_body"):
        pass
    headers = dict(scope["headers"])
    chunks = int(headers.get(b"x-bench-chunks", b"0"))
    if not chunks:
        length = (b"content-length", str(len(ANSWER)).encode())
        await send(
            {"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"application/json"), length]}
        )
        await send({"type": "http.response.body", "body": ANSWER})
        return
    pause = int(headers.get(b"x-bench-pause-ms", b"0")) / 1000
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/event-stream")]})
    await send({"type": "http.response.body", "body": START, "more_body": True})
    for _ in range(chunks):
        await asyncio.sleep(pause)
        await send({"type": "http.response.body", "body": EVENT, "more_body": True})
    await send({"type": "http.response.body", "body": END, "more_body": False})


if __name__ == "__main__":
    uvicorn.run(app, port=int(sys.argv[1]), log_level="error", access_log=False, lifespan="off", backlog=2048)
