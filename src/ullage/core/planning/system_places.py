"""Where system messages stand among what is kept, for a provider that does not take them anywhere.

Anthropic takes one with content neither as the first message nor right before a message of the user, only behind one (status
400 otherwise); one that says nothing but how much to think may stand anywhere. Such messages are kept whatever leaves around
them. One that lost its place goes to the next place that is one, in its order and with its bytes: what it says holds from there
on, and all that it held for before has left. One that had no such place from the client stays where it is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
from msgspec import Raw, Struct

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ullage.core.wire import Conversation

_SYSTEM = b'"system"'


class _Head(Struct):
    role: str = ""
    content: Raw = Raw(b"")


_decode_head = msgspec.json.Decoder(_Head).decode


def place_system(conversation: Conversation, kept: Sequence[int]) -> tuple[Sequence[int], Mapping[int, Sequence[int]]]:
    """Which of the messages `kept`, rising numbers, stay where they are, and the others by the number of the message that they go
    before; the number of messages stands for the end."""
    if conversation.dialect != "anthropic" or all(_SYSTEM not in conversation.messages[index].raw for index in kept):
        return kept, {}
    seats = _Seats(conversation)
    for index in kept:
        seats.pass_by(index)
    return seats.close()


class _Seats:
    """What is known at one of the messages that are kept. `_waiting` are system messages without a place so far."""

    def __init__(self, conversation: Conversation) -> None:
        self._messages = conversation.messages
        self._last: int | None = None
        self._last_role = ""
        self._waiting: list[int] = []
        self._stay: list[int] = []
        self._moved: dict[int, list[int]] = {}

    def pass_by(self, index: int) -> None:
        head = _read_head(self._messages[index].raw)
        if _is_told(head) and self._had_place(index):
            self._waiting.append(index)
            return
        if head.role != "system":
            if head.role == "assistant" and self._last_role == "user":
                self._seat(before=index)
            self._last, self._last_role = index, head.role
        self._stay.append(index)

    def close(self) -> tuple[Sequence[int], Mapping[int, Sequence[int]]]:
        if self._last_role == "user":
            self._seat(before=len(self._messages))
        # Without any place they stay: the client's own list has none either.
        return sorted([*self._stay, *self._waiting]), self._moved

    def _had_place(self, index: int) -> bool:
        """Whether the client put it behind a message of the user and not before one."""
        roles = [self._role_beside(index, step) for step in (-1, 1)]
        return roles[0] == "user" and roles[1] != "user"

    def _role_beside(self, index: int, step: int) -> str:
        """The role of the nearest message on this side that is no system message; empty at the end of the list."""
        index += step
        while 0 <= index < len(self._messages):
            role = _read_head(self._messages[index].raw).role
            if role != "system":
                return role
            index += step
        return ""

    def _seat(self, *, before: int) -> None:
        if self._waiting and self._last is not None and self._waiting[0] > self._last:
            self._stay += self._waiting
        elif self._waiting:
            self._moved[before] = self._waiting
        self._waiting = []


def _is_told(head: _Head) -> bool:
    """Whether it is a system message that says something."""
    return head.role == "system" and bytes(head.content) != b"[]"


def _read_head(raw: bytes) -> _Head:
    try:
        return _decode_head(raw)
    except msgspec.DecodeError:
        return _Head()
