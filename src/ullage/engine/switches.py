"""Which target each session was on before: a change is a cold boundary (planner specification, section 11)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Iterable

Source = Literal["context", "restore"]
"""How a switch was noticed: between two requests of one run (`context`), or as a session was taken up again after a restart
(`restore`). What a user set or cycled to, only a host can tell."""

Disposition = Literal["eligible", "cold-model-switch", "unknown"]

TARGETS = 16
"""Targets remembered of one session, the newest last."""

_SESSIONS = 2_000


class Switch(Struct, frozen=True, kw_only=True):
    """What a request says of its session's target. `previous` is the one before, `None` for a session's first request;
    `profile_reused` says that the session has been on this target already. Targets are `provider/model`."""

    source: Source
    switched: bool
    previous: str | None
    profile_reused: bool
    cache_disposition: Disposition


class Switches:
    """Remembers the targets of sessions. Used by one thread only."""

    def __init__(self) -> None:
        self._targets: dict[str, tuple[str, ...]] = {}
        self._before: dict[str, tuple[str, ...]] = {}
        self._recalled: set[str] = set()

    def recall(self, session: str, targets: Iterable[str]) -> None:
        """Takes up what is kept of a session from an earlier run."""
        if session not in self._targets and (kept := tuple(targets)[-TARGETS:]):
            self._keep(session, kept)
            self._recalled.add(session)

    def note(self, session: str, target: str) -> Switch:
        """Notes that a request of the conversation goes to `target`."""
        known = self._targets.pop(session, ())
        source: Source = "restore" if session in self._recalled else "context"
        self._recalled.discard(session)
        previous = known[-1] if known else None
        self._before[session] = known
        self._keep(session, (*(one for one in known if one != target), target)[-TARGETS:])
        return Switch(
            source=source,
            switched=previous not in (None, target),
            previous=previous,
            profile_reused=target in known,
            cache_disposition=_disposition(previous, target),
        )

    def take_back(self, session: str, target: str) -> None:
        """Nothing came of the request that went to `target` last: the session is where it was before."""
        if target in self.targets(session)[-1:] and session in self._before:
            self._keep(session, self._before.pop(session))

    def targets(self, session: str) -> tuple[str, ...]:
        """The targets of a session, the newest last."""
        return self._targets.get(session, ())

    def knows(self, session: str) -> bool:
        """Whether anything is remembered of the session."""
        return session in self._targets

    def _keep(self, session: str, targets: tuple[str, ...]) -> None:
        self._targets[session] = targets
        if len(self._targets) > _SESSIONS:
            oldest = next(iter(self._targets))
            del self._targets[oldest]
            self._before.pop(oldest, None)
            self._recalled.discard(oldest)


def _disposition(previous: str | None, target: str) -> Disposition:
    if previous is None:
        return "unknown"
    return "eligible" if previous == target else "cold-model-switch"
