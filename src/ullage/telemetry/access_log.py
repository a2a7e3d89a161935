"""A line of JSON for each request that is over, appended to a file: who asked whom, what came of it, without content.

The file is opened for every line, so that it may be moved away (by logrotate, say) at any time: the next line begins a new one.
"""

from __future__ import annotations

import logging
import os
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct

from ullage.stores.metrics import NANO, attempts_of, cost_of
from ullage.stores.report import iso_time

if TYPE_CHECKING:
    from pathlib import Path

    from ullage.stores import AttemptRecord

_log = logging.getLogger("ullage.telemetry")


class Line(Struct, frozen=True, kw_only=True):
    """One request: members stay in this order, and new ones come at the end. `input` is the whole prompt."""

    time: str
    id: str
    session: str
    client: str | None
    kind: str
    dialect: str
    target: str
    status: int | None
    outcome: str
    attempts: int
    ms: float | None
    first_ms: float | None
    input: int | None
    cached: int | None
    output: int | None
    usd: float | None


class AccessLog:
    """Writes lines. A file that cannot be written is told once in the daemon's own log, until it can be again."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._failed = False

    def note(self, call: AttemptRecord) -> None:
        """Writes the line of a call."""
        line = msgspec.json.encode(make_line(call)) + b"\n"
        try:
            self._append(line)
        except OSError as error:
            if not self._failed:
                _log.warning("The access log %s cannot be written: %s.", self._path, error.strerror or error)
            self._failed = True
        else:
            self._failed = False

    def _append(self, line: bytes) -> None:
        """In one write, so that lines of several processes stay whole."""
        descriptor = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            os.write(descriptor, line)
        finally:
            os.close(descriptor)


def make_line(call: AttemptRecord) -> Line:
    """What is said of a call."""
    usage, cost = call.usage, cost_of(call)
    return Line(
        time=iso_time(call.created_ms),
        id=call.id,
        session=call.session,
        client=call.client,
        kind=call.kind,
        dialect=call.dialect,
        target=call.target if call.asked else "",
        status=call.status,
        outcome=call.outcome,
        attempts=len(attempts_of(call)),
        ms=call.duration_ms,
        first_ms=call.first_byte_ms if call.first_output_ms is None else call.first_output_ms,
        input=sum(usage.get(part) or 0 for part in ("input_fresh", "cache_read", "cache_write")) if usage else None,
        cached=usage.get("cache_read") if usage else None,
        output=usage.get("output") if usage else None,
        usd=None if cost is None else cost / NANO,
    )
