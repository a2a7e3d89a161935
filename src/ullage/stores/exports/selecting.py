"""Which records an export is of."""

from __future__ import annotations

from fnmatch import fnmatchcase

from msgspec import Struct

from ullage.stores.base import NO_END_MS


class Selection(Struct, frozen=True, kw_only=True):
    """Requests that came from `since_ms` up to `until_ms` (epoch milliseconds), of one session if it is named, of the targets
    that `model` names: `provider/model`, or the model alone, where `*` stands for anything."""

    since_ms: int = 0
    until_ms: int = NO_END_MS
    session: str | None = None
    model: str | None = None

    def has(self, *targets: str | None) -> bool:
        """Whether one of these targets is asked for."""
        pattern = self.model
        if pattern is None:
            return True
        return any(
            fnmatchcase(name, pattern) for target in targets if target for name in (target, target.partition("/")[2])
        )

    def is_in_time(self, at_ms: int) -> bool:
        """Whether something of that time is asked for."""
        return self.since_ms <= at_ms <= self.until_ms
