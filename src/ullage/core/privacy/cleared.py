"""Bytes that were checked already: the next request of a session begins like the last one, and is checked where it goes on."""

from __future__ import annotations

_PIECE_BYTES = 65_536
# Whatever is looked for lies within this many bytes of the letters that give it away.
_OVERLAP_BYTES = 8_192
_BODIES = 8


class Cleared:
    """The newest bodies that passed, for one destination. Bounded by number and bytes; larger ones are checked whole anew."""

    def __init__(self, limit_bytes: int = 16 * 1024 * 1024) -> None:
        self._limit_bytes = limit_bytes
        self._bodies: list[bytes] = []

    def start(self, body: bytes) -> int:
        """Where a check of the body has to begin."""
        shared = max((_shared(body, cleared) for cleared in self._bodies), default=0)
        return shared if shared == len(body) else max(0, shared - _OVERLAP_BYTES)

    def keep(self, body: bytes) -> None:
        """Remembers a body that passed, in place of those that it goes on from."""
        others = [one for one in self._bodies if one is not body and not body.startswith(one[: len(one) // 2])]
        self._bodies = [body, *others][:_BODIES]
        while sum(map(len, self._bodies)) > self._limit_bytes:
            self._bodies.pop()


def _shared(left: bytes, right: bytes) -> int:
    """How many bytes the two begin with alike."""
    if left is right:
        return len(left)
    length = min(len(left), len(right))
    low = 0
    while low < length and left[low : low + _PIECE_BYTES] == right[low : low + _PIECE_BYTES]:
        low += _PIECE_BYTES
    low, high = min(low, length), min(low + _PIECE_BYTES, length)
    while low < high:
        middle = (low + high + 1) // 2
        if left[low:middle] == right[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low
