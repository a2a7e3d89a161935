"""What routing remembers of each session: where it is, the task in progress, what failed; as plain data over a restart."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct, field

from ullage.core.routing.escalation import NO_STREAKS, Streaks
from ullage.core.routing.task import TaskProfile
from ullage.core.routing.thinking import Level

from .route_habits import NOTHING_SPENT, Spent

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ullage.stores import SessionRecord

_SESSIONS = 2_000
_AUTHORS = 64
LONGEST_GRUDGE_MS = 600_000
"""How long a failure is remembered at most (routing specification, section 20.1)."""


class TaskState(Struct, kw_only=True):
    """A task in progress: one turn of the user with all calls of its tool loop.

    `opener` is the canonical hash of the message that it began with, `messages` how many its newest request had. `thinking` is
    the level that its calls ask for. `calls` are those that were sent, `spent` what their answers used, `began_tokens` the
    prompt of the first one. `settled`: the last answer asked for no tool. `pinned`: the user named a target or a tier. `streaks`
    are the mistakes of its tools.
    """

    id: str
    target: str
    opener: str
    messages: int
    thinking: Level
    policy: str
    profile: TaskProfile
    started_ms: int
    alias: str | None = None
    calls: int = 0
    spent: Spent = NOTHING_SPENT
    began_tokens: int = 0
    settled: bool = False
    pinned: bool = False
    escalated: bool = False
    streaks: Streaks = NO_STREAKS


class Failure(Struct, frozen=True, kw_only=True):
    """A target that failed in a way that another one may not: until when that is remembered, epoch milliseconds."""

    status: str
    until_ms: int


class SessionRoute(Struct, kw_only=True):
    """One session. `current` is the target of its last task, `failing`: it did not answer its newest request; `authors` say
    whose the answers are, each from a number of messages on; `compacting`: a summary was asked for, `summary` is its
    task; `compacted`: the history was summarised since the last task. USD as `RouteSession` has them."""

    current: str | None = None
    failing: bool = False
    task: TaskState | None = None
    failed: dict[str, Failure] = field(default_factory=dict)
    authors: list[tuple[int, str | None]] = field(default_factory=list)
    answered_ms: int = 0
    last_good: str | None = None
    compacting: bool = False
    summary: str = ""
    compacted: bool = False
    switched_usd: float = 0.0
    stayed_usd: float = 0.0

    @property
    def previous(self) -> TaskProfile | None:
        """What the last task was like."""
        return self.task.profile if self.task is not None else None

    def failures(self, now_ms: int) -> dict[str, str]:
        """The targets that are to be avoided now, each with why; what is over is forgotten."""
        self.failed = {target: one for target, one in self.failed.items() if one.until_ms > now_ms}
        return {target: f"it failed before, after {one.status}" for target, one in self.failed.items()}

    def author(self, index: int) -> str | None:
        """The target that wrote the message with this number; `None` where that is not known."""
        return next((target for start, target in reversed(self.authors) if start <= index), None)

    def note_author(self, messages: int, target: str, *, rewritten: bool) -> None:
        """Notes that a request of so many messages goes to a target: what is answered stands behind them."""
        self.authors = [(0, None)] if rewritten else [one for one in self.authors if one[0] < messages]
        if not self.authors or self.authors[-1][1] != target:
            self.authors = [*self.authors, (messages, target)][-_AUTHORS:]

    def plain(self) -> dict[str, Any]:
        """All of it as plain data."""
        found: dict[str, Any] = msgspec.to_builtins(self)
        return found


class SessionRoutes:
    """The sessions in use, the least recently used forgotten first. Used by one thread only."""

    def __init__(self) -> None:
        self._sessions: dict[str, SessionRoute] = {}

    def find(self, session: str) -> SessionRoute:
        """What is known of a session; one that has no name is forgotten at once."""
        if not session:
            return SessionRoute()
        known = self._sessions.pop(session, None) or SessionRoute()
        self._sessions[session] = known
        if len(self._sessions) > _SESSIONS:
            del self._sessions[next(iter(self._sessions))]
        return known

    def knows(self, session: str) -> bool:
        return session in self._sessions

    def inherit(self, session: str, parent: str) -> None:
        """A branch goes on from where its parent is, without the task in progress (section 3.1)."""
        if session not in self._sessions and (known := self._sessions.get(parent)) is not None:
            self._sessions[session] = SessionRoute(
                current=known.current,
                authors=list(known.authors),
                answered_ms=known.answered_ms,
                task=msgspec.structs.replace(known.task, opener="", settled=True) if known.task is not None else None,
            )

    def recall(self, records: Iterable[SessionRecord]) -> None:
        """Takes up the sessions of earlier runs, newest first; what cannot be read begins anew."""
        for record in reversed(list(records)):
            if record.routing is not None and record.id not in self._sessions:
                with contextlib.suppress(msgspec.ValidationError):
                    self._sessions[record.id] = _read(record.routing)


def _read(plain: Mapping[str, Any]) -> SessionRoute:
    return msgspec.convert(plain, SessionRoute)
