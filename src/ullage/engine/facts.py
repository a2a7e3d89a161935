"""What is known of a slice, by its content hash: counted once, however often a client sends it again."""

from __future__ import annotations

from typing import Generic, TypeVar

Key = TypeVar("Key")
Value = TypeVar("Value")


class TwoGenerations(Generic[Key, Value]):
    """A bounded cache in two dictionaries: what is used moves to the young one; when that is full, the old one is dropped.

    As good as least-recently-used for a conversation that is sent again and again, at the price of one look-up.
    Not safe for several threads.
    """

    def __init__(self, size: int) -> None:
        self._size = size
        self._young: dict[Key, Value] = {}
        self._old: dict[Key, Value] = {}

    def __len__(self) -> int:
        return len(self._young) + len(self._old)

    def find(self, key: Key) -> Value | None:
        """The value kept for `key`, if it is still there."""
        value = self._young.get(key)
        if value is None:
            value = self._old.pop(key, None)
            if value is not None:
                self.keep(key, value)
        return value

    def keep(self, key: Key, value: Value) -> None:
        """Keeps `value`, for as long as twice `size` newer ones have not come."""
        self._young[key] = value
        if len(self._young) >= self._size:
            self._old = self._young
            self._young = {}
