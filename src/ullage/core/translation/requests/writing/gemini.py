"""The body of a request of Gemini generateContent; model and streaming stand in its path."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ullage.core.translation.models import wants_signed_calls
from ullage.core.translation.nouns import UNSIGNED, Call, Media, Reasoning, Refusal, Result, Text
from ullage.core.translation.schemas import gemini_schema

from .common import (
    arguments_object,
    check_stops,
    description_of,
    drop_strict,
    joined,
    linked_mime,
    mime_of,
    schema_of,
    settle_sampling,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ullage.core.translation.losses import Losses
    from ullage.core.translation.nouns import AnswerFormat, Message, Part, Request, Tool, ToolChoice, ToolMode
    from ullage.core.translation.target import Target

_STOPS = 5
_HOTTEST = 2.0
_MODES: Mapping[ToolMode, str] = {"auto": "AUTO", "none": "NONE", "required": "ANY", "tool": "ANY"}


def write(request: Request, target: Target, losses: Losses) -> dict[str, Any]:
    """The body, decoded. Raises `TranslationRefused`."""
    drop_strict(request.tools, losses)
    body: dict[str, Any] = {}
    if request.system:
        body["systemInstruction"] = {"parts": [{"text": part.text} for part in request.system]}
    signed = wants_signed_calls(target.model)
    body["contents"] = [_content(message, signed=signed) for message in request.messages]
    if request.tools:
        body["tools"] = [{"functionDeclarations": [_declaration(tool, losses) for tool in request.tools]}]
        if request.tool_choice is not None:
            body["toolConfig"] = {"functionCallingConfig": _tool_choice(request.tool_choice)}
        if request.parallel_tools is False:
            losses.add("parallel_tools", "parallel_tool_calls", "The target may call several tools at once.")
    config = _config(request, target, losses)
    if config:
        body["generationConfig"] = config
    _tell_hints(request, losses)
    return body


def _content(message: Message, *, signed: bool) -> dict[str, Any]:
    """The parts of a message. A seal belongs to the call or the text behind it; pictures stand beside their result."""
    parts: list[dict[str, Any]] = []
    beside: list[dict[str, Any]] = []
    signature, called = "", False
    for part in message.parts:
        if isinstance(part, Reasoning):
            signature = part.seal.data if part.seal is not None else ""
            continue
        written = _part(part)
        if isinstance(part, Call) and signed and not called:
            signature = signature or UNSIGNED[0]
        called = called or isinstance(part, Call)
        parts.append({**written, "thoughtSignature": signature} if signature else written)
        signature = ""
        if isinstance(part, Result):
            beside += [_part(media) for media in part.parts if isinstance(media, Media)]
    last = sum("functionResponse" in part for part in parts)
    return {
        "role": "model" if message.role == "assistant" else "user",
        "parts": [*parts[:last], *beside, *parts[last:]],
    }


def _part(part: Part) -> dict[str, Any]:
    match part:
        case Text(text=text) | Refusal(text=text):
            return {"text": text}
        case Media() if part.url:
            # Google finds out by itself what an address holds, unless it is told something else.
            mime = part.mime or linked_mime(part.url)
            return {"fileData": {**({"mimeType": mime} if mime else {}), "fileUri": part.url}}
        case Media():
            return {"inlineData": {"mimeType": mime_of(part), "data": part.data}}
        case Call():
            return {"functionCall": {"name": part.name, "args": arguments_object(part)}}
        case Result():
            said = {"error" if part.is_error else "output": joined(part.parts)}
            return {"functionResponse": {"name": part.name, "response": said}}
        case Reasoning(text=text):
            return {"text": text, "thought": True}


def _declaration(tool: Tool, losses: Losses) -> dict[str, Any]:
    declaration: dict[str, Any] = {"name": tool.name, "description": description_of(tool)}
    schema = gemini_schema(schema_of(tool), losses, where=f"tools.{tool.name}")
    # An object without properties is refused; a function without parameters is not.
    return {**declaration, "parameters": schema} if schema.get("properties") else declaration


def _tool_choice(choice: ToolChoice) -> dict[str, Any]:
    config: dict[str, Any] = {"mode": _MODES[choice.mode]}
    return {**config, "allowedFunctionNames": [choice.name]} if choice.mode == "tool" else config


def _config(request: Request, target: Target, losses: Losses) -> dict[str, Any]:
    sampling = settle_sampling(request, target, losses, hottest=_HOTTEST)
    found: dict[str, Any] = {
        "temperature": sampling.temperature,
        "topP": sampling.top_p,
        "topK": sampling.top_k,
        "maxOutputTokens": sampling.max_tokens,
        "stopSequences": check_stops(sampling, _STOPS) or None,
        "frequencyPenalty": sampling.frequency_penalty,
        "presencePenalty": sampling.presence_penalty,
        "seed": sampling.seed,
    }
    config = {name: value for name, value in found.items() if value is not None}
    if request.format is not None:
        config |= _format(request.format, losses)
    if request.effort is not None and request.effort.shown and request.effort.level != "off":
        config["thinkingConfig"] = {"includeThoughts": True}
    return config


def _format(wanted: AnswerFormat, losses: Losses) -> dict[str, Any]:
    config: dict[str, Any] = {"responseMimeType": "application/json"}
    if wanted.kind == "schema" and wanted.schema:
        config["responseSchema"] = gemini_schema(wanted.schema, losses, where="response_format")
    return config


def _tell_hints(request: Request, losses: Losses) -> None:
    if request.user:
        losses.add("user", "user", "The target is not told the id of the user.")
    if request.verbosity:
        losses.add("verbosity", "verbosity", "The target is not told how long its answer should be.")
