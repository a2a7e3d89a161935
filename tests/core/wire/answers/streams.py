"""Event streams as the providers write them, made from their payloads."""

from __future__ import annotations

import json
from typing import Any

from ullage.core.content import Answer
from ullage.core.wire import AnswerReader, Dialect


def plain(*payloads: Any, done: bool = False) -> bytes:
    """Events without names: Chat Completions (with `[DONE]`) and Gemini."""
    lines = [f"data: {json.dumps(payload)}\n\n" for payload in payloads]
    return "".join([*lines, "data: [DONE]\n\n" if done else ""]).encode()


def named(*payloads: dict[str, Any]) -> bytes:
    """Events whose name is the type of their payload: Anthropic and Responses."""
    return "".join(f"event: {payload['type']}\ndata: {json.dumps(payload)}\n\n" for payload in payloads).encode()


def read_stream(stream: bytes, dialect: Dialect, *, size: int = 11) -> Answer:
    """The record of a stream that comes in small chunks."""
    reader = AnswerReader(dialect, streamed=True)
    for start in range(0, len(stream), size):
        reader.feed(stream[start : start + size])
    return reader.close()
