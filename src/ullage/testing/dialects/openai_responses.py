"""OpenAI Responses."""

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

from .events import encode, event, fragments, seal
from .openai_errors import error, rate_limit_headers

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

name: Dialect = "openai-responses"
PING = b""
END: list[bytes] = []
REQUEST_ID = "x-request-id"

_MEDIA = ("input_image", "input_file", "input_audio")
_RESULTS = ("function_call_output", "custom_tool_call_output", "local_shell_call_output")


def read(payload: dict[str, Any], model: str | None, stream: bool | None) -> Prompt:
    """Reads a Responses request."""
    required(payload, "input")
    items = input_items(payload) or [{}]
    tools = [as_dict(tool) for tool in [*as_list(payload.get("tools")), *_tools_in(items)]]
    text_format = as_dict(as_dict(payload.get("text")).get("format"))
    previous = payload.get("previous_response_id")
    return Prompt(
        dialect=name,
        model=str(required(payload, "model")),
        stream=payload.get("stream") is True,
        pieces=_pieces(payload, tools, items),
        tools=tuple(offered for tool in tools for offered in _offered(tool)),
        user_text=last_user_text(items),
        result_text=trailing_text(items, lambda item: item.get("type") in _RESULTS, "output"),
        schema=as_dict(text_format.get("schema")) or None,
        wants_json=text_format.get("type") == "json_object",
        wants_thinking="reasoning.encrypted_content" in as_list(payload.get("include")),
        previous_response_id=previous if isinstance(previous, str) else None,
        store=payload.get("store") is not False,
        asks_compaction=items[-1].get("type") == "compaction_trigger",
        is_compacted=items[-1].get("type") == "compaction",
        payload=payload,
    )


def input_items(payload: dict[str, Any]) -> list[dict[str, Any]]:
    """The input as a list of items: a string is one user message."""
    given = payload.get("input")
    if isinstance(given, str):
        return [{"type": "message", "role": "user", "content": given}]
    return [as_dict(item) for item in as_list(given)]


def _tools_in(items: list[dict[str, Any]]) -> list[Any]:
    """Tools that are defined by items of the input (Codex 0.171 with its newest models) and not beside it."""
    return [tool for item in items if item.get("type") == "additional_tools" for tool in as_list(item.get("tools"))]


def _offered(tool: dict[str, Any], namespace: str | None = None) -> list[OfferedTool]:
    """The callable tools in one entry: a namespace holds several, hosted tools none."""
    if tool.get("type") == "namespace":
        inner_tools = map(as_dict, as_list(tool.get("tools")))
        return [offered for inner in inner_tools for offered in _offered(inner, str(tool.get("name")))]
    if tool.get("type") not in ("function", "custom"):
        return []
    custom = tool.get("type") == "custom"
    schema = as_dict(tool.get("parameters"))
    return [OfferedTool(name=str(tool.get("name")), namespace=namespace, schema=schema, custom=custom)]


def _pieces(payload: dict[str, Any], tools: list[dict[str, Any]], items: list[dict[str, Any]]) -> tuple[Piece, ...]:
    found = [piece("tool", tool) for tool in tools]
    if isinstance(payload.get("instructions"), str):
        found.append(piece("system", payload["instructions"]))
    for item in items:
        if "role" not in item:
            found.append(piece("item", {key: value for key, value in item.items() if key not in ("id", "status")}))
            continue
        for block in blocks_of(item.get("content")):
            kind = as_dict(block).get("type")
            if kind in _MEDIA:
                found.append(media_piece(str(item["role"]), block))
            else:
                text = as_dict(block).get("text")
                found.append(piece(str(item["role"]), text if isinstance(text, str) else block))
    return tuple(found)


def usage_payload(usage: Usage) -> dict[str, Any]:
    """Usage in OpenAI's words: cached tokens are inside the input (accounting specification, section 7)."""
    prompt, output = usage.prompt or 0, usage.output or 0
    details = {"cached_tokens": usage.cache_read or 0}
    if usage.cache_write:
        details["cache_write_tokens"] = usage.cache_write
    return {
        "input_tokens": prompt,
        "input_tokens_details": details,
        "output_tokens": output,
        "output_tokens_details": {"reasoning_tokens": usage.reasoning or 0},
        "total_tokens": prompt + output,
    }


def response_id(generation: Generation) -> str:
    """The id under which this answer can be continued."""
    return f"resp_{generation.number:032d}"


def output_items(generation: Generation) -> list[dict[str, Any]]:
    """The items of the answer, finished."""
    reply, number = generation.reply, generation.number
    if generation.prompt.asks_compaction:
        return [{"id": f"cmp_{number:08d}", "type": "compaction", "encrypted_content": seal(reply.text)}]
    items: list[dict[str, Any]] = []
    if reply.thinking:
        items.append(
            {
                "id": f"rs_{number:08d}",
                "type": "reasoning",
                "summary": [{"type": "summary_text", "text": reply.thinking}],
                "encrypted_content": seal(reply.thinking),
            }
        )
    if reply.text:
        part = {"type": "output_text", "annotations": [], "logprobs": [], "text": reply.text}
        items.append(
            {
                "id": f"msg_{number:08d}",
                "type": "message",
                "status": "completed",
                "content": [part],
                "role": "assistant",
            }
        )
    items += [_call_item(generation, index) for index in range(len(reply.tool_calls))]
    return items


def _call_item(generation: Generation, index: int) -> dict[str, Any]:
    call = generation.reply.tool_calls[index]
    call_id = generation.call_id("call_", index)
    tool = next((tool for tool in generation.prompt.tools if tool.name == call.name), None)
    common = {"status": "completed", "call_id": call_id, "name": call.name}
    if tool is not None and tool.namespace is not None:
        common["namespace"] = tool.namespace
    if tool is not None and tool.custom:
        return {
            "id": f"ctc_{call_id}",
            "type": "custom_tool_call",
            "input": call.arguments_json,
            **common,
        }
    return {"id": f"fc_{call_id}", "type": "function_call", "arguments": call.arguments_json, **common}


def _response(generation: Generation, status: str, output: list[dict[str, Any]]) -> dict[str, Any]:
    payload = generation.prompt.payload
    finished = status != "in_progress"
    return {
        "id": response_id(generation),
        "object": "response",
        "created_at": int(generation.created_s),
        "status": status,
        "background": False,
        "error": None,
        "incomplete_details": {"reason": "max_output_tokens"} if status == "incomplete" else None,
        "instructions": payload.get("instructions"),
        "max_output_tokens": payload.get("max_output_tokens"),
        "model": generation.model,
        "output": output,
        "parallel_tool_calls": payload.get("parallel_tool_calls", True),
        "previous_response_id": payload.get("previous_response_id"),
        "reasoning": payload.get("reasoning") or {"effort": None, "summary": None},
        "service_tier": "default",
        "store": generation.prompt.store,
        "temperature": payload.get("temperature", 1.0),
        "text": payload.get("text") or {"format": {"type": "text"}},
        "tool_choice": payload.get("tool_choice", "auto"),
        "tools": as_list(payload.get("tools")),
        "top_p": payload.get("top_p", 1.0),
        "truncation": payload.get("truncation", "disabled"),
        "usage": usage_payload(generation.usage) if finished else None,
        "user": None,
        "metadata": payload.get("metadata") or {},
    }


def _status(generation: Generation) -> str:
    return "incomplete" if generation.reply.stop_reason == "length" else "completed"


def answer(generation: Generation) -> bytes:
    """The whole answer as one JSON body."""
    return encode(_response(generation, _status(generation), output_items(generation)))


def events(generation: Generation) -> list[bytes]:
    """The answer as its events, from `response.created` to `response.completed`."""
    output = output_items(generation)
    data: list[dict[str, Any]] = [
        {"type": "response.created", "response": _response(generation, "in_progress", [])},
        {"type": "response.in_progress", "response": _response(generation, "in_progress", [])},
    ]
    for index, item in enumerate(output):
        data += _item_events(index, item, generation.reply.fragment_chars)
    status = _status(generation)
    data.append({"type": f"response.{status}", "response": _response(generation, status, output)})
    return [
        event({"type": fields.pop("type"), "sequence_number": number, **fields}, kind)
        for number, fields in enumerate(data)
        if (kind := fields["type"])
    ]


def _item_events(index: int, item: dict[str, Any], size: int) -> list[dict[str, Any]]:
    makers = {
        "message": _message_events,
        "reasoning": _reasoning_events,
        "function_call": _function_events,
        "custom_tool_call": _custom_events,
    }
    place = {"item_id": item["id"], "output_index": index}
    maker = makers.get(item["type"])
    opened, inner = maker(item, place, size) if maker else (item, [])
    return [
        {"type": "response.output_item.added", "output_index": index, "item": opened},
        *inner,
        {"type": "response.output_item.done", "output_index": index, "item": item},
    ]


_Opened = tuple[dict[str, Any], list[dict[str, Any]]]


def _message_events(item: dict[str, Any], place: dict[str, Any], size: int) -> _Opened:
    part = item["content"][0]
    where = {**place, "content_index": 0}
    return {**item, "status": "in_progress", "content": []}, [
        {"type": "response.content_part.added", **where, "part": {**part, "text": ""}},
        *(
            {"type": "response.output_text.delta", **where, "delta": text, "logprobs": []}
            for text in fragments(part["text"], size)
        ),
        {"type": "response.output_text.done", **where, "text": part["text"], "logprobs": []},
        {"type": "response.content_part.done", **where, "part": part},
    ]


def _reasoning_events(item: dict[str, Any], place: dict[str, Any], size: int) -> _Opened:
    part = item["summary"][0]
    where = {**place, "summary_index": 0}
    return {**item, "summary": [], "encrypted_content": ""}, [
        {"type": "response.reasoning_summary_part.added", **where, "part": {**part, "text": ""}},
        *(
            {"type": "response.reasoning_summary_text.delta", **where, "delta": text}
            for text in fragments(part["text"], size)
        ),
        {"type": "response.reasoning_summary_text.done", **where, "text": part["text"]},
        {"type": "response.reasoning_summary_part.done", **where, "part": part},
    ]


def _function_events(item: dict[str, Any], place: dict[str, Any], size: int) -> _Opened:
    kind, arguments = "response.function_call_arguments", item["arguments"]
    return {**item, "status": "in_progress", "arguments": ""}, [
        *({"type": f"{kind}.delta", **place, "delta": text} for text in fragments(arguments, size)),
        {"type": f"{kind}.done", **place, "name": item["name"], "arguments": arguments},
    ]


def _custom_events(item: dict[str, Any], place: dict[str, Any], size: int) -> _Opened:
    kind, given = "response.custom_tool_call_input", item["input"]
    return {**item, "status": "in_progress", "input": ""}, [
        *({"type": f"{kind}.delta", **place, "delta": text} for text in fragments(given, size)),
        {"type": f"{kind}.done", **place, "input": given},
    ]


def count(prompt: Prompt) -> bytes:
    """The answer of `input_tokens`."""
    return encode({"object": "response.input_tokens", "input_tokens": prompt.tokens})


def error_event(status: int, message: str) -> bytes:
    """An error in the middle of a stream."""
    code = "rate_limit_exceeded" if status == 429 else "server_error"
    return event({"type": "error", "sequence_number": 0, "code": code, "message": message, "param": None}, "error")
