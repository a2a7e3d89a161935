"""A recorded session: calls with their usage, and what was sent in each, read from disk when it is asked for."""

from __future__ import annotations

from typing import Protocol

from msgspec import Struct

from ullage.core.content import Context, Usage


class Call(Struct, frozen=True, kw_only=True):
    """One provider call found in a session file.

    `trusted` is false for aborted, failed or all-zero usage (accounting.md 8). `output_unsure` marks an output figure that the
    client may have logged from the first chunk only. `time_ms` is epoch milliseconds. `sidechain` calls belong to a sub-agent.
    """

    index: int
    provider: str | None = None
    api: str | None = None
    model: str | None = None
    usage: Usage | None = None
    stop_reason: str | None = None
    time_ms: int | None = None
    trusted: bool = True
    output_unsure: bool = False
    sidechain: bool = False
    response_id: str | None = None


class Compaction(Struct, frozen=True, kw_only=True):
    """A compaction: it stands before call `before_call`. `tokens_before` and `tokens_after` as the client wrote them."""

    before_call: int
    tokens_before: int | None = None
    tokens_after: int | None = None
    trigger: str | None = None


class Problems(Struct, frozen=True, kw_only=True):
    """What could not be read, counted: nothing of it loses the session."""

    malformed_lines: int = 0
    truncated_last_line: bool = False
    unknown_parents: int = 0
    evicted_texts: int = 0
    headless: bool = False


class Session(Protocol):
    """What a reader of `sources` returns. Holds an index of the file, never all its texts."""

    path: str
    client: str
    client_version: str | None
    id: str | None
    cwd: str | None
    window: int | None
    calls: tuple[Call, ...]
    compactions: tuple[Compaction, ...]
    problems: Problems
    handmade: bool

    def context(self, call: int | None = None) -> Context:
        """What was sent in call number `call`; with `None`, what the next call would send (everything now in the window)."""
        ...

    def messages_before(self, call: int | None = None) -> int:
        """How many of `context(None)`'s leading messages were already sent in call `call`, when the one extends the other."""
        ...
