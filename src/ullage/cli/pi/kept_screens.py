"""`/context pins` and `memory`: what is kept for this session and its project, with what is said of each."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ullage.cli import records
from ullage.cli.awareness_text import counted
from ullage.cli.keeping import read_kept
from ullage.cli.records import ago, print_lines, shorten_ids, table
from ullage.core.terminal import safe

from .item_screens import wants_all

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ullage.core.evidence.mutations import Item, Kept, Kind

    from .asked import Asked

_TEXT_CHARS = 60
_EMPTY = {
    "pin": "Nothing is pinned here: /context pin TEXT does.",
    "memory": "Nothing is remembered here: /context memory add CLAIM does.",
}


class Here(NamedTuple):
    """All pins or memories that there are, and the names of the project that Pi is in."""

    kept: Kept
    kind: Kind
    projects: frozenset[str]

    def all(self, asked: Asked) -> list[Item]:
        """Those of the session and of the project, whatever became of them."""
        return [one for one in self.kept.of(self.kind) if self._is_here(one, asked)]

    def active(self, asked: Asked) -> list[Item]:
        """Those of them that may still be sent."""
        return [one for one in self.all(asked) if one.is_active]

    def _is_here(self, item: Item, asked: Asked) -> bool:
        return item.project in self.projects if item.scope == "project" else item.session == asked.session


def kept_here(kind: Kind) -> Here:
    """What is kept, to be asked of the working folder, which is Pi's. Raises `StoreError`."""
    from ullage.stores import root_finder

    folder = str(Path.cwd())
    root = root_finder("project")(folder)
    return Here(read_kept(None)[0], kind, frozenset({folder, *([root] if root else [])}))


def show_pins(asked: Asked) -> int:
    """The pins of this session and project; with `all` those that have ended, too."""
    return _show(asked, "pin")


def show_memory(asked: Asked) -> int:
    """The same of memory."""
    return _show(asked, "memory")


def _show(asked: Asked, kind: Kind) -> int:
    here = kept_here(kind)
    everything = wants_all(asked)
    items = here.all(asked) if everything else here.active(asked)
    ended = len(here.all(asked)) - len(items)
    lines = _rows(items) if items else [_EMPTY[kind]]
    if ended and not everything:
        word = "pins" if kind == "pin" else "memory list"
        lines.append(f"{counted(ended, 'item')} that ended: /context {word} all")
    print_lines(lines)
    return 0


def _rows(items: Sequence[Item]) -> list[str]:
    from ullage.core.evidence.excerpts import shorten

    shown, now = shorten_ids(one.id for one in items), records.now_ms()
    header = ("id", "state", "scope", "key", "class", "sources", "when", "text")
    rows = [
        (
            shown[one.id],
            one.state,
            one.scope,
            one.key or "-",
            one.classification,
            ", ".join([*one.source_ids, *([one.source_file] if one.source_file else [])]) or "-",
            ago(one.created_ms, now),
            shorten(one.text, _TEXT_CHARS),
        )
        for one in items
    ]
    reasons = [safe(f"{shown[one.id]}: {one.reason}") for one in items if one.reason]
    return [*table(header, rows), *reasons]
