"""Requests of the four dialects from a few words: for tests and benchmarks. The same call makes the same bytes."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct, field

from ullage.core.content import ToolSpec
from ullage.core.wire import Dialect

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

_TEXT = (
    "the parser reads each line of a file and keeps what it found there until somebody asks for more than one "
    "value at a time while tests wait for an answer that says why this change was needed and who will look after it"
)
_WORDS = _TEXT.split()

_HEADERS: dict[Dialect, dict[str, str]] = {
    "openai-chat": {"authorization": "Bearer fake-key"},
    "openai-responses": {"authorization": "Bearer fake-key"},
    "anthropic": {"x-api-key": "fake-key", "anthropic-version": "2023-06-01"},
    "gemini": {"x-goog-api-key": "fake-key"},
}


class Exchange(Struct, frozen=True, kw_only=True):
    """A tool call of the assistant and its result, as one entry of a conversation."""

    tool: str = "bash"
    arguments: dict[str, Any] = field(default_factory=lambda: {"command": "ls"})
    result: str = "README.md\nsrc\ntests"


class BuiltRequest(Struct, frozen=True, kw_only=True):
    """A request ready to send to the root of a provider: `path` with its query, headers, and the body's bytes."""

    dialect: Dialect
    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def payload(self) -> dict[str, Any]:
        """The body decoded."""
        decoded: dict[str, Any] = msgspec.json.decode(self.body)
        return decoded


def make_request(
    dialect: Dialect,
    *,
    model: str = "fake-large",
    turns: Sequence[str | Exchange] = ("Hello.",),
    tools: Sequence[ToolSpec] = (),
    system: str | None = None,
    stream: bool = False,
    marks: bool = False,
    extra: Mapping[str, Any] | None = None,
) -> BuiltRequest:
    """A request with this conversation. Texts in `turns` are by turns the user's and the assistant's, beginning with the user's.

    `marks` puts cache marks where coding agents put them (Anthropic alone: last tool, system, last block). `extra` keys are added
    to the body last.
    """
    payload = _BUILDERS[dialect](list(turns), list(tools), system)
    if dialect != "gemini":
        payload = {"model": model, **payload, "stream": stream}
    if marks and dialect == "anthropic":
        _add_marks(payload)
    return BuiltRequest(
        dialect=dialect,
        path=path_of(dialect, model=model, stream=stream),
        headers={"content-type": "application/json", **_HEADERS[dialect]},
        body=msgspec.json.encode({**payload, **(extra or {})}),
    )


def path_of(dialect: Dialect, *, model: str = "fake-large", stream: bool = False) -> str:
    """Path and query under which a dialect is asked."""
    if dialect == "gemini":
        return f"/v1beta/models/{model}:{'streamGenerateContent?alt=sse' if stream else 'generateContent'}"
    names = {
        "openai-chat": "/v1/chat/completions",
        "openai-responses": "/v1/responses",
        "anthropic": "/v1/messages",
    }
    return names[dialect]


def make_prose(chars: int, seed: int = 0) -> str:
    """Plain English words of exactly this many characters; another seed gives another text."""
    step = 1 + 2 * (seed % 16)
    picked: list[str] = []
    length = 0
    for number in itertools.count(seed):
        if length > chars:
            break
        word = f"{_WORDS[number * step % len(_WORDS)]}{number if number % 7 == 0 else ''}"
        picked.append(word)
        length += len(word) + 1
    return " ".join(picked)[:chars]


def make_turns(count: int, chars: int, seed: int = 0) -> tuple[str, ...]:
    """A conversation of `count` texts of `chars` characters each; an odd count ends with the user's."""
    return tuple(make_prose(chars, seed * 1_000_003 + number) for number in range(count))


def make_tools(count: int) -> tuple[ToolSpec, ...]:
    """Tool specs as coding agents send them, the first a shell."""
    return tuple(_tool(number) for number in range(count))


def _tool(number: int) -> ToolSpec:
    properties: dict[str, Any] = {
        "command": {"type": "string", "description": "The command to run."},
        "timeout_ms": {"type": "integer", "description": "Longest time to wait.", "minimum": 1},
    }
    return ToolSpec(
        name="bash" if number == 0 else f"tool_{number}",
        description="Runs a command." if number == 0 else make_prose(200, number),
        parameters={"type": "object", "properties": properties, "required": ["command"]},
    )


def _speakers(turns: list[str | Exchange], assistant: str) -> Iterator[tuple[str, str | Exchange]]:
    """Each entry with its role; exchanges are the assistant's and do not change whose turn it is."""
    names = itertools.cycle(("user", assistant))
    for turn in turns:
        yield (assistant if isinstance(turn, Exchange) else next(names)), turn


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()


def _chat(turns: list[str | Exchange], tools: list[ToolSpec], system: str | None) -> dict[str, Any]:
    messages: list[dict[str, Any]] = [{"role": "system", "content": system}] if system else []
    for number, (role, turn) in enumerate(_speakers(turns, "assistant")):
        if isinstance(turn, Exchange):
            call_id = f"call_{number}"
            function = {"name": turn.tool, "arguments": _json(turn.arguments)}
            call = {"id": call_id, "type": "function", "function": function}
            messages.append({"role": role, "content": None, "tool_calls": [call]})
            messages.append({"role": "tool", "tool_call_id": call_id, "content": turn.result})
        else:
            messages.append({"role": role, "content": turn})
    payload: dict[str, Any] = {"messages": messages}
    if tools:
        payload["tools"] = [{"type": "function", "function": _function(tool)} for tool in tools]
    return payload


def _function(tool: ToolSpec) -> dict[str, Any]:
    return {"name": tool.name, "description": tool.description, "parameters": tool.parameters}


def _responses(turns: list[str | Exchange], tools: list[ToolSpec], system: str | None) -> dict[str, Any]:
    items: list[dict[str, Any]] = []
    for number, (role, turn) in enumerate(_speakers(turns, "assistant")):
        if isinstance(turn, Exchange):
            call = {"call_id": f"call_{number}", "name": turn.tool, "arguments": _json(turn.arguments)}
            items.append({"type": "function_call", **call})
            items.append({"type": "function_call_output", "call_id": f"call_{number}", "output": turn.result})
        else:
            kind = "input_text" if role == "user" else "output_text"
            items.append({"type": "message", "role": role, "content": [{"type": kind, "text": turn}]})
    payload: dict[str, Any] = {"input": items, "store": False}
    if system:
        payload["instructions"] = system
    if tools:
        payload["tools"] = [{"type": "function", **_function(tool), "strict": False} for tool in tools]
    return payload


def _anthropic(turns: list[str | Exchange], tools: list[ToolSpec], system: str | None) -> dict[str, Any]:
    messages: list[dict[str, Any]] = []
    for number, (role, turn) in enumerate(_speakers(turns, "assistant")):
        if isinstance(turn, Exchange):
            use = {"type": "tool_use", "id": f"toolu_{number}", "name": turn.tool, "input": turn.arguments}
            result = {"type": "tool_result", "tool_use_id": f"toolu_{number}", "content": turn.result}
            messages.append({"role": role, "content": [use]})
            messages.append({"role": "user", "content": [result]})
        else:
            messages.append({"role": role, "content": [{"type": "text", "text": turn}]})
    payload: dict[str, Any] = {"max_tokens": 1024, "messages": messages}
    if system:
        payload["system"] = [{"type": "text", "text": system}]
    if tools:
        payload["tools"] = [
            {"name": tool.name, "description": tool.description, "input_schema": tool.parameters} for tool in tools
        ]
    return payload


def _add_marks(payload: dict[str, Any]) -> None:
    blocks = [payload["messages"][-1]["content"][-1]]
    blocks += [payload[key][-1] for key in ("system", "tools") if payload.get(key)]
    for block in blocks:
        block["cache_control"] = {"type": "ephemeral"}


def _gemini(turns: list[str | Exchange], tools: list[ToolSpec], system: str | None) -> dict[str, Any]:
    contents: list[dict[str, Any]] = []
    for role, turn in _speakers(turns, "model"):
        if isinstance(turn, Exchange):
            call = {"name": turn.tool, "args": turn.arguments}
            response = {"name": turn.tool, "response": {"output": turn.result}}
            contents.append({"role": role, "parts": [{"functionCall": call}]})
            contents.append({"role": "user", "parts": [{"functionResponse": response}]})
        else:
            contents.append({"role": role, "parts": [{"text": turn}]})
    payload: dict[str, Any] = {"contents": contents}
    if system:
        payload["systemInstruction"] = {"parts": [{"text": system}]}
    if tools:
        payload["tools"] = [{"functionDeclarations": [_function(tool) for tool in tools]}]
    return payload


_BUILDERS: dict[Dialect, Callable[[list[str | Exchange], list[ToolSpec], str | None], dict[str, Any]]] = {
    "openai-chat": _chat,
    "openai-responses": _responses,
    "anthropic": _anthropic,
    "gemini": _gemini,
}
