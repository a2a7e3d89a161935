"""The body of a request of OpenAI Responses: stateless, with the reasoning sealed in the answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ullage.core.profiles.thinking import find_thinking_rule
from ullage.core.translation.nouns import Call, Media, Reasoning, Result

from .common import (
    arguments_text,
    check_stops,
    data_url,
    drop_error_flag,
    drop_sampling,
    joined,
    openai_schema,
    schema_of,
    settle_sampling,
    with_readable,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ullage.core.translation.losses import Losses
    from ullage.core.translation.nouns import Message, Part, Request, Speaker, Tool, ToolChoice
    from ullage.core.translation.target import Target

_HOTTEST = 2.0
_LEAST_OUTPUT_TOKENS = 16
_USER_LIMIT_CHARS = 64
_ROLES: dict[Speaker, str] = {"system": "developer", "user": "user", "assistant": "assistant"}


def write(request: Request, target: Target, losses: Losses) -> dict[str, Any]:
    """The body, decoded. Raises `TranslationRefused`."""
    body: dict[str, Any] = {"model": target.model}
    if request.system:
        body["instructions"] = joined(request.system)
    body["input"] = [item for message in request.messages for item in _items(message, losses)]
    if request.tools:
        body["tools"] = [_tool(tool) for tool in request.tools]
        if request.tool_choice is not None:
            body["tool_choice"] = _tool_choice(request.tool_choice, request.tools)
        if request.parallel_tools is not None:
            body["parallel_tool_calls"] = request.parallel_tools
    body |= _text(request)
    body |= _sampling(request, target, losses)
    body |= _thinking(request, target)
    body |= _hints(request, losses)
    body["store"] = False
    return {**body, "stream": True} if request.stream else body


def _items(message: Message, losses: Losses) -> list[dict[str, Any]]:
    """The items of a message, in the order of its parts; texts and pictures in a row are one."""
    drop_error_flag([part for part in message.parts if isinstance(part, Result)], losses)
    items: list[dict[str, Any]] = []
    said: list[Part] = []
    for part in message.parts:
        item = _item(part)
        if item is None:
            said.append(part)
            continue
        items += [*_said(said, message.role), item]
        said = []
    return [*items, *_said(said, message.role)]


def _said(parts: list[Part], role: Speaker) -> list[dict[str, Any]]:
    """What the model said needs ids of OpenAI's own as blocks; as a text it needs none."""
    if not parts:
        return []
    content = joined(parts) if role == "assistant" else [_block(part) for part in parts]
    return [{"type": "message", "role": _ROLES[role], "content": content}]


def _item(part: Part) -> dict[str, Any] | None:
    match part:
        case Reasoning(text=text, seal=seal):
            summary = [{"type": "summary_text", "text": text}] if text else []
            item: dict[str, Any] = {"type": "reasoning", "id": seal.id if seal is not None else "", "summary": summary}
            return {**item, "encrypted_content": seal.data} if seal is not None and seal.data else item
        case Call(custom=True):
            return {"type": "custom_tool_call", "call_id": part.id, "name": part.name, "input": part.arguments}
        case Call():
            arguments = arguments_text(part)
            return {"type": "function_call", "call_id": part.id, "name": part.name, "arguments": arguments}
        case Result():
            kind = "custom_tool_call_output" if part.custom else "function_call_output"
            return {"type": kind, "call_id": part.id, "output": _output(part)}
        case _:
            return None


def _output(result: Result) -> Any:
    parts = [with_readable(part) for part in result.parts]
    if any(isinstance(part, Media) for part in parts):
        return [_block(part) for part in parts]
    return joined(parts)


def _block(part: Part) -> dict[str, Any]:
    readable = with_readable(part) if isinstance(part, Media) else part
    match readable:
        case Media(kind="image"):
            return {"type": "input_image", "image_url": data_url(readable), "detail": readable.detail or "auto"}
        case Media() if readable.url:
            return {"type": "input_file", "file_url": readable.url}
        case Media():
            return {
                "type": "input_file",
                "filename": readable.name or "document.pdf",
                "file_data": data_url(readable),
            }
        case _:
            return {"type": "input_text", "text": joined([readable])}


def _tool(tool: Tool) -> dict[str, Any]:
    if tool.custom:
        spec: dict[str, Any] = {"type": "custom", "name": tool.name, "description": tool.description}
        return {**spec, "format": tool.format} if tool.format is not None else spec
    return {
        "type": "function",
        "name": tool.name,
        "description": tool.description,
        "parameters": schema_of(tool),
        "strict": tool.strict is True,
    }


def _tool_choice(choice: ToolChoice, tools: Iterable[Tool]) -> Any:
    if choice.mode != "tool":
        return choice.mode
    custom = any(tool.custom and tool.name == choice.name for tool in tools)
    return {"type": "custom" if custom else "function", "name": choice.name}


def _text(request: Request) -> dict[str, Any]:
    text: dict[str, Any] = {}
    if request.format is not None and request.format.kind == "schema":
        text["format"] = {"type": "json_schema", **openai_schema(request.format)}
    elif request.format is not None:
        text["format"] = {"type": "json_object"}
    if request.verbosity:
        text["verbosity"] = request.verbosity
    return {"text": text} if text else {}


def _sampling(request: Request, target: Target, losses: Losses) -> dict[str, Any]:
    sampling = settle_sampling(request, target, losses, hottest=_HOTTEST)
    check_stops(sampling, 0)
    drop_sampling(sampling, losses, "top_k", "frequency_penalty", "presence_penalty", "seed")
    most = max(sampling.max_tokens, _LEAST_OUTPUT_TOKENS) if sampling.max_tokens is not None else None
    found = {"max_output_tokens": most, "temperature": sampling.temperature, "top_p": sampling.top_p}
    return {name: value for name, value in found.items() if value is not None}


def _thinking(request: Request, target: Target) -> dict[str, Any]:
    """Reasoning comes back sealed, so that the next call goes on with it; only models that reason take the wish."""
    if target.thinking is None and find_thinking_rule(target.model) is None:
        return {}
    found: dict[str, Any] = {"include": ["reasoning.encrypted_content"]}
    if request.effort is not None and request.effort.shown:
        found["reasoning"] = {"summary": "auto"}
    return found


def _hints(request: Request, losses: Losses) -> dict[str, Any]:
    hints: dict[str, Any] = {}
    if request.cache_key:
        hints["prompt_cache_key"] = request.cache_key
    if 0 < len(request.user) <= _USER_LIMIT_CHARS:
        hints["safety_identifier"] = request.user
    elif request.user:
        losses.add(
            "user", "user", f"The id of the user is longer than the {_USER_LIMIT_CHARS} characters the target takes."
        )
    return hints
