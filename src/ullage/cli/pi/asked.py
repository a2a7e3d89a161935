"""What is asked at Pi's prompt: the session, its model, the words and options, and what Pi says of itself."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal

import msgspec
from msgspec import Struct

ROUTED = "ullage/auto"
"""What Pi calls the model that stands for whichever is chosen."""
MOST_SUMMARIES = 24
"""How many summaries of a session are told of (planner specification, section 31)."""


class Summary(Struct, frozen=True, kw_only=True):
    """An entry of the session's file in which Pi has put a summary in the place of what was said before.

    `at` is ISO 8601. `before` are the tokens of the context before, by Pi's count. `cost` is USD, where Pi knows it. `on_branch`:
    it lies on the way to the session's last entry. `by_extension`: an extension has written it.
    """

    id: str
    kind: Literal["compaction", "branch_summary"]
    at: str
    before: int | None = None
    kept: str | None = None
    chars: int = 0
    cost: float | None = None
    on_branch: bool = True
    by_extension: bool = False


class Compaction(Struct, frozen=True, kw_only=True):
    """How Pi compacts, in tokens; `None` is what it does not tell. `told`: its settings say so, else these are its defaults."""

    told: bool = False
    enabled: bool | None = None
    reserve_tokens: int | None = None
    keep_recent_tokens: int | None = None


class Failed(Struct, frozen=True, kw_only=True):
    """The last compaction that came to nothing since Pi has begun. `at` is ISO 8601."""

    at: str
    reason: str
    message: str = ""


class Host(Struct, frozen=True, kw_only=True):
    """Pi as it is now. What an older version does not tell is `None`, or empty.

    `apis` are the optional parts of what Pi offers to extensions, and whether they are there. `entries` are those of the
    session's file, `branch` those of them on the way to the last one. `problem` is why it asks no daemon. `tokens`
    are the context by Pi's own count, of `window`.
    """

    version: str = ""
    mode: str = ""
    problem: str = ""
    apis: dict[str, bool] = {}
    trusted: bool | None = None
    file: str | None = None
    entries: int | None = None
    branch: int | None = None
    tokens: int | None = None
    window: int | None = None
    compaction: Compaction = Compaction()
    compacting: bool = False
    failed: Failed | None = None
    summaries: tuple[Summary, ...] = ()
    models: tuple[dict[str, Any], ...] = ()


class Asked(Struct, frozen=True, kw_only=True):
    """What was typed, and by whom. `words` follow the name of the command, `options` stand among them; each may be repeated."""

    session: str
    model: str
    words: tuple[str, ...] = ()
    options: dict[str, tuple[str, ...]] = {}
    host: Host = Host()

    @property
    def of_session(self) -> tuple[str, ...]:
        """The option that names the session."""
        return ("--session", self.session) if self.session else ()

    @property
    def text(self) -> str:
        """All words as one text."""
        return " ".join(self.words)

    @property
    def is_routed(self) -> bool:
        """Whether Pi is at the model of ours that stands for others."""
        return self.model == ROUTED

    def has(self, name: str) -> bool:
        """Whether a flag was given."""
        return name in self.options

    def passed(self, **names: str) -> list[str]:
        """The options as arguments of ours; `names` are ours for those that have another name in Pi."""
        return [
            word
            for name, values in self.options.items()
            for value in values
            for word in (f"--{names.get(name, name)}", *([value] if value else []))
        ]


class Row(Struct, frozen=True, kw_only=True):
    """A command: arguments of `ullage` that answer it, or what prints the answer and gives a status.

    `takes` are its words, for people; `least` of them there must be, and `most` there may be, if that is said. `flags` and
    `values` are its options without and with a value. `raw`: what follows is one text, in which quotes and options mean nothing.
    """

    answer: Callable[[Asked], Sequence[str] | int]
    does: str
    takes: str = ""
    least: int = 0
    most: int | None = 0
    flags: frozenset[str] = frozenset()
    values: frozenset[str] = frozenset()
    raw: bool = False


class Group(Struct, frozen=True, kw_only=True):
    """Commands behind one word; `usual` is what it means alone."""

    usual: str
    rows: dict[str, Row]


Table = dict[str, Row | Group]


def read_host(told: bytes) -> Host:
    """What Pi says of itself; what cannot be read says nothing."""
    try:
        return msgspec.json.decode(told, type=Host)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return Host()
