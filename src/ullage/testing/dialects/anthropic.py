"""Anthropic Messages."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from ullage.testing.binding import sign
from ullage.testing.prompt import (
    OfferedTool,
    Piece,
    Prompt,
    as_dict,
    as_list,
    blocks_of,
    media_piece,
    piece,
    required,
    text_of,
)

from .events import encode, event, fragments

if TYPE_CHECKING:
    from ullage.core.content import Usage
    from ullage.core.wire import Dialect
    from ullage.testing.prompt import Generation

name: Dialect = "anthropic"
PING = b'event: ping\ndata: {"type":"ping"}\n\n'
END: list[bytes] = [b'event: message_stop\ndata: {"type":"message_stop"}\n\n']
REQUEST_ID = "request-id"

MARKS_LIMIT = 4
"""The most cache marks that the provider takes in one request."""

_TTL_S = {"5m": 300, "1h": 3600}
_STOP = {
    "end": "end_turn",
    "length": "max_tokens",
    "tool_calls": "tool_use",
    "stop_sequence": "stop_sequence",
    "refusal": "refusal",
    "pause": "pause_turn",
}
_ERRORS = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    529: "overloaded_error",
}


def read(payload: dict[str, Any], model: str | None, stream: bool | None) -> Prompt:
    """Reads a Messages request."""
    messages = [as_dict(message) for message in as_list(required(payload, "messages"))]
    pieces = _pieces(payload, messages)
    marks = sum(piece.mark_s is not None for piece in pieces)
    if marks > MARKS_LIMIT:
        raise ValueError(f"A maximum of {MARKS_LIMIT} blocks with cache_control may be provided. Found {marks}.")
    output_format = as_dict(as_dict(payload.get("output_config")).get("format") or payload.get("output_format"))
    return Prompt(
        dialect=name,
        model=str(required(payload, "model")),
        stream=payload.get("stream") is True,
        pieces=pieces,
        tools=tuple(
            OfferedTool(name=str(tool.get("name")), schema=as_dict(tool.get("input_schema")))
            for tool in map(as_dict, as_list(payload.get("tools")))
        ),
        user_text=_last_user_text(messages),
        result_text=_trailing_results(messages),
        schema=as_dict(output_format.get("schema")) or None,
        wants_thinking=as_dict(payload.get("thinking")).get("type") in ("enabled", "adaptive"),
        payload=payload,
    )


def _mark(block: Any) -> int | None:
    control = as_dict(as_dict(block).get("cache_control"))
    return _TTL_S.get(control.get("ttl", "5m"), _TTL_S["5m"]) if control else None


def _pieces(payload: dict[str, Any], messages: list[dict[str, Any]]) -> tuple[Piece, ...]:
    """Tools, system, messages: the order in which the provider caches."""
    found = [piece("tool", tool, mark_s=_mark(tool)) for tool in as_list(payload.get("tools"))]
    found += [piece("system", block, mark_s=_mark(block)) for block in blocks_of(payload.get("system"))]
    for message in messages:
        role = str(message.get("role"))
        for block in blocks_of(message.get("content")):
            make = media_piece if as_dict(block).get("type") in ("image", "document") else piece
            found.append(make(role, block, mark_s=_mark(block)))
    whole = _mark(payload)
    if whole is not None and found:
        found[-1] = Piece(found[-1].data, whole)
    return tuple(found)


def _is_result(block: Any) -> bool:
    return as_dict(block).get("type") == "tool_result"


def _last_user_text(messages: list[dict[str, Any]]) -> str:
    for message in reversed(messages):
        blocks = blocks_of(message.get("content"))
        if message.get("role") == "user" and not any(map(_is_result, blocks)):
            return text_of(blocks)
    return ""


def _trailing_results(messages: list[dict[str, Any]]) -> str | None:
    """Text of the results after the last assistant message, if there are any."""
    results: list[str] = []
    for message in reversed(messages):
        if message.get("role") == "assistant":
            break
        results[:0] = [
            text_of(block.get("content")) for block in blocks_of(message.get("content")) if _is_result(block)
        ]
    return "\n\n".join(results) if results else None


def usage_payload(usage: Usage) -> dict[str, Any]:
    """Usage in Anthropic's words: the input parts are disjoint (accounting specification, section 7)."""
    write = usage.cache_write or 0
    write_1h = usage.cache_write_1h or 0
    return {
        "input_tokens": usage.input_fresh or 0,
        "cache_creation_input_tokens": write,
        "cache_read_input_tokens": usage.cache_read or 0,
        "cache_creation": {
            "ephemeral_5m_input_tokens": write - write_1h,
            "ephemeral_1h_input_tokens": write_1h,
        },
        "output_tokens": usage.output or 0,
        "service_tier": "standard",
    }


def _message(generation: Generation, content: list[dict[str, Any]], stop: str | None) -> dict[str, Any]:
    return {
        "id": f"msg_{generation.number:024d}",
        "type": "message",
        "role": "assistant",
        "model": generation.model,
        "content": content,
        "stop_reason": stop,
        "stop_sequence": None,
        "usage": usage_payload(generation.usage),
    }


def _content(generation: Generation) -> list[dict[str, Any]]:
    reply = generation.reply
    content: list[dict[str, Any]] = []
    if reply.thinking:
        signature = sign(reply.thinking, generation.prompt.payload)
        content.append({"type": "thinking", "thinking": reply.thinking, "signature": signature})
    if reply.text:
        content.append({"type": "text", "text": reply.text})
    for index, call in enumerate(reply.tool_calls):
        arguments = call.arguments if isinstance(call.arguments, dict) else {}
        content.append(
            {
                "type": "tool_use",
                "id": generation.call_id("toolu_", index),
                "name": call.name,
                "input": arguments,
            }
        )
    return content


def answer(generation: Generation) -> bytes:
    """The whole answer as one JSON body."""
    return encode(_message(generation, _content(generation), _STOP[generation.reply.stop_reason]))


def events(generation: Generation) -> list[bytes]:
    """The answer as its events, from `message_start` to `message_stop`."""
    reply = generation.reply
    start = _message(generation, [], None)
    start["usage"] = {**start["usage"], "output_tokens": 1}
    found = [_event({"type": "message_start", "message": start}), _event({"type": "ping"})]
    arguments = iter(reply.tool_calls)
    for index, block in enumerate(_content(generation)):
        if block["type"] == "thinking":
            empty: dict[str, Any] = {"type": "thinking", "thinking": "", "signature": ""}
            deltas: list[dict[str, Any]] = [
                {"type": "thinking_delta", "thinking": text} for text in fragments(reply.thinking, reply.fragment_chars)
            ]
            deltas.append({"type": "signature_delta", "signature": block["signature"]})
        elif block["type"] == "text":
            empty = {"type": "text", "text": ""}
            deltas = [{"type": "text_delta", "text": text} for text in fragments(reply.text, reply.fragment_chars)]
        else:
            empty = {**block, "input": {}}
            json_text = next(arguments).arguments_json
            deltas = [
                {"type": "input_json_delta", "partial_json": text}
                for text in ("", *fragments(json_text, reply.fragment_chars))
            ]
        found.append(_event({"type": "content_block_start", "index": index, "content_block": empty}))
        found += [_event({"type": "content_block_delta", "index": index, "delta": delta}) for delta in deltas]
        found.append(_event({"type": "content_block_stop", "index": index}))
    end = {"stop_reason": _STOP[reply.stop_reason], "stop_sequence": None}
    found.append(_event({"type": "message_delta", "delta": end, "usage": usage_payload(generation.usage)}))
    found.append(_event({"type": "message_stop"}))
    return found


def _event(data: dict[str, Any]) -> bytes:
    return event(data, data["type"])


def _error(status: int, message: str, code: str | None) -> dict[str, Any]:
    kind = code or _ERRORS.get(status, "api_error" if status >= 500 else "invalid_request_error")
    return {"type": "error", "error": {"type": kind, "message": message}}


def error(status: int, message: str, code: str | None = None, wait_s: float | None = None) -> bytes:
    """An error body; `code` replaces the type that goes with the status, the wait stands in the headers."""
    return encode(_error(status, message, code))


def error_event(status: int, message: str) -> bytes:
    """An error in the middle of a stream."""
    return event(_error(status, message, None), "error")


def rate_limit_headers(now_s: float, wait_s: float) -> list[tuple[str, str]]:
    """The headers that go with a 429: limits, nothing remaining, and when they reset (RFC 3339)."""
    reset = datetime.fromtimestamp(now_s + wait_s, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    headers: list[tuple[str, str]] = []
    for what, limit in (("requests", 50), ("input-tokens", 50_000), ("output-tokens", 10_000), ("tokens", 60_000)):
        prefix = f"anthropic-ratelimit-{what}"
        headers += [(f"{prefix}-limit", str(limit)), (f"{prefix}-remaining", "0"), (f"{prefix}-reset", reset)]
    return headers


def count(prompt: Prompt) -> bytes:
    """The answer of `count_tokens`."""
    return encode({"input_tokens": prompt.tokens})
