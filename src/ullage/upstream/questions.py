"""A question to a model in words, and its answer as a text, in each dialect: no tools, no stream, no thinking."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import msgspec
from msgspec import Struct

from .tiny import GENERATIONS, cap_member, thinking_off

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ullage.core.wire import Dialect


class Worded(Struct, frozen=True, kw_only=True):
    """A question ready to be sent."""

    path: str
    body: bytes


def word_question(dialect: Dialect, model: str, *, instructions: str, text: str, output_cap: int) -> Worded:
    """A request that asks a model about `text`. At most `output_cap` tokens are answered."""
    path = GENERATIONS[dialect].path.replace("{model}", quote(model.removeprefix("models/"), safe=""))
    off = {name: msgspec.Raw(value) for name, value in thinking_off(dialect, model).items()}
    cap = cap_member(dialect, model, ())
    members: dict[str, Any]
    match dialect:
        case "openai-chat":
            messages = [{"role": "system", "content": instructions}, {"role": "user", "content": text}]
            members = {"model": model, "messages": messages, cap: output_cap, **off}
        case "openai-responses":
            asked = {"model": model, "instructions": instructions, "input": text, "store": False}
            members = {**asked, cap: output_cap, **off}
        case "anthropic":
            messages = [{"role": "user", "content": text}]
            members = {"model": model, "system": instructions, "messages": messages, cap: output_cap, **off}
        case "gemini":
            members = {
                "systemInstruction": {"parts": [{"text": instructions}]},
                "contents": [{"role": "user", "parts": [{"text": text}]}],
                "generationConfig": {cap: output_cap, **off},
            }
    return Worded(path=path, body=msgspec.json.encode(members))


def read_text(answer: bytes, dialect: Dialect) -> str | None:
    """The text of a whole answer, without its thinking; `None` where it has none, or cannot be read."""
    try:
        decoded = msgspec.json.decode(answer)
    except (msgspec.DecodeError, RecursionError):
        return None
    texts = [text for text in _texts(decoded, dialect) if isinstance(text, str)]
    return "".join(texts) if texts else None


def _texts(answer: Any, dialect: Dialect) -> Iterator[Any]:
    match dialect:
        case "openai-chat":
            content = _get(_get(_first(_get(answer, "choices")), "message"), "content")
            yield from [content] if isinstance(content, str) else (_get(part, "text") for part in _list(content))
        case "openai-responses":
            messages = (item for item in _list(_get(answer, "output")) if _get(item, "type") == "message")
            yield from (_get(part, "text") for item in messages for part in _list(_get(item, "content")))
        case "anthropic":
            yield from (_get(part, "text") for part in _list(_get(answer, "content")) if _get(part, "type") == "text")
        case "gemini":
            parts = _list(_get(_get(_first(_get(answer, "candidates")), "content"), "parts"))
            yield from (_get(part, "text") for part in parts if not _get(part, "thought"))


def _get(value: Any, key: str) -> Any:
    return value.get(key) if isinstance(value, dict) else None


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _first(value: Any) -> Any:
    return next(iter(_list(value)), None)
