"""Where a request asks its provider to cache."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ullage.core.wire.jsontext import decode

from .caching import CacheMark

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ullage.core.wire import Conversation, Slice

_KEY = "cache_control"
_KEY_BYTES = _KEY.encode()


def find_marks(
    conversation: Conversation, marks_of: Callable[[Slice], tuple[str | None, ...]] | None = None
) -> tuple[CacheMark, ...]:
    """The cache marks of a request in the order of its parts. One at the top level means the end of the messages. `marks_of` is
    `marks_on`, or remembers what that said."""
    marks_of = marks_of or marks_on
    found = []
    for piece in (*conversation.tools, *conversation.system, *conversation.messages):
        found += [CacheMark(kind=piece.kind, index=piece.index, ttl=ttl) for ttl in marks_of(piece)]
    top = decode(conversation.options[_KEY]) if _KEY in conversation.options else None
    if isinstance(top, dict) and conversation.messages:
        found.append(CacheMark(kind="message", index=len(conversation.messages) - 1, ttl=_ttl(top)))
    return tuple(found)


def marks_on(piece: Slice) -> tuple[str | None, ...]:
    """The times to live of the marks on a slice, as the client wrote them; it is not read if it holds none."""
    return tuple(_marks(decode(piece.raw))) if _KEY_BYTES in piece.raw else ()


def _marks(value: object) -> Iterator[str | None]:
    """The times to live of the marks on a slice or on the blocks of its content; what a tool's schema says is none."""
    if not isinstance(value, dict):
        return
    if isinstance(value.get(_KEY), dict):
        yield _ttl(value[_KEY])
    content = value.get("content")
    for block in content if isinstance(content, list) else []:
        yield from _marks(block)


def _ttl(control: dict[str, object]) -> str | None:
    ttl = control.get("ttl")
    return ttl if isinstance(ttl, str) else None
