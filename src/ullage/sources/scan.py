"""What one pass over a session file gathers, whatever the client."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from .decoding import epoch_ms
from .trail import ROOT, Trail

if TYPE_CHECKING:
    from ullage.core.content import Usage
    from ullage.core.wire.conversation import Dialect

    from .session import Compaction


class Unit(NamedTuple):
    """One message of the trail: the records it is made of, and which element of them if they hold several messages."""

    records: tuple[int, ...]
    item: int | None = None


@dataclass(slots=True, kw_only=True)
class CallDraft:
    """A call while the file is read. `prompt` is the node of the last message sent, `reply` the nodes of its reply."""

    prompt: int
    prelude: int = ROOT
    reply: list[int] = field(default_factory=list)
    provider: str | None = None
    api: str | None = None
    dialect: Dialect | None = None
    model: str | None = None
    usage: Usage | None = None
    stop_reason: str | None = None
    time_ms: int | None = None
    response_id: str | None = None
    failed: bool = False
    sidechain: bool = False
    agent: str | None = None
    visible_chars: int = 0


class Scan:
    """The state of a pass, whatever the client: two trails, where each stands, the calls so far and what went wrong.

    `messages` holds what is sent as messages, `preludes` the records of system prompts and tool definitions. `head` and `prelude`
    are the nodes where the conversation stands at the end.
    """

    def __init__(self) -> None:
        self.messages = Trail()
        self.preludes = Trail()
        self.units: list[Unit] = []
        self.head = ROOT
        self.prelude = ROOT
        self.calls: list[CallDraft] = []
        self.compactions: list[Compaction] = []
        self.client_versions: list[str] = []
        self.format_version: int | None = None
        self.id: str | None = None
        self.parent: str | None = None
        self.cwd: str | None = None
        self.window: int | None = None
        self.rewinds = 0
        self.unknown_parents = 0
        self.evicted_texts = 0
        self.headless = False
        self.handmade = False
        self.complete = False
        # Labels by the records that they are on; the records of what extensions have left about what is to be kept; and which of
        # the entries that those name are on the branch.
        self.labels: dict[int, str] = {}
        self.left: list[int] = []
        self.places: frozenset[str] = frozenset()

    def time(self, value: object) -> int | None:
        """A time in epoch milliseconds. One that cannot be read shows that no client wrote the file."""
        moment = epoch_ms(value)
        if moment is None and value is not None:
            self.handmade = True
        return moment

    def version(self, value: object) -> None:
        """A version of the client, noted once."""
        if isinstance(value, str) and value and value not in self.client_versions:
            self.client_versions.append(value)

    def append(self, parent: int, unit: Unit, *, lossy: bool = False) -> int:
        """Adds a message behind `parent`; returns its node."""
        self.units.append(unit)
        return self.messages.append(parent, len(self.units) - 1, lossy=lossy)

    def grow(self, node: int, record: int) -> None:
        """Adds a record to the message of a node."""
        number = self.messages.unit(node)
        self.units[number] = self.units[number]._replace(records=(*self.units[number].records, record))

    def prepend(self, parent: int, record: int) -> int:
        """Adds a record of system prompt or tools to the prelude; returns its node."""
        return self.preludes.append(parent, record)
