"""Tells those who watch of every call that is over: its facts, without content."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING

import msgspec

from ullage.stores import AttemptRecord
from ullage.stores.route_records import facts_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ullage.stores import CallRecord

Watcher = Callable[[AttemptRecord], None]

_log = logging.getLogger("ullage.engine")


class Watchers:
    """Told one after the other, by one thread. One that fails takes nothing from the others, and is told of once in the log."""

    def __init__(self, watchers: Sequence[Watcher] = ()) -> None:
        self._watchers = watchers
        self._failed: set[int] = set()

    def tell(self, call: CallRecord) -> None:
        """A call is over. Never raises."""
        if not self._watchers:
            return
        try:
            facts = facts_of(call)
        except msgspec.ValidationError:  # its route is not told as usual
            return
        for number, watcher in enumerate(self._watchers):
            try:
                watcher(facts)
            except Exception:  # noqa: BLE001 - whoever watches must not disturb what is watched
                if number not in self._failed:
                    self._failed.add(number)
                    _log.exception("What is told of calls cannot be taken in.")
