"""What the daemon has of each conversation in Pi: the extension sends what is new, here it is put together."""

from __future__ import annotations

from threading import Lock
from typing import TYPE_CHECKING, Any

import msgspec

from ullage.core.evidence.scopes import name_entry
from ullage.core.planning.labels import is_pin
from ullage.engine.marks import Marks

from .messages import Tool, key_of, write_message, write_request

if TYPE_CHECKING:
    from ullage.core.wire import Conversation, Dialect

    from .asking import Update

SESSIONS = 64
"""Conversations that are held at once; of others the whole is asked for again."""
HELD_BYTES = 64 * 2**20
"""So much of messages all of them may hold but for the newest: what is held of a message is some three times as much."""
_READ = 8
"""Of so many what was sent last is held, too."""


class PiSession:
    """One conversation. Used by one thread at a time: Pi makes one request after the other. `pinned` are the keys of messages
    whose labels pin them, `places` entries on its branch at which something may be pinned, `size` the bytes of its messages."""

    def __init__(self) -> None:
        self.prompt = ""
        self.tools: tuple[Tool, ...] = ()
        self.pinned: frozenset[str] = frozenset()
        self.places: tuple[str, ...] = ()
        self._keys: list[str] = []
        self._raw: list[bytes] = []
        self._written: list[bytes] = []
        self._dialect: Dialect | None = None
        # What was sent of it last, so that of what is sent next only what is new is read.
        self.sent: Conversation | None = None
        self.size = 0

    def take(self, update: Update) -> bool:
        """Takes in what is new. False where what it goes on from is not known, so that the whole must be said."""
        if update.known > len(self._keys) or (update.known and self._keys[update.known - 1] != update.last):
            return False
        if update.prompt is not None:
            self.prompt = update.prompt
        if update.tools is not None:
            self.tools = update.tools
        whole = not update.known and update.prompt is not None and update.tools is not None
        if whole or update.labels is not None:
            self.pinned = frozenset(key for key, label in (update.labels or {}).items() if is_pin(label))
        if whole or update.places is not None:
            self.places = update.places or ()
        self._keys[update.known :] = update.keys
        self._raw[update.known :] = [bytes(message) for message in update.messages]
        del self._written[update.known :]
        self.size = sum(map(len, self._raw))
        return len(self._keys) == len(self._raw)

    def body(self, model: str, dialect: Dialect, most_output: int | None) -> bytes:
        """The request in a protocol that we read. It asks for at most so many tokens, if that is said."""
        if dialect != self._dialect:
            self._dialect, self._written = dialect, []
        for number in range(len(self._written), len(self._raw)):
            self._written.append(write_message(self.message(number), self._keys[number], dialect))
        return write_request(
            self._written,
            model=model,
            prompt=self.prompt,
            tools=self.tools,
            most_output=most_output,
            dialect=dialect,
        )

    def marks(self) -> Marks:
        """What Pi knows of it beside its messages."""
        pinned = self.pinned
        return Marks(
            labelled=(lambda piece: key_of(piece) in pinned) if pinned else None,
            places=frozenset(map(name_entry, self.places)),
        )

    def __len__(self) -> int:
        return len(self._keys)

    def find(self, key: str, start: int) -> int | None:
        """The number of the first message with that key, from this one on."""
        try:
            return self._keys.index(key, start)
        except ValueError:
            return None

    def message(self, number: int) -> dict[str, Any]:
        """A message of Pi's."""
        found: dict[str, Any] = msgspec.json.decode(self._raw[number])
        return found

    def written(self, number: int) -> bytes:
        """The same as it stands in the newest body."""
        return self._written[number]


class PiSessions:
    """The conversations that were heard of last. Of a session that several Pis have open, each has its own."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, int], PiSession] = {}
        # Long ones are taken in beside the event loop.
        self._lock = Lock()

    def take(self, update: Update) -> PiSession | None:
        """The conversation with what is new in it; `None` where the whole must be said."""
        with self._lock:
            session = self._known.pop(update.teller, None)
        if session is None:
            if update.known or update.prompt is None or update.tools is None:
                return None
            session = PiSession()
        if not session.take(update):
            return None
        with self._lock:
            self._known[update.teller] = session
            self._bound()
        return session

    def _bound(self) -> None:
        held = sum(session.size for session in self._known.values())
        while len(self._known) > SESSIONS or (held > HELD_BYTES and len(self._known) > 1):
            held -= self._known.pop(next(iter(self._known))).size
        if len(self._known) > _READ:
            list(self._known.values())[-_READ - 1].sent = None
