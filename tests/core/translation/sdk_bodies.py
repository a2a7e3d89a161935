"""Whole bodies against what the official SDKs take: every member known, every message and tool of a type of theirs."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, get_type_hints

from anthropic.types import ToolParam
from anthropic.types.message_create_params import MessageCreateParamsStreaming
from google.genai.types import GenerationConfig, Tool, ToolConfig
from openai.types.chat import ChatCompletionFunctionToolParam
from openai.types.chat.completion_create_params import CompletionCreateParamsStreaming
from openai.types.responses import ToolParam as ResponsesToolParam
from openai.types.responses.response_create_params import ResponseCreateParamsStreaming
from pydantic import TypeAdapter, ValidationError

from tests.sdk_types import find_fault

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ullage.core.wire import Dialect

_PARAMS: dict[Dialect, Any] = {
    "openai-chat": CompletionCreateParamsStreaming,
    "openai-responses": ResponseCreateParamsStreaming,
    "anthropic": MessageCreateParamsStreaming,
}
_TOOLS: dict[Dialect, Any] = {
    "openai-chat": ChatCompletionFunctionToolParam,
    "openai-responses": ResponsesToolParam,
    "anthropic": ToolParam,
    "gemini": Tool,
}
_MESSAGES: dict[Dialect, str] = {
    "openai-chat": "messages",
    "openai-responses": "input",
    "anthropic": "messages",
    "gemini": "contents",
}
# What hosts of Chat Completions take and OpenAI's own types do not name.
_OF_HOSTS = {"reasoning_content"}
# Anthropic's API takes these up to version 2023-06-01; its newest SDK knows a version that does not.
_OF_OLDER_VERSIONS = {"temperature", "top_p", "top_k"}


def find_body_fault(body: bytes, dialect: Dialect) -> str | None:
    """Why the SDK of a dialect would not send a body; `None` if it would."""
    return next(_faults(json.loads(body), dialect), None)


def _faults(payload: dict[str, Any], dialect: Dialect) -> Iterator[str]:
    if dialect in _PARAMS:
        unknown = payload.keys() - get_type_hints(_PARAMS[dialect]).keys()
        unknown -= _OF_OLDER_VERSIONS if dialect == "anthropic" else set()
        if unknown:
            yield f"unknown members: {sorted(unknown)}"
    else:
        yield from _gemini_faults(payload)
    for number, message in enumerate(payload[_MESSAGES[dialect]]):
        fault = find_fault(json.dumps({key: message[key] for key in message if key not in _OF_HOSTS}).encode(), dialect)
        if fault is not None:
            yield f"message {number}: {fault}"
    for tool in payload.get("tools", ()):
        yield from _fault_of(_TOOLS[dialect], tool)


def _gemini_faults(payload: dict[str, Any]) -> Iterator[str]:
    unknown = payload.keys() - {"contents", "systemInstruction", "tools", "toolConfig", "generationConfig"}
    if unknown:
        yield f"unknown members: {sorted(unknown)}"
    yield from _fault_of(GenerationConfig, payload.get("generationConfig", {}))
    yield from _fault_of(ToolConfig, payload.get("toolConfig", {}))


def _fault_of(kind: Any, value: Any) -> Iterator[str]:
    try:
        TypeAdapter(kind).validate_python(value)
    except ValidationError as error:
        yield str(error)
