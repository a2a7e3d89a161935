"""What a request body says, read from its JSON alone: the judge of our plans must not read with our own reader."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

LISTS = {"openai-chat": "messages", "openai-responses": "input", "anthropic": "messages", "gemini": "contents"}
DIALECTS = {"anthropic-messages": "anthropic"}

Body = dict[str, Any]


class Entry(NamedTuple):
    """One message: which calls it makes and which it answers, by their ids (names in Gemini), and what it is."""

    raw: str
    role: str
    calls: tuple[str, ...]
    results: tuple[str, ...]
    text: str
    thinks: bool = False
    reasons: bool = False
    system: bool = False

    @property
    def asks(self) -> bool:
        """A message of the user that answers no call."""
        return self.role == "user" and not self.results and not self.reasons


def messages_of(body: Body, dialect: str) -> list[Any]:
    """The list of messages."""
    found = body[LISTS[dialect]]
    return found if isinstance(found, list) else [found]


def read(body: Body, dialect: str) -> list[Entry]:
    """Every message, read."""
    return [_READERS[dialect](message) for message in messages_of(body, dialect)]


def _chat(message: Body) -> Entry:
    content = message.get("content")
    blocks = content if isinstance(content, list) else [{"type": "text", "text": content or ""}]
    return Entry(
        raw=_raw(message),
        role=message["role"],
        calls=tuple(call["id"] for call in message.get("tool_calls") or ()),
        results=(message["tool_call_id"],) if message["role"] == "tool" else (),
        text="\n".join(block.get("text") or "" for block in blocks),
        system=message["role"] in ("system", "developer"),
    )


def _responses(item: Body) -> Entry:
    kind = item.get("type", "message")
    content = item.get("content") or item.get("output") or item.get("arguments") or ""
    blocks = content if isinstance(content, list) else [{"text": content}]
    role = item.get("role") or ("tool" if kind.endswith("_output") else "assistant")
    return Entry(
        raw=_raw(item),
        role=role,
        calls=(item["call_id"],) if kind == "function_call" else (),
        results=(item["call_id"],) if kind == "function_call_output" else (),
        text="\n".join(block.get("text") or "" for block in blocks),
        reasons=kind == "reasoning",
        system=role in ("system", "developer"),
    )


def _anthropic(message: Body) -> Entry:
    content = message["content"]
    blocks = content if isinstance(content, list) else [{"type": "text", "text": content}]
    return Entry(
        raw=_raw(message),
        role=message["role"],
        calls=tuple(block["id"] for block in blocks if block["type"] == "tool_use"),
        results=tuple(block["tool_use_id"] for block in blocks if block["type"] == "tool_result"),
        text="\n".join(map(_text, blocks)),
        thinks=any(block["type"] in ("thinking", "redacted_thinking") for block in blocks),
        system=message["role"] == "system",
    )


def _text(block: Body) -> str:
    content = block.get("content")
    if isinstance(content, list):
        return "\n".join(map(_text, content))
    return content or block.get("text") or ""


def _gemini(message: Body) -> Entry:
    parts = message["parts"]
    return Entry(
        raw=_raw(message),
        role="user" if message["role"] == "user" else "assistant",
        calls=tuple(part["functionCall"]["name"] for part in parts if "functionCall" in part),
        results=tuple(part["functionResponse"]["name"] for part in parts if "functionResponse" in part),
        text="\n".join(part.get("text") or "" for part in parts),
    )


def _raw(message: Body) -> str:
    return json.dumps(message, ensure_ascii=False)


_READERS = {"openai-chat": _chat, "openai-responses": _responses, "anthropic": _anthropic, "gemini": _gemini}


def pair(entries: list[Entry]) -> list[set[int]]:
    """Each call with its results, as messages by number: ids may come again, so a result belongs to the latest message before it
    that made the call and has no result of that id yet."""
    groups: dict[int, set[int]] = {}
    owner: dict[int, int] = {}
    waiting: dict[str, list[int]] = {}
    for index, entry in enumerate(entries):
        for call in entry.calls:
            waiting.setdefault(call, []).append(index)
            groups.setdefault(owner.setdefault(index, index), {index})
        for result in entry.results:
            caller = waiting[result].pop() if waiting.get(result) else index
            first, second = owner.setdefault(caller, caller), owner.setdefault(index, caller)
            merged = groups.pop(first, {caller}) | groups.pop(second, {index}) | {caller, index}
            lead = min(merged)
            groups[lead] = merged
            owner |= dict.fromkeys(merged, lead)
    return list(groups.values())
