"""The body of a request of Anthropic Messages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from ullage.core.profiles.thinking import find_thinking_rule
from ullage.core.translation.nouns import REDACTED, Call, Media, Reasoning, Refusal, Result, Text
from ullage.core.translation.schemas import anthropic_schema

from .common import (
    arguments_object,
    description_of,
    drop_sampling,
    drop_strict,
    mime_of,
    schema_of,
    settle_sampling,
    with_readable,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ullage.core.translation.losses import Losses
    from ullage.core.translation.nouns import Mark, Message, Part, Request, Sampling, Tool, ToolChoice
    from ullage.core.translation.target import Target

DEFAULT_MAX_TOKENS = 8_192
"""The longest answer where neither the client nor anybody else says: every model since Claude 3.5 can give as much."""

MARKS_LIMIT = 4
_HOTTEST = 1.0
_USUAL_TEMPERATURE = 1.0
_LEAST_TOP_P = 0.95
_USER_LIMIT_CHARS = 256
_MODES = {"auto": "auto", "required": "any", "none": "none"}


def write(request: Request, target: Target, losses: Losses) -> dict[str, Any]:
    """The body, decoded. Raises `TranslationRefused`."""
    drop_strict(request.tools, losses)
    system = [_text(part) for part in request.system]
    body: dict[str, Any] = {"model": target.model, **_sampling(request, target, losses)}
    if request.tools:
        body["tools"] = [_tool(tool) for tool in request.tools]
        choice = _tool_choice(request.tool_choice, request.parallel_tools)
        if choice is not None:
            body["tool_choice"] = choice
    if system:
        body["system"] = system
    body["messages"] = [_message(message) for message in request.messages]
    if request.format is not None:
        schema = anthropic_schema(request.format.schema or {}, losses)
        body["output_config"] = {"format": {"type": "json_schema", "schema": schema}}
    _say_hints(request, body, losses)
    if request.stream:
        body["stream"] = True
    _set_marks(body)
    return body


def _message(message: Message) -> dict[str, Any]:
    return {"role": message.role, "content": [_block(part) for part in message.parts]}


def _block(part: Part) -> dict[str, Any]:
    match part:
        case Text():
            return _text(part)
        case Refusal(text=text):
            return {"type": "text", "text": text}
        case Media():
            return _media(part)
        case Reasoning(seal=seal) if seal is not None and seal.id == REDACTED:
            return {"type": "redacted_thinking", "data": seal.data}
        case Reasoning(text=text, seal=seal):
            return {"type": "thinking", "thinking": text, "signature": seal.data if seal is not None else ""}
        case Call():
            return _marked(
                {"type": "tool_use", "id": part.id, "name": part.name, "input": arguments_object(part)}, part.mark
            )
        case Result():
            return _result(part)


def _text(part: Text) -> dict[str, Any]:
    return _marked({"type": "text", "text": part.text}, part.mark)


def _media(part: Media) -> dict[str, Any]:
    named = {"title": part.name} if part.name and part.kind == "document" else {}
    if part.url:
        return _marked({"type": part.kind, "source": {"type": "url", "url": part.url}, **named}, part.mark)
    readable = with_readable(part)
    if isinstance(readable, Text):
        return _text(readable)
    source = {"type": "base64", "media_type": mime_of(part), "data": part.data}
    return _marked({"type": part.kind, "source": source, **named}, part.mark)


def _result(result: Result) -> dict[str, Any]:
    content = [_block(part) for part in result.parts if not (isinstance(part, Text) and not part.text.strip())]
    block: dict[str, Any] = {"type": "tool_result", "tool_use_id": result.id}
    if content:
        block["content"] = content
    if result.is_error:
        block["is_error"] = True
    return _marked(block, result.mark)


def _marked(block: dict[str, Any], mark: Mark | None) -> dict[str, Any]:
    return block if mark is None else {**block, "cache_control": mark}


def _tool(tool: Tool) -> dict[str, Any]:
    spec = {"name": tool.name, "description": description_of(tool), "input_schema": schema_of(tool)}
    return _marked(spec, tool.mark)


def _tool_choice(choice: ToolChoice | None, parallel: bool | None) -> dict[str, Any] | None:
    if choice is None and parallel is not False:
        return None
    mode = choice.mode if choice is not None else "auto"
    said: dict[str, Any] = (
        {"type": "tool", "name": choice.name} if choice is not None and mode == "tool" else {"type": _MODES[mode]}
    )
    return {**said, "disable_parallel_tool_use": True} if parallel is False and mode != "none" else said


def _sampling(request: Request, target: Target, losses: Losses) -> dict[str, Any]:
    sampling = settle_sampling(request, target, losses, hottest=_HOTTEST)
    drop_sampling(sampling, losses, "frequency_penalty", "presence_penalty", "seed")
    if sampling.temperature == _USUAL_TEMPERATURE:
        sampling = replace(sampling, temperature=None)
    if sampling.temperature is not None and sampling.top_p is not None:
        losses.add("sampling", "top_p", "The target takes a temperature or top_p, not both.")
        sampling = replace(sampling, top_p=None)
    if _will_think(request, target):
        sampling = _fit_for_thinking(sampling, losses)
    found = {
        "max_tokens": sampling.max_tokens or target.max_output_tokens or DEFAULT_MAX_TOKENS,
        "temperature": sampling.temperature,
        "top_p": sampling.top_p,
        "top_k": sampling.top_k,
        "stop_sequences": list(sampling.stop) or None,
    }
    return {name: value for name, value in found.items() if value is not None}


def _will_think(request: Request, target: Target) -> bool:
    wants = request.effort is not None and request.effort.level != "off"
    return wants and (target.thinking is not None or find_thinking_rule(target.model) is not None)


def _fit_for_thinking(sampling: Sampling, losses: Losses) -> Sampling:
    """Who asks for thinking gets it: it bears more on the answer than the sampling that it forbids."""
    fit = replace(sampling, temperature=None, top_k=None)
    if sampling.top_p is not None and sampling.top_p < _LEAST_TOP_P:
        fit = replace(fit, top_p=None)
    for name in ("temperature", "top_p", "top_k"):
        if getattr(fit, name) != getattr(sampling, name):
            losses.add("sampling", name, "A model that thinks does not take it.")
    return fit


def _say_hints(request: Request, body: dict[str, Any], losses: Losses) -> None:
    if 0 < len(request.user) <= _USER_LIMIT_CHARS:
        body["metadata"] = {"user_id": request.user}
    elif request.user:
        losses.add(
            "user", "user", f"The id of the user is longer than the {_USER_LIMIT_CHARS} characters the target takes."
        )
    if request.verbosity:
        losses.add("verbosity", "verbosity", "The target is not told how long its answer should be.")


def _set_marks(body: dict[str, Any]) -> None:
    """Four cache marks at most: the first, which the most requests share, and the last ones, which reach furthest.

    Elsewhere caches need no marks, so a conversation without any gets two: behind what all of its requests begin with, and at its
    end. One question alone gets none: what nobody reads again is not worth writing.
    """
    marked = [block for block in _blocks(body) if "cache_control" in block]
    for block in marked[1 : len(marked) - MARKS_LIMIT + 1]:
        del block["cache_control"]
    if not marked and ("tools" in body or len(body["messages"]) > 1):
        head = body.get("system") or body.get("tools") or ()
        for block in (*head[-1:], body["messages"][-1]["content"][-1]):
            block["cache_control"] = {"type": "ephemeral"}


def _blocks(body: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield from body.get("tools", ())
    yield from body.get("system", ())
    for message in body["messages"]:
        for block in message["content"]:
            yield from block.get("content", ())
            yield block
