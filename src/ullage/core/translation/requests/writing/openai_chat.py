"""The body of a request of Chat Completions that every host of it takes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from ullage.core.translation.hosts import find_host
from ullage.core.translation.losses import refuse
from ullage.core.translation.models import is_openai, is_openai_reasoning, takes_parallel_tools
from ullage.core.translation.nouns import Call, Media, Message, Reasoning, Refusal, Result, Text
from ullage.core.translation.tellings import tell_penalties

from .common import (
    arguments_text,
    check_stops,
    data_url,
    description_of,
    drop_error_flag,
    drop_sampling,
    drop_strict,
    joined,
    openai_schema,
    schema_of,
    settle_sampling,
    with_readable,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ullage.core.translation.hosts import Host
    from ullage.core.translation.losses import Losses
    from ullage.core.translation.nouns import Part, Request, Tool, ToolChoice
    from ullage.core.translation.target import Target

_STOPS = 4
_HOTTEST = 2.0
_USER_LIMIT_CHARS = 64


def write(request: Request, target: Target, losses: Losses) -> dict[str, Any]:
    """The body, decoded. Raises `TranslationRefused`."""
    host = find_host(target.provider)
    body: dict[str, Any] = {"model": target.model, "messages": _messages(request, host, losses)}
    if request.tools:
        body["tools"] = [_tool(tool, target, losses) for tool in request.tools]
        if request.tool_choice is not None:
            body["tool_choice"] = _tool_choice(request.tool_choice)
        if request.parallel_tools is not None and takes_parallel_tools(target.model):
            body["parallel_tool_calls"] = request.parallel_tools
    if request.format is not None:
        schema = request.format.kind == "schema"
        body["response_format"] = (
            {"type": "json_schema", "json_schema": openai_schema(request.format)} if schema else {"type": "json_object"}
        )
    body |= _sampling(request, target, host, losses)
    body |= _hints(request, target, losses)
    if request.stream:
        body["stream"] = True
        if host.usage_options:
            body["stream_options"] = {"include_usage": True}
    return body


def _messages(request: Request, host: Host, losses: Losses) -> list[dict[str, Any]]:
    written: list[dict[str, Any]] = []
    if request.system:
        written.append({"role": "system", "content": joined(request.system)})
    loop = _loop_start(request.messages)
    for place, message in enumerate(request.messages):
        if message.role == "assistant":
            written.append(_assistant(message, with_reasoning=host.reasoning and place > loop))
        else:
            written += _user(message, losses)
    return written


def _loop_start(messages: Sequence[Message]) -> int:
    """The place of the last message of the user that opens a turn; one that carries a result opens none (design, section 11)."""
    places = [
        place
        for place, message in enumerate(messages)
        if message.role == "user" and not any(isinstance(part, Result) for part in message.parts)
    ]
    return places[-1] if places else -1


def _assistant(message: Message, *, with_reasoning: bool) -> dict[str, Any]:
    """DeepSeek and its kin want the thinking of an open tool loop back, and no other."""
    calls = [_call(part) for part in message.parts if isinstance(part, Call)]
    thoughts = "".join(part.text for part in message.parts if isinstance(part, Reasoning))
    written: dict[str, Any] = {"role": "assistant", "content": joined(message.parts) or None}
    if thoughts and with_reasoning:
        written["reasoning_content"] = thoughts
    if calls:
        written["tool_calls"] = calls
    return written


def _call(call: Call) -> dict[str, Any]:
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": arguments_text(call)}}


def _user(message: Message, losses: Losses) -> list[dict[str, Any]]:
    """Results are messages of their own, of text; the pictures in them follow in one of the user."""
    results = [part for part in message.parts if isinstance(part, Result)]
    drop_error_flag(results, losses)
    written: list[dict[str, Any]] = [_result(result) for result in results]
    blocks = [block for result in results for block in _pictures(result)]
    blocks += [_block(part) for part in message.parts if not isinstance(part, Result)]
    if blocks:
        written.append({"role": "user", "content": _plain(blocks)})
    return written


def _plain(blocks: list[dict[str, Any]]) -> Any:
    """Texts alone as one text: not every host takes blocks."""
    if any(block["type"] != "text" for block in blocks):
        return blocks
    return "\n\n".join(block["text"] for block in blocks)


def _result(result: Result) -> dict[str, Any]:
    parts = [with_readable(part) for part in result.parts]
    return {"role": "tool", "tool_call_id": result.id, "content": joined(parts)}


def _pictures(result: Result) -> list[dict[str, Any]]:
    media = [part for part in map(with_readable, result.parts) if isinstance(part, Media)]
    if not media:
        return []
    return [{"type": "text", "text": f"From the result of the call {result.id}:"}, *map(_block, media)]


def _block(part: Part) -> dict[str, Any]:
    readable = with_readable(part) if isinstance(part, Media) else part
    match readable:
        case Text(text=text) | Refusal(text=text):
            return {"type": "text", "text": text}
        case Media(kind="image"):
            detail = {"detail": readable.detail} if readable.detail else {}
            return {"type": "image_url", "image_url": {"url": data_url(readable), **detail}}
        case Media() if readable.url:
            raise refuse("messages.document", "the target's protocol takes no documents by their address.")
        case Media():
            return {
                "type": "file",
                "file": {"filename": readable.name or "document.pdf", "file_data": data_url(readable)},
            }
        case _:
            raise refuse("messages", "calls and reasoning of the user have no place in the target's protocol.")


def _tool(tool: Tool, target: Target, losses: Losses) -> dict[str, Any]:
    function: dict[str, Any] = {
        "name": tool.name,
        "description": description_of(tool),
        "parameters": schema_of(tool),
    }
    if tool.strict is not None and is_openai(target.model):
        function["strict"] = tool.strict
    elif tool.strict:
        drop_strict([tool], losses)
    return {"type": "function", "function": function}


def _tool_choice(choice: ToolChoice) -> Any:
    return {"type": "function", "function": {"name": choice.name}} if choice.mode == "tool" else choice.mode


def _sampling(request: Request, target: Target, host: Host, losses: Losses) -> dict[str, Any]:
    sampling = settle_sampling(request, target, losses, hottest=_HOTTEST)
    drop_sampling(sampling, losses, "top_k")
    reasons = is_openai_reasoning(target.model)
    stop = check_stops(sampling, 0 if reasons else _STOPS)
    if reasons and (sampling.frequency_penalty or sampling.presence_penalty):
        tell_penalties(losses)
    if reasons:
        sampling = replace(sampling, frequency_penalty=None, presence_penalty=None)
    found = {
        "max_completion_tokens" if reasons else "max_tokens": sampling.max_tokens,
        "temperature": sampling.temperature,
        "top_p": sampling.top_p,
        "stop": stop or None,
        "frequency_penalty": sampling.frequency_penalty,
        "presence_penalty": sampling.presence_penalty,
        host.seed: sampling.seed,
    }
    return {name: value for name, value in found.items() if value is not None}


def _hints(request: Request, target: Target, losses: Losses) -> dict[str, Any]:
    """What only OpenAI's own models know; a hint about caching that is not sent changes no answer."""
    own = is_openai(target.model)
    hints: dict[str, Any] = {}
    if own and request.cache_key:
        hints["prompt_cache_key"] = request.cache_key
    if request.verbosity and own:
        hints["verbosity"] = request.verbosity
    elif request.verbosity:
        losses.add("verbosity", "verbosity", "The target is not told how long its answer should be.")
    if 0 < len(request.user) <= _USER_LIMIT_CHARS:
        hints["user"] = request.user
    elif request.user:
        losses.add(
            "user", "user", f"The id of the user is longer than the {_USER_LIMIT_CHARS} characters the target takes."
        )
    return hints
