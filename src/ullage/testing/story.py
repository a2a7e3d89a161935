"""A shipped session that is replayed as a client would: used by `ullage demo` and by tests."""

from __future__ import annotations

from importlib.resources import files
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct

from .script import Reply, Rule, ToolUse

if TYPE_CHECKING:
    from collections.abc import Iterator


class StoryCall(Struct, frozen=True, kw_only=True):
    """A tool call and its result; `repeat` makes a long result of a short text."""

    name: str
    arguments: dict[str, Any]
    result: str
    repeat: int = 1


class StoryReply(Struct, frozen=True, kw_only=True):
    """What the model says and calls."""

    text: str
    calls: tuple[StoryCall, ...] = ()


class StoryTurn(Struct, frozen=True, kw_only=True):
    """The user's text and the replies to it."""

    user: str
    replies: tuple[StoryReply, ...]


class Story(Struct, frozen=True, kw_only=True):
    """A whole session in the terms of the Anthropic dialect. `models` are whom its prompts may be routed to, as `ullage route
    --models` reads them; the first is its own."""

    model: str
    models: tuple[dict[str, Any], ...]
    system: str
    tools: tuple[dict[str, Any], ...]
    turns: tuple[StoryTurn, ...]

    def rules(self) -> tuple[Rule, ...]:
        """The script by which a fake provider plays the model's part."""
        return tuple(Rule(times=1, reply=_scripted(reply)) for turn in self.turns for reply in turn.replies)

    @property
    def prices(self) -> dict[str, float]:
        """What its model costs, USD per million tokens, by kind."""
        prices: dict[str, float] = self.models[0]["prices"]
        return prices

    def requests(self) -> Iterator[dict[str, Any]]:
        """The bodies that a client sends, one per reply, each with the whole history and its cache marks."""
        messages: list[dict[str, Any]] = []
        for turn in self.turns:
            messages.append({"role": "user", "content": [{"type": "text", "text": turn.user}]})
            for reply in turn.replies:
                yield self._request(messages)
                messages += _exchange(reply, len(messages))

    def _request(self, messages: list[dict[str, Any]]) -> dict[str, Any]:
        mark = {"cache_control": {"type": "ephemeral"}}
        last = messages[-1]
        marked = {**last, "content": [*last["content"][:-1], {**last["content"][-1], **mark}]}
        return {
            "model": self.model,
            "max_tokens": 8_000,
            "stream": True,
            "system": [{"type": "text", "text": self.system.strip(), **mark}],
            "tools": list(self.tools),
            "messages": [*messages[:-1], marked],
        }


def load_story() -> Story:
    """The shipped session."""
    return msgspec.toml.decode(files("ullage.testing").joinpath("demo.toml").read_bytes(), type=Story)


def _scripted(reply: StoryReply) -> Reply:
    calls = tuple(ToolUse(name=call.name, arguments=call.arguments) for call in reply.calls)
    return Reply(text=reply.text, tool_calls=calls)


def _exchange(reply: StoryReply, number: int) -> list[dict[str, Any]]:
    """The reply as the client sends it back, and the results of its calls."""
    blocks: list[dict[str, Any]] = [{"type": "text", "text": reply.text}]
    results: list[dict[str, Any]] = []
    for index, call in enumerate(reply.calls):
        call_id = f"toolu_{number}_{index}"
        blocks.append({"type": "tool_use", "id": call_id, "name": call.name, "input": call.arguments})
        results.append({"type": "tool_result", "tool_use_id": call_id, "content": call.result.strip() * call.repeat})
    messages = [{"role": "assistant", "content": blocks}]
    return [*messages, {"role": "user", "content": results}] if results else messages
