"""Tells those who watch of every request that is over: its facts, without content.

Also of those that nothing is recorded of: lists of models, greetings, and what was turned away before it was read.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable
from typing import TYPE_CHECKING

import msgspec

from ullage.core.wire import recognise
from ullage.stores import AttemptRecord
from ullage.stores.route_records import facts_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ullage.stores import CallRecord

    from .endpoint import Endpoint
    from .exchange import Exchange

Watcher = Callable[[AttemptRecord], None]

_FIRST_ERROR = 400

_log = logging.getLogger("ullage.engine")


class Watchers:
    """Told one after the other, by one thread. One that fails takes nothing from the others, and is told of once in the log."""

    def __init__(self, watchers: Sequence[Watcher] = ()) -> None:
        self._watchers = watchers
        self._failed: set[int] = set()

    def __bool__(self) -> bool:
        return bool(self._watchers)

    def tell(self, call: CallRecord) -> None:
        """A recorded call is over. Never raises."""
        if self._watchers:
            with contextlib.suppress(msgspec.ValidationError):  # its route is not told as usual
                self.tell_facts(facts_of(call))

    def tell_facts(self, facts: AttemptRecord) -> None:
        """A request is over. Never raises."""
        for number, watcher in enumerate(self._watchers):
            try:
                watcher(facts)
            except Exception:  # noqa: BLE001 - whoever watches must not disturb what is watched
                if number not in self._failed:
                    self._failed.add(number)
                    _log.exception("What is told of calls cannot be taken in.")


def passed_on(exchange: Exchange) -> AttemptRecord:
    """The facts of a request that was relayed and asked no model for an answer."""
    endpoint = exchange.endpoint
    failed = exchange.outcome == "error" or (exchange.status or 0) >= _FIRST_ERROR
    return AttemptRecord(
        id=exchange.id,
        session="",
        client=recognise(exchange.headers, endpoint.path, None).client,
        created_ms=exchange.created_ms,
        kind=endpoint.purpose,
        dialect=endpoint.dialect,
        provider=exchange.provider,
        model=None,
        status=exchange.status,
        outcome="error" if failed else "ok" if exchange.outcome == "whole" else exchange.outcome,
        request_bytes=exchange.request_bytes,
        answer_bytes=exchange.answer_bytes,
        first_byte_ms=exchange.first_byte_ms,
        duration_ms=exchange.last_ms,
    )


def turned_away(
    id: str,  # noqa: A002 - the record's own word
    endpoint: Endpoint | None,
    headers: Mapping[str, str],
    status: int,
    now_ms: int,
) -> AttemptRecord:
    """The facts of a request that we answered before it was read."""
    path = endpoint.path if endpoint is not None else ""
    return AttemptRecord(
        id=id,
        session="",
        client=recognise(headers, path, None).client,
        created_ms=now_ms,
        kind=endpoint.purpose if endpoint is not None else "unknown",
        dialect=endpoint.dialect if endpoint is not None else "",
        provider="",
        model=None,
        status=status,
        outcome="answered",
    )
