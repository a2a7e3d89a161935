"""A request that goes on where the one before stopped: what they share is not read again (design 5).

Clients send the whole history each turn. Where the new body begins with the bytes of the old one up to some message near its end,
the slices so far are taken over and only the rest is cut.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec

from .conversation import Conversation, Dialect, Member, Slice, SliceKind
from .cutting import check_depth, conversation_of, cut, cut_held
from .jsontext import BOM
from .layout import LAYOUTS, Layout, list_member, list_spans
from .slicing import check_utf8, check_values, members

if TYPE_CHECKING:
    from collections.abc import Sequence

# Cache marks sit on the newest messages and move on each turn, so the last few of the old ones may have changed.
_CHANGED_AT_MOST = 4
_HEAD = b'{"":['
_ONWARDS = re.compile(rb"[ \t\n\r]*(?:,[ \t\n\r]*(?=[^\] \t\n\r])|(?=\]))")
_SPACE = b" \t\n\r"


def extend(
    previous: Conversation,
    body: bytes,
    dialect: Dialect,
    *,
    path_model: str | None,
    path_stream: bool | None,
) -> Conversation | None:
    """The same as parsing the body whole; `None` where the two share too little, or the rest is not as it should be.

    Raises `RequestError` if the rest nests too deep or has too many values.
    """
    layout = LAYOUTS[dialect]
    holder = _holder(previous, dialect, layout)
    shared = _shared_messages(previous, body) if holder is not None else 0
    if holder is None or not shared:
        return None
    last = previous.messages[shared - 1]
    onwards = _ONWARDS.match(body, last.start + len(last.raw))
    if onwards is None:
        return None
    start = onwards.end()
    try:
        check_utf8(body[start:])
        check_values(body[start:])
        tail = _HEAD + body[start:]
        rest = members(tail)
        spans = list_spans(tail, rest[0].value, rest[0].end)
    except (UnicodeDecodeError, msgspec.MsgspecError, RecursionError):
        return None
    shift = start - len(_HEAD)
    later = tuple(_moved(member, shift) for member in rest[1:])
    if any(member.key == holder.key for member in later):
        return None
    fresh = cut(body, dialect, "message", [(begin + shift, end + shift) for begin, end in spans], first=shared)
    check_depth(body, later, fresh)
    before = previous.members[: previous.members.index(holder)]
    grown = msgspec.structs.replace(holder, end=rest[0].end + shift)
    return conversation_of(
        body,
        dialect,
        (*before, grown, *later),
        system=_held(previous, body, "system", before, later),
        tools=_held(previous, body, "tool", before, later),
        messages=(*previous.messages[:shared], *fresh),
        path_model=path_model,
        path_stream=path_stream,
    )


def _holder(previous: Conversation, dialect: Dialect, layout: Layout) -> Member | None:
    """The message list of the old request, if it is one list in the top-level object."""
    holder = list_member(previous.members, layout.messages)
    if holder is None or previous.dialect != dialect or previous.body[holder.value] != ord("["):
        return None
    named_once = sum(member.key == holder.key for member in previous.members) == 1
    head = previous.body[: previous.members[0].start].removeprefix(BOM).strip(_SPACE)
    return holder if named_once and head == b"{" else None


def _shared_messages(previous: Conversation, body: bytes) -> int:
    """How many messages the bodies have in common together with everything before them."""
    count, before = len(previous.messages), memoryview(previous.body)
    for shared in range(count, max(0, count - _CHANGED_AT_MOST), -1):
        last = previous.messages[shared - 1]
        if body.startswith(last.raw, last.start):
            same = body.startswith(before[: last.start + len(last.raw)])
            return shared if same else 0
    return 0


def _held(
    previous: Conversation, body: bytes, kind: SliceKind, before: Sequence[Member], later: Sequence[Member]
) -> tuple[Slice, ...]:
    """The system or tool slices: those of the old request if all of them stand before the messages in both."""
    layout = LAYOUTS[previous.dialect]
    keys = layout.system if kind == "system" else layout.tools
    behind = (*previous.members[len(before) + 1 :], *later)
    if any(member.key in keys for member in behind):
        return cut_held(body, previous.dialect, kind, (*before, *later))
    return previous.system if kind == "system" else previous.tools


def _moved(member: Member, shift: int) -> Member:
    return Member(key=member.key, start=member.start + shift, value=member.value + shift, end=member.end + shift)
