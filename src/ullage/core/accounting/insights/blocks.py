"""The texts of a conversation as blocks, and a text cut into pieces that are found again wherever they stand."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from xxhash import xxh3_64_intdigest

from ullage.core.wire.jsontext import decode

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ullage.core.content import Message, Part, Role

MIN_BLOCK_CHARS = 200
"""A shorter text is not worth a line: some fifty tokens."""

_LONG_LINE_CHARS = 240
_LONGEST_PIECE_CHARS = 400
# Numbers that a tool puts before lines: `12→`, `12\t`, `12: `, `12|`, and `12ab|` of clients that mark lines for edits.
_NUMBER = re.compile(r"[ \t*]*\d{1,7}(?:→|\t|: |:(?=\S)|[a-z]{0,2}\|)")
_NUMBERED_SHARE = 0.6
_WORD = re.compile(r"[^\s,;{}()<>\[\]]{0,64}[\s,;{}()<>\[\]]*")
# One word in so many ends a piece of a long line, chosen by the word itself: text that moved is cut at the same places.
_WORDS_A_PIECE = 8


class Block(NamedTuple):
    """One text. `message` is the index of its message, `None` for a system block; `part` its place there.

    `is_source` blocks are the model's own arguments: what repeats them is a copy, they themselves are not.
    """

    message: int | None
    part: int
    text: str
    role: Role
    tool: str | None = None
    call_id: str | None = None
    is_result: bool = False
    is_source: bool = False


class TextPiece(NamedTuple):
    """A line, or a part of a long one: where it stands in its text, and the hash of what it says."""

    start: int
    end: int
    key: int


def find_blocks_of(system: Sequence[str], messages: Sequence[Message]) -> Iterator[Block]:
    """The texts of a request in order, those of some length. Thinking is left out: nobody can take it away alone."""
    for index, text in enumerate(system):
        if len(text) >= MIN_BLOCK_CHARS:
            yield Block(None, index, text, "system")
    tools: dict[str, str] = {}
    for index, message in enumerate(messages):
        for number, part in enumerate(message.parts):
            if part.kind == "tool_call" and part.call_id and part.name:
                tools[part.call_id] = part.name
            block = _block(part, message.role, index, number, tools)
            if block is not None and len(block.text) >= MIN_BLOCK_CHARS:
                yield block


def result_text(part: Part) -> str:
    """The text of a tool result, whether it is nested or not."""
    return "\n".join(piece.text for piece in part.parts if piece.text) if part.parts else part.text


def _block(part: Part, role: Role, message: int, number: int, tools: dict[str, str]) -> Block | None:
    match part.kind:
        case "text" | "document":
            return Block(message, number, part.text, role)
        case "tool_result":
            tool = part.name or tools.get(part.call_id or "")
            return Block(message, number, result_text(part), role, tool, part.call_id, is_result=True)
        case "tool_call" if len(part.text) >= MIN_BLOCK_CHARS:
            return Block(message, number, _spoken(part.text), role, part.name, part.call_id, is_source=True)
        case _:
            return None


def _spoken(arguments: str) -> str:
    """The strings in a call's arguments, as they read when they are no longer escaped."""
    if not arguments.lstrip().startswith("{"):
        return arguments
    return "\n".join(_strings(decode(arguments.encode("utf-8", "replace"))))


def _strings(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for member in value.values():
            yield from _strings(member)
    elif isinstance(value, list):
        for member in value:
            yield from _strings(member)


def cut_pieces(text: str) -> list[TextPiece]:
    """The lines of a text that say something, without the numbers that a tool put before them; long lines cut further."""
    lines = list(_lines(text))
    numbers = [_NUMBER.match(text, start, end) for start, end in lines]
    numbered = sum(number is not None for number in numbers) >= _NUMBERED_SHARE * len(lines)
    pieces: list[TextPiece] = []
    for (start, end), number in zip(lines, numbers, strict=True):
        begin = number.end() if numbered and number is not None else start
        if end - begin > _LONG_LINE_CHARS:
            pieces.extend(_cut_line(text, begin, end))
        elif says := text[begin:end].strip():
            pieces.append(TextPiece(start, end, _key(says)))
    return pieces


def _lines(text: str) -> Iterator[tuple[int, int]]:
    start = 0
    while start < len(text):
        end = text.find("\n", start)
        end = len(text) if end < 0 else end
        if end > start:
            yield start, end
        start = end + 1


def _cut_line(text: str, start: int, end: int) -> Iterator[TextPiece]:
    begin = at = start
    while at < end:
        word = _WORD.match(text, at, end)
        stop = word.end() if word is not None and word.end() > at else at + 1
        if _key(text[at:stop]) % _WORDS_A_PIECE == 0 or stop - begin >= _LONGEST_PIECE_CHARS or stop == end:
            says = text[begin:stop].strip()
            if says:
                yield TextPiece(begin, stop, _key(says))
            begin = stop
        at = stop


def _key(text: str) -> int:
    return xxh3_64_intdigest(text.encode("utf-8", "surrogatepass"))
