"""Which session a request belongs to, and how its message list relates to the one before (design.md 6).

A session is named by our header, by the client's own id, or found by its fingerprint: the chain of canonical hashes of its
messages. The same chain says whether a request extends the conversation, repeats it, branches off or rewrites it.
"""

from __future__ import annotations

import itertools
from typing import Literal, NamedTuple

from msgspec import Struct

from ullage.core.caching import chain_digest, shared_length

Relation = Literal["new", "extends", "repeats", "branch", "rewrite"]

# Of the sessions that begin with the same message, so many are looked at, the newest first: a program that begins each of a
# thousand conversations alike must not make the next one slow.
_CANDIDATES = 32

# Sessions remembered at once; the oldest are forgotten and begin anew when they come back.
_SESSIONS = 2_000


class Kinship(Struct, frozen=True, kw_only=True):
    """How a request relates to what is known. `shared` counts the leading messages it has in common with `session`'s last
    request; `before` is that request's length in messages, 0 for a new session."""

    session: str
    relation: Relation
    shared: int
    before: int
    parent: str | None = None


class Origin(Struct, frozen=True):
    """What kin must share beside messages: dialect and client, and the system prompt unless an answer is shared, too."""

    kind: str = ""
    system: int = 0


class _Line(Struct):
    """The last request of a session: its message hashes, how many of them its first request had, and where it came from."""

    hashes: tuple[int, ...]
    first_length: int
    origin: Origin


class Tip(Struct, frozen=True, kw_only=True):
    """The end of a session's chain as it is kept over a restart: its first message, its length, and one hash of all.

    `last` is the hash of the last message, by which a branch is named; empty in records that are older than branches are.
    """

    head: str
    depth: int
    chain: str
    last: str = ""


_NOWHERE = Origin()


def tip_of(hashes: tuple[int, ...], origin: Origin = _NOWHERE) -> Tip | None:
    """The tip of a message list; `None` for an empty one."""
    if not hashes:
        return None
    return Tip(head=_head(hashes, origin), depth=len(hashes), chain=chain_digest(hashes), last=f"{hashes[-1]:032x}")


class Ending(NamedTuple):
    """The message list of a request whose session was found. Its tip is made when it is recorded: by then nobody waits."""

    hashes: tuple[int, ...]
    origin: Origin = _NOWHERE

    def tip(self) -> Tip | None:
        """What is kept of it."""
        return tip_of(self.hashes, self.origin)


def _head(hashes: tuple[int, ...], origin: Origin) -> str:
    return f"{origin.kind}:{hashes[0]:032x}"


class Genealogy:
    """Remembers the last message list of each session. Not safe for several threads."""

    def __init__(self, *, sessions: int = _SESSIONS) -> None:
        self._limit = sessions
        self._lines: dict[str, _Line] = {}
        self._tips: dict[str, dict[str, Tip]] = {}
        # origin and hash of the first message -> sessions that begin with it: who could be kin at all
        self._by_head: dict[str, dict[str, None]] = {}

    def recall(self, session: str, tip: Tip) -> None:
        """Takes up a session from an earlier run: a request that extends its tip belongs to it."""
        self._tips.setdefault(tip.head, {})[session] = tip

    def place_named(self, session: str, hashes: tuple[int, ...]) -> Kinship:
        """Relates a request to the session that it names itself."""
        line = self._lines.get(session)
        if line is None:
            self._remember(session, hashes, _NOWHERE)
            return Kinship(session=session, relation="new", shared=0, before=0)
        return self._continue(session, line, hashes)

    def place_unnamed(self, hashes: tuple[int, ...], new_id: str, origin: Origin = _NOWHERE) -> Kinship:
        """Finds the session of a request that names none; `new_id` is used if it belongs to no known one."""
        shared, session = self._nearest(hashes, origin)
        if session is not None:
            line = self._lines[session]
            if shared in (len(line.hashes), len(hashes)) or _rewrites(line, hashes, shared):
                return self._continue(session, line, hashes)
        recalled = self._recalled(hashes, origin)
        if recalled is not None:
            return recalled
        self._remember(new_id, hashes, origin)
        # More in common than the first request had: an answer of that session is shared, so this is its branch.
        if session is not None and shared > self._lines[session].first_length:
            return Kinship(session=new_id, relation="branch", shared=shared, before=0, parent=session)
        return Kinship(session=new_id, relation="new", shared=0, before=0)

    def _nearest(self, hashes: tuple[int, ...], origin: Origin) -> tuple[int, str | None]:
        """The session with the longest common beginning, the newest of equals, and how long that is."""
        best: tuple[int, str | None] = (0, None)
        alike = self._by_head.get(_head(hashes, origin), {}) if hashes else {}
        for session in itertools.islice(reversed(alike), _CANDIDATES):
            line = self._lines[session]
            shared = shared_length(line.hashes, hashes)
            related = line.origin.system == origin.system or shared > line.first_length
            if related and shared > best[0]:
                best = (shared, session)
        return best

    def _recalled(self, hashes: tuple[int, ...], origin: Origin) -> Kinship | None:
        """The session of an earlier run whose tip this request extends."""
        tips = self._tips.get(_head(hashes, origin), {}) if hashes else {}
        for session, tip in tips.items():
            if tip.depth <= len(hashes) and tip.chain == chain_digest(hashes[: tip.depth]):
                del tips[session]
                self._remember(session, hashes, origin)
                relation: Relation = "repeats" if tip.depth == len(hashes) else "extends"
                return Kinship(session=session, relation=relation, shared=tip.depth, before=tip.depth)
        return None

    def _continue(self, session: str, line: _Line, hashes: tuple[int, ...]) -> Kinship:
        shared = shared_length(line.hashes, hashes)
        before = len(line.hashes)
        relation: Relation
        if shared == before:
            relation = "repeats" if len(hashes) == before else "extends"
        elif shared == len(hashes):
            relation = "branch"
        elif _rewrites(line, hashes, shared):
            relation = "rewrite"
        else:
            relation = "branch" if shared > 0 else "rewrite"
        self._remember(session, hashes, line.origin)
        return Kinship(session=session, relation=relation, shared=shared, before=before)

    def _remember(self, session: str, hashes: tuple[int, ...], origin: Origin) -> None:
        line = self._lines.pop(session, None)
        if line is not None and line.hashes:
            self._forget_head(session, _head(line.hashes, line.origin))
        first_length = line.first_length if line is not None else len(hashes)
        self._lines[session] = _Line(hashes=hashes, first_length=first_length, origin=origin)
        if hashes:
            self._by_head.setdefault(_head(hashes, origin), {})[session] = None
        if len(self._lines) > self._limit:
            oldest, dropped = next(iter(self._lines.items()))
            del self._lines[oldest]
            if dropped.hashes:
                self._forget_head(oldest, _head(dropped.hashes, dropped.origin))

    def _forget_head(self, session: str, head: str) -> None:
        sessions = self._by_head.get(head)
        if sessions is not None:
            sessions.pop(session, None)
            if not sessions:
                del self._by_head[head]


def _rewrites(line: _Line, hashes: tuple[int, ...], shared: int) -> bool:
    """Whether `hashes` is the same conversation with an edited middle: it did not shrink, and something that came after the
    shared beginning stands in it again. Aider inserts new turns before its file listing; clients prune in the middle."""
    if shared == 0 or len(hashes) < len(line.hashes) or shared >= len(line.hashes):
        return False
    if len(hashes) == len(line.hashes) and len(hashes) == line.first_length:
        return False  # another conversation that begins with the same fixed messages
    return not set(line.hashes[shared:]).isdisjoint(hashes[shared:])
