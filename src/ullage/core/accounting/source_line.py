"""A tool's source behind its name on a screen (accounting specification, section 13)."""

from __future__ import annotations

from ullage.core.content import SEPARATOR

from .screen import cut, width_of
from .sections import short_path

_LEAST_COLUMNS = 12


def source_text(line: str, columns: int) -> str:
    """The line behind a tool's name in so many columns, separator included: the home folder as `~`, the middle of the path left
    out where it is too long, nothing where there is no room."""
    room = columns - width_of(SEPARATOR)
    if room < _LEAST_COLUMNS:
        return ""
    *facts, path = line.split(SEPARATOR)
    shown = SEPARATOR.join([*facts, short_path(path)])
    if width_of(shown) <= room:
        return SEPARATOR + shown
    before = "".join(fact + SEPARATOR for fact in facts)
    left = room - width_of(before)
    if left < _LEAST_COLUMNS:
        return SEPARATOR + cut(shown, room)
    return SEPARATOR + before + _without_middle(short_path(path), left)


def _without_middle(path: str, columns: int) -> str:
    """The beginning and the end of a path with `…` between them: at the end at least the file's name, if that fits."""
    name = path[path.rfind("/") :] if "/" in path else path
    tail = len(name) if len(name) <= columns - 3 else columns // 2
    head = columns - 1 - tail
    return path[:head] + "…" + path[len(path) - tail :]
