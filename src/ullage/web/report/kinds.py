"""Kinds of sections: their order, titles and colours. A colour is a class of the style sheet, never a value in an element."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ullage.core.accounting.insights import SECTIONS
from ullage.core.accounting.sections import kind_title, section_kind

if TYPE_CHECKING:
    from collections.abc import Iterable

GAP = "gap"
FREE = "free"


def kind_of(section: dict[str, Any]) -> str:
    """The kind of a section of a report."""
    return section_kind(str(section["id"]))


def title_of(kind: str) -> str:
    """What a person calls it."""
    match kind:
        case "gap":
            return "Unattributed"
        case "free":
            return "Free"
        case "reply":
            return "Answers"
        case _:
            return kind_title(kind)


def colour_of(kind: str) -> str:
    """The class that paints a kind. One that is not known here gets the colour of the gap."""
    return f"k-{kind}" if kind in SECTIONS or kind == FREE else f"k-{GAP}"


def in_order(kinds: Iterable[str]) -> list[str]:
    """Kinds from the bottom of a stack to its top: as a prompt is read, what has no name last."""
    known = [*SECTIONS, GAP]
    return sorted(set(kinds), key=lambda kind: (known.index(kind) if kind in known else len(known), kind))
