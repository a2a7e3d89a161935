"""Reasoning that a target of another protocol gave a client: whether a request may hold some, which is asked of every one on the
event loop, and requests without it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import xxhash

from ullage.core.translation import SEAL_MARK_BYTES, Loss, holds_seal, without_wrapped

if TYPE_CHECKING:
    from ullage.core.wire import Conversation

    from .exchange import Exchange
    from .reading import Reader

_FOREIGN_REASONING = Loss(
    code="foreign_reasoning",
    where="messages",
    what="Reasoning that a model of another protocol gave the client is left out: its own provider would refuse it.",
)
# Bodies are kept whole, so few; of a conversation that was dropped all is looked through once more.
_LIMIT_BYTES = 8 * 1024 * 1024
# Two requests of one conversation begin alike; a wrong guess costs time, never truth.
_HEAD_BYTES = 4096
# Of less all is looked through, which takes ten microseconds.
_SMALL_BYTES = 16 * 1024
# Marks of caches move at the end of a body, so its last bytes are others each time.
_CHANGED_BYTES = 256


class SealSearch:
    """Looks through what is new in a body: what it has in common with the one before holds none. Bounded by bytes, what was not
    looked at for longest goes first."""

    def __init__(self, limit_bytes: int = _LIMIT_BYTES) -> None:
        self._limit_bytes = limit_bytes
        self._clean: dict[int, bytes] = {}
        self._bytes = 0

    def may_hold(self, body: bytes) -> bool:
        """Surely not where it is false."""
        if len(body) <= _SMALL_BYTES:
            return holds_seal(body)
        key = xxhash.xxh3_64_intdigest(body[:_HEAD_BYTES])
        before = self._clean.pop(key, b"")
        self._bytes -= len(before)
        found = holds_seal(body, max(0, _shared_bytes(before, body) - SEAL_MARK_BYTES))
        if not found and len(body) <= self._limit_bytes:
            self._clean[key] = body
            self._bytes += len(body)
            while self._bytes > self._limit_bytes:
                self._bytes -= len(self._clean.pop(next(iter(self._clean))))
        return found


def without_seals(reader: Reader, exchange: Exchange, conversation: Conversation) -> Conversation:
    """A request that is not routed without the reasoning that a target of another protocol gave its client: its own provider
    would refuse it."""
    if exchange.endpoint.recorded and not exchange.sealed and "content-encoding" not in exchange.headers:
        return conversation  # its bytes were looked through when they came
    body = without_wrapped(conversation)
    if body is conversation.body:
        return conversation
    exchange.losses.append(_FOREIGN_REASONING)
    exchange.warnings.append(_FOREIGN_REASONING.code)
    return reader.parse_plain(exchange, body, conversation.model)


def _shared_bytes(before: bytes, body: bytes) -> int:
    """How long both are surely the same from the beginning on: at least half as far as they are."""
    view, changed = memoryview(before), _CHANGED_BYTES
    while changed < len(before):
        shared = len(before) - changed
        if body.startswith(view[:shared]):
            return shared
        changed *= 2
    return 0
