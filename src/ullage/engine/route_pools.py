"""How often each target was tried within the window of a pool (routing specification, section 13)."""

from __future__ import annotations

from collections import Counter
from datetime import datetime
from typing import TYPE_CHECKING

from ullage.core.errors import StoreError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ullage.settings import Settings
    from ullage.settings.routing import PoolSettings
    from ullage.stores import Reader

_FRESH_MS = 30_000
_HOUR_MS = 3_600_000
_NONE: Mapping[str, int] = {}


class PoolAttempts:
    """Counts attempts for pools. Used by one thread only; without an active pool nothing is read."""

    def __init__(self, settings: Settings, reader: Reader) -> None:
        self._pools = settings.routing.pools
        self._reader = reader
        self._known: dict[str, tuple[int, Mapping[str, int]]] = {}

    def of(self, pool: str | None, now_ms: int) -> Mapping[str, int]:
        """Attempts by target within the pool's window; what was read half a minute ago will do, with our own since then."""
        settings = self._pools.get(pool or "")
        if pool is None or settings is None:
            return _NONE
        read_ms, counted = self._known.get(pool, (0, _NONE))
        if now_ms - read_ms > _FRESH_MS:
            try:
                since_ms = window_start(settings, now_ms)
                counted = Counter(one.target for one in self._reader.attempts(since_ms=since_ms) if one.routed)
            except StoreError:  # the store says itself what is wrong with it
                counted = dict(counted)
            self._known[pool] = now_ms, counted
        return counted

    def note(self, target: str) -> None:
        """A request goes to this target."""
        self._known = {
            pool: (read_ms, {**counted, target: counted.get(target, 0) + 1})
            for pool, (read_ms, counted) in self._known.items()
        }


def window_start(pool: PoolSettings, now_ms: int) -> int:
    """Since when attempts count: for so many hours, since the window began, or since local midnight; epoch milliseconds."""
    length_ms = round(pool.window_hours * _HOUR_MS)
    if pool.allocation == "daily":
        today = datetime.fromtimestamp(now_ms / 1000).astimezone()
        return round(today.replace(hour=0, minute=0, second=0, microsecond=0).timestamp() * 1000)
    return now_ms - length_ms if pool.allocation == "rolling" else now_ms - now_ms % length_ms
