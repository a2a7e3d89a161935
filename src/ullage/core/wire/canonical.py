"""The canonical form of a slice, by which a message is known again in the next turn (design 5, clients specification section 3).

Clients send one message as a string in one turn and as a list of one block in the next, move their cache marks, write keys in any
order and drop signatures on resume. None of that makes it another message.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
from xxhash import xxh3_128_intdigest

from .jsontext import as_text, decode
from .requests.gemini import snake

if TYPE_CHECKING:
    from collections.abc import Callable

    from .conversation import Dialect, Slice, SliceKind

_ENCODER = msgspec.json.Encoder(order="sorted")

_TEXT_TYPES = frozenset({"text", "input_text", "output_text"})
# Marks and leftovers that a client adds or drops without changing the message.
_BLOCK_MARKS = frozenset({"annotations", "cache_control", "citations", "logprobs"})
_ITEM_MARKS = frozenset({"cache_control", "status"})
# Claude Code gives its system message an `output_config` of its own in later turns (clients specification, section 5).
_MESSAGE_MARKS = frozenset({"annotations", "cache_control", "output_config"})
# opencode resends text and calls without their ids (section 7); what else is known only by its id keeps it.
_ITEMS_KNOWN_BY_CONTENT = frozenset(
    {"message", "function_call", "function_call_output", "custom_tool_call", "custom_tool_call_output"}
)
_GEMINI_KEYS = {
    snake(camel): camel
    for camel in (
        "functionCall",
        "functionResponse",
        "inlineData",
        "fileData",
        "executableCode",
        "codeExecutionResult",
        "thoughtSignature",
        "videoMetadata",
    )
}


def canonical_hash(piece: Slice, dialect: Dialect) -> int:
    """xxh3-128 of the canonical form of a slice. It identifies; it is no defence against crafted collisions."""
    form = [piece.kind, canonical_form(decode(piece.raw), dialect, piece.kind)]
    return xxh3_128_intdigest(_ENCODER.encode(form))


def canonical_form(value: Any, dialect: Dialect, kind: SliceKind) -> Any:
    """The decoded value without what does not count; what the order of keys is, the hash does not see."""
    if kind == "tool":
        return _without(value, _BLOCK_MARKS)
    if kind == "system":
        return _content(value if isinstance(value, list) else [value])
    return _MESSAGE_FORMS[dialect](value) if isinstance(value, dict) else _message({"role": "user", "content": value})


def _message(value: dict[str, Any]) -> Any:
    form = _without(value, _MESSAGE_MARKS)
    if "content" in form:
        form["content"] = _content(form["content"])
    return form


def _item(value: dict[str, Any]) -> Any:
    form = {"type": "message", **_without(value, _ITEM_MARKS)}
    if as_text(form["type"]) in _ITEMS_KNOWN_BY_CONTENT:
        form.pop("id", None)
    for key in ("content", "output"):
        if key in form:
            form[key] = _content(form[key])
    return form


def _gemini_content(value: dict[str, Any]) -> Any:
    parts = value.get("parts")
    return {
        **value,
        "role": value.get("role") or "user",
        "parts": _once([_gemini_part(part) for part in (parts if isinstance(parts, list) else [parts])]),
    }


def _gemini_part(part: Any) -> Any:
    if not isinstance(part, dict):
        return part
    form = {_GEMINI_KEYS.get(key, key): item for key, item in part.items()}
    form.pop("thoughtSignature", None)
    return form


def _once(parts: list[Any]) -> list[Any]:
    """Gemini CLI repeats function responses when it resumes a session (section 3): equal ones count once."""
    kept: list[Any] = []
    for part in parts:
        repeated = isinstance(part, dict) and "functionResponse" in part and part in kept
        if not repeated:
            kept.append(part)
    return kept


_MESSAGE_FORMS: dict[Dialect, Callable[[dict[str, Any]], Any]] = {
    "openai-chat": _message,
    "openai-responses": _item,
    "anthropic": _message,
    "gemini": _gemini_content,
}


def _content(content: Any) -> Any:
    """A list of one text block is that text."""
    if not isinstance(content, list):
        return content
    blocks = [_block(block) for block in content]
    return blocks[0] if len(blocks) == 1 and isinstance(blocks[0], str) else blocks


def _block(block: Any) -> Any:
    if not isinstance(block, dict):
        return block
    form = _without(block, _BLOCK_MARKS)
    if (
        isinstance(form.get("text"), str)
        and form.keys() <= {"type", "text"}
        and as_text(form.get("type", "text")) in _TEXT_TYPES
    ):
        return form["text"]
    if isinstance(form.get("content"), list):
        form["content"] = _content(form["content"])
    return form


def _without(value: Any, marks: frozenset[str]) -> Any:
    if not isinstance(value, dict):
        return value
    return {key: item for key, item in value.items() if key not in marks and item is not None}
