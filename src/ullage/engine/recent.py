"""The newest request of each conversation, so that the next one is cut only where it is new."""

from __future__ import annotations

from typing import TYPE_CHECKING

import xxhash

if TYPE_CHECKING:
    from ullage.core.wire import Conversation, Dialect

# Bodies are kept whole, so few and not beyond this; a conversation that was dropped costs a full cut once.
_LIMIT_BYTES = 8 * 1024 * 1024
# Two requests of one conversation begin alike; a wrong guess costs time, never truth.
_HEAD_BYTES = 4096


class RecentConversations:
    """Bounded by bytes, the least recently kept goes first. Not safe for several threads."""

    def __init__(self, limit_bytes: int = _LIMIT_BYTES) -> None:
        self._limit_bytes = limit_bytes
        self._kept: dict[tuple[str, int], Conversation] = {}
        self._bytes = 0

    def find(self, dialect: Dialect, body: bytes) -> Conversation | None:
        """The newest conversation that began like this body."""
        return self._kept.get(_key(dialect, body))

    def keep(self, conversation: Conversation) -> None:
        """Keeps a conversation in place of the one that began alike."""
        if len(conversation.body) > self._limit_bytes:
            return  # it would push out all others, and itself
        key = _key(conversation.dialect, conversation.body)
        before = self._kept.pop(key, None)
        if before is not None:
            self._bytes -= len(before.body)
        self._kept[key] = conversation
        self._bytes += len(conversation.body)
        while self._bytes > self._limit_bytes:
            oldest = next(iter(self._kept))
            self._bytes -= len(self._kept.pop(oldest).body)


def _key(dialect: Dialect, body: bytes) -> tuple[str, int]:
    return dialect, xxhash.xxh3_64_intdigest(body[:_HEAD_BYTES])
