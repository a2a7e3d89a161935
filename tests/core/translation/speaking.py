"""Short forms for tests of one translation."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import msgspec

from tests.core.translation.relay import MODELS, NOW_MS
from ullage.core.translation import AnswerTranslator, Target, Terms, TranslatedRequest, translate_request
from ullage.core.wire import Dialect, parse_request
from ullage.core.wire.sse import SSEDecoder

if TYPE_CHECKING:
    from collections.abc import Iterable


def translate(source: Dialect, payload: dict[str, Any], target: Dialect, **known: Any) -> TranslatedRequest:
    """A request with what it needs at least, for a target of the dialect."""
    names = {"path_model": "m", "path_stream": bool(payload.pop("stream", False))} if source == "gemini" else {}
    conversation = parse_request(json.dumps(payload).encode(), source, **names)
    return translate_request(conversation, Target(dialect=target, **{"model": MODELS[target], **known}))


def body_of(source: Dialect, payload: dict[str, Any], target: Dialect, **known: Any) -> dict[str, Any]:
    """The body that the target gets, decoded."""
    found: dict[str, Any] = msgspec.json.decode(translate(source, payload, target, **known).body)
    return found


def codes_of(source: Dialect, payload: dict[str, Any], target: Dialect, **known: Any) -> list[tuple[str, str]]:
    """What is told of it: the code and the place."""
    return [(loss.code, loss.where) for loss in translate(source, payload, target, **known).dropped]


def chat(*messages: dict[str, Any], **members: Any) -> dict[str, Any]:
    return {"model": "m", "messages": list(messages) or [{"role": "user", "content": "Hello."}], **members}


def messages(*given: dict[str, Any], **members: Any) -> dict[str, Any]:
    """A request of Anthropic Messages."""
    said = list(given) or [{"role": "user", "content": "Hello."}]
    return {"model": "m", "max_tokens": 100, "messages": said, **members}


def responses(*items: dict[str, Any], **members: Any) -> dict[str, Any]:
    return {"model": "m", "input": list(items) or "Hello.", **members}


def contents(*given: dict[str, Any], **members: Any) -> dict[str, Any]:
    """A request of Gemini."""
    return {"contents": list(given) or [{"parts": [{"text": "Hello."}]}], **members}


def translator(source: Dialect, to: Dialect, **terms: Any) -> AnswerTranslator:
    given = Terms(**{"model": MODELS[source], **terms})
    return AnswerTranslator(source, to, terms=given, request_id="req1", now_ms=NOW_MS)


def events_of(stream: bytes) -> list[dict[str, Any]]:
    """The decoded events of a stream, without `[DONE]`."""
    decoder = SSEDecoder()
    found = [*decoder.feed(stream), *decoder.close()]
    return [json.loads(event.data) for event in found if event.data != b"[DONE]"]


def sse(*events: dict[str, Any] | str) -> bytes:
    """Events as a provider sends them, named by their type."""
    return b"".join(map(_event, events))


def _event(event: dict[str, Any] | str) -> bytes:
    if isinstance(event, str):
        return f"data: {event}\n\n".encode()
    head = f"event: {event['type']}\n" if "type" in event else ""
    return f"{head}data: {json.dumps(event)}\n\n".encode()


def stream_through(source: Dialect, to: Dialect, chunks: Iterable[bytes], **terms: Any) -> bytes:
    """The client's stream of what the provider sends."""
    one = translator(source, to, **terms)
    return b"".join([*map(one.feed, chunks), one.finish()])


def chunk(delta: dict[str, Any], finish: str | None = None, **members: Any) -> dict[str, Any]:
    """A chunk of Chat Completions."""
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return {"id": "chatcmpl-1", "model": "m", "choices": [choice], **members}


def calling(index: int, arguments: str = "", *, call_id: str | None = None, name: str | None = None) -> dict[str, Any]:
    """A chunk with a piece of a call."""
    function = {"name": name, "arguments": arguments} if name else {"arguments": arguments}
    call = {"index": index, "function": function, **({"id": call_id, "type": "function"} if call_id else {})}
    return chunk({"tool_calls": [call]})
