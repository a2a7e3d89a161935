"""OpenAI Chat Completions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ullage.testing.prompt import (
    OfferedTool,
    Piece,
    Prompt,
    as_dict,
    as_list,
    blocks_of,
    last_user_text,
    media_piece,
    piece,
    required,
    trailing_text,
)

from .events import encode, event, fragments
from .openai_errors import error, error_event, rate_limit_headers

if TYPE_CHECKING:
    from ullage.core.content import Usage
    from ullage.core.wire import Dialect
    from ullage.testing.prompt import Generation

__all__ = [
    "END",
    "PING",
    "REQUEST_ID",
    "answer",
    "error",
    "error_event",
    "events",
    "name",
    "rate_limit_headers",
    "read",
]

name: Dialect = "openai-chat"
PING = b""
END: list[bytes] = [b"data: [DONE]\n\n"]
REQUEST_ID = "x-request-id"

_STOP = {
    "end": "stop",
    "length": "length",
    "tool_calls": "tool_calls",
    "stop_sequence": "stop",
    "refusal": "content_filter",
    "pause": "stop",
}
_MEDIA = ("image_url", "input_audio", "file")


def read(payload: dict[str, Any], model: str | None, stream: bool | None) -> Prompt:
    """Reads a Chat Completions request."""
    messages = [as_dict(message) for message in as_list(required(payload, "messages"))]
    tools = [as_dict(tool) for tool in as_list(payload.get("tools"))]
    response_format = as_dict(payload.get("response_format"))
    return Prompt(
        dialect=name,
        model=str(required(payload, "model")),
        stream=payload.get("stream") is True,
        pieces=_pieces(tools, messages),
        tools=tuple(_offered(tool) for tool in tools),
        user_text=last_user_text(messages),
        result_text=trailing_text(messages, lambda message: message.get("role") == "tool", "content"),
        schema=as_dict(as_dict(response_format.get("json_schema")).get("schema")) or None,
        wants_json=response_format.get("type") == "json_object",
        include_usage=as_dict(payload.get("stream_options")).get("include_usage") is True,
        payload=payload,
    )


def _offered(tool: dict[str, Any]) -> OfferedTool:
    if tool.get("type") == "custom":
        return OfferedTool(name=str(as_dict(tool.get("custom")).get("name")), custom=True)
    function = as_dict(tool.get("function"))
    return OfferedTool(name=str(function.get("name")), schema=as_dict(function.get("parameters")))


def _pieces(tools: list[dict[str, Any]], messages: list[dict[str, Any]]) -> tuple[Piece, ...]:
    found = [piece("tool", tool) for tool in tools]
    for message in messages:
        role = str(message.get("role"))
        for block in blocks_of(message.get("content")):
            make = media_piece if as_dict(block).get("type") in _MEDIA else piece
            found.append(make(role, block))
        rest = {key: message[key] for key in ("name", "tool_calls", "tool_call_id") if message.get(key)}
        if rest:
            found.append(piece(role, rest))
    return tuple(found)


def usage_payload(usage: Usage) -> dict[str, Any]:
    """Usage in OpenAI's words: cached tokens are inside the prompt (accounting specification, section 7)."""
    prompt, output = usage.prompt or 0, usage.output or 0
    details = {"cached_tokens": usage.cache_read or 0, "audio_tokens": 0}
    if usage.cache_write:
        details["cache_write_tokens"] = usage.cache_write
    return {
        "prompt_tokens": prompt,
        "completion_tokens": output,
        "total_tokens": prompt + output,
        "prompt_tokens_details": details,
        "completion_tokens_details": {
            "reasoning_tokens": usage.reasoning or 0,
            "audio_tokens": 0,
            "accepted_prediction_tokens": 0,
            "rejected_prediction_tokens": 0,
        },
    }


def _tool_call(generation: Generation, index: int, arguments: str) -> dict[str, Any]:
    call = generation.reply.tool_calls[index]
    body: dict[str, Any] = {"id": generation.call_id("call_", index)}
    if any(tool.custom and tool.name == call.name for tool in generation.prompt.tools):
        return {**body, "type": "custom", "custom": {"name": call.name, "input": arguments}}
    return {**body, "type": "function", "function": {"name": call.name, "arguments": arguments}}


def _envelope(generation: Generation, kind: str) -> dict[str, Any]:
    return {
        "id": f"chatcmpl-{generation.number:024d}",
        "object": kind,
        "created": int(generation.created_s),
        "model": generation.model,
        "service_tier": "default",
        "system_fingerprint": "fp_fake",
    }


def answer(generation: Generation) -> bytes:
    """The whole answer as one JSON body."""
    reply = generation.reply
    message: dict[str, Any] = {
        "role": "assistant",
        "content": reply.text or None,
        "refusal": None,
        "annotations": [],
    }
    if reply.thinking:
        message["reasoning_content"] = reply.thinking
    if reply.tool_calls:
        message["tool_calls"] = [
            _tool_call(generation, index, call.arguments_json) for index, call in enumerate(reply.tool_calls)
        ]
    choice = {
        "index": 0,
        "message": message,
        "logprobs": None,
        "finish_reason": _STOP[reply.stop_reason],
    }
    return encode(
        {
            **_envelope(generation, "chat.completion"),
            "choices": [choice],
            "usage": usage_payload(generation.usage),
        }
    )


def events(generation: Generation) -> list[bytes]:
    """The answer as chunks, from the role to `[DONE]`; the usage chunk only when it was asked for."""
    reply, size = generation.reply, generation.reply.fragment_chars
    envelope = _envelope(generation, "chat.completion.chunk")
    if generation.prompt.include_usage:
        envelope["usage"] = None

    def chunk(delta: dict[str, Any], finish: str | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        return event({**envelope, "choices": [choice]})

    found = [chunk({"role": "assistant", "content": "", "refusal": None})]
    found += [chunk({"reasoning_content": text}) for text in fragments(reply.thinking, size)]
    found += [chunk({"content": text}) for text in fragments(reply.text, size)]
    for index, call in enumerate(reply.tool_calls):
        first = _tool_call(generation, index, "")
        found.append(chunk({"tool_calls": [{"index": index, **first}]}))
        field = "input" if first["type"] == "custom" else "arguments"
        for text in fragments(call.arguments_json, size):
            found.append(chunk({"tool_calls": [{"index": index, first["type"]: {field: text}}]}))
    found.append(chunk({}, _STOP[reply.stop_reason]))
    if generation.prompt.include_usage:
        found.append(event({**envelope, "choices": [], "usage": usage_payload(generation.usage)}))
    found.append(b"data: [DONE]\n\n")
    return found
