"""Messages of ours in each dialect, and other texts in the client's: only what is replaced is written anew."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from ullage.core.errors import CallError

from .edits import Edit, apply, sibling_cuts
from .jsontext import as_text, decode
from .slicing import elements, find_member, members

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .conversation import Dialect, Member, Slice

_encode = msgspec.json.encode


def write_user_message(text: str, dialect: Dialect) -> bytes:
    """A message of the user that holds this text, as JSON."""
    if dialect == "gemini":
        return _encode({"role": "user", "parts": [{"text": text}]})
    if dialect == "openai-responses":
        return _encode({"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]})
    return _encode({"role": "user", "content": text})


def as_message(raw: bytes, dialect: Dialect) -> bytes:
    """A message that may have come as a bare text (the whole `input` of a Responses request), as an element of a list."""
    return write_user_message(decode(raw), dialect) if raw.startswith(b'"') else raw


def replace_result(piece: Slice, dialect: Dialect, ordinal: int, text: str) -> bytes:
    """The message with another text in its tool result number `ordinal`, in the order in which the message holds them.

    Its first text is replaced, further texts of it leave, pictures and all other bytes of the message stay (planner
    specification, section 20.3). Raises `CallError` if there is no such result, or no text in it.
    """
    body = piece.raw
    holders = list(_results(body, dialect))
    if not 0 <= ordinal < len(holders):
        raise CallError(f"There is no tool result number {ordinal}: the message has {len(holders)}.")
    edits = (
        _answer_edits(body, holders[ordinal], text)
        if dialect == "gemini"
        else _text_edits(body, holders[ordinal], text)
    )
    if not edits:
        raise CallError("The tool result holds no text.")
    return apply(body, edits)


def result_texts(piece: Slice, dialect: Dialect) -> tuple[str | None, ...]:
    """The text that `replace_result` replaces in each tool result of a message, by ordinal; several are joined by line breaks.

    `None` where there is no text. Never raises.
    """
    body = piece.raw
    read = _answer_text if dialect == "gemini" else _joined_text
    return tuple(read(body, holder) for holder in _results(body, dialect))


def _results(body: bytes, dialect: Dialect) -> Iterator[Member | None]:
    """The member that holds each result's content; `None` where there is none."""
    if body[:1] != b"{":
        return
    message = members(body)
    match dialect:
        case "openai-chat":
            yield find_member(message, "content")
        case "openai-responses":
            yield find_member(message, "output")
        case "anthropic":
            for block in _blocks(body, find_member(message, "content")):
                if _kind(body, block).endswith("tool_result"):
                    yield find_member(block, "content")
        case "gemini":
            for part in _blocks(body, find_member(message, "parts")):
                response = find_member(part, "functionResponse") or find_member(part, "function_response")
                if response is not None:
                    yield find_member(members(body, response.value, response.end), "response")


def _blocks(body: bytes, holder: Member | None) -> Iterator[tuple[Member, ...]]:
    """The members of each object in the list that a member holds."""
    if holder is not None and body[holder.value : holder.value + 1] == b"[":
        for start, end in elements(body, holder.value, holder.end):
            if body[start : start + 1] == b"{":
                yield members(body, start, end)


def _kind(body: bytes, block: tuple[Member, ...]) -> str:
    member = find_member(block, "type")
    return _string(body, member) or "" if member is not None else ""


def _string(body: bytes, member: Member) -> str | None:
    raw = body[member.value : member.end]
    return decode(raw) if raw.startswith(b'"') else None


def _text_edits(body: bytes, holder: Member | None, text: str) -> list[Edit]:
    if holder is None:
        return []
    opening = body[holder.value : holder.value + 1]
    if opening == b'"':
        return [(holder.value, holder.end, _encode(text))]
    if opening == b"{":
        return _text_edits(body, find_member(members(body, holder.value, holder.end), "content"), text)
    return _block_edits(body, holder, text) if opening == b"[" else []


def _joined_text(body: bytes, holder: Member | None) -> str | None:
    if holder is None:
        return None
    opening = body[holder.value : holder.value + 1]
    if opening == b'"':
        return _string(body, holder)
    if opening == b"{":
        return _joined_text(body, find_member(members(body, holder.value, holder.end), "content"))
    spans = elements(body, holder.value, holder.end) if opening == b"[" else ()
    texts = [_string(body, member) or "" for span in spans if (member := _text_of(body, *span)) is not None]
    return "\n".join(texts) if texts else None


def _block_edits(body: bytes, holder: Member, text: str) -> list[Edit]:
    spans = elements(body, holder.value, holder.end)
    texts = [_text_of(body, *span) for span in spans]
    first = next((number for number, found in enumerate(texts) if found is not None), None)
    if first is None:
        return []
    member = texts[first]
    assert member is not None
    alive = [found is None or number == first for number, found in enumerate(texts)]
    return [(member.value, member.end, _encode(text)), *sibling_cuts(spans.__getitem__, alive)]


def _text_of(body: bytes, start: int, end: int) -> Member | None:
    """The text of a block, if it is one of text."""
    if body[start : start + 1] != b"{":
        return None
    block = members(body, start, end)
    member = find_member(block, "text")
    return member if member is not None and _kind(body, block) in ("text", "input_text", "output_text", "") else None


def _answer_edits(body: bytes, holder: Member | None, text: str) -> list[Edit]:
    """Gemini's results are objects of any shape: the longest text at their top is replaced, else all of the object."""
    if holder is None:
        return []
    longest = _longest_string(body, holder)
    if longest is not None:
        return [(longest.value, longest.end, _encode(text))]
    return [(holder.value, holder.end, _encode({"output": text}))]


def _answer_text(body: bytes, holder: Member | None) -> str | None:
    if holder is None:
        return None
    longest = _longest_string(body, holder)
    return _string(body, longest) if longest is not None else as_text(decode(body[holder.value : holder.end]))


def _longest_string(body: bytes, holder: Member) -> Member | None:
    if body[holder.value : holder.value + 1] != b"{":
        return None
    found = members(body, holder.value, holder.end)
    strings = [member for member in found if body[member.value : member.value + 1] == b'"']
    return max(strings, key=lambda member: member.end - member.value, default=None)
