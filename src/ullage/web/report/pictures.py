"""What pictures share: their frame, and labels that stay inside their boxes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .kinds import colour_of, title_of
from .markup import Markup, join, tag

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .treemap import Box

_CHARACTER_WIDTH = 6.7
"""Of a label in units of the picture: 12 high, of a sans-serif face; bold ones are wider."""

_BOLD_WIDTH = 7.6


def picture(identity: str, title: str, description: str, width: float, height: float, *children: Markup) -> Markup:
    """An SVG that says in words what it shows; the table beside it has every number."""
    return tag(
        "svg",
        tag("title", title, id=f"{identity}-title"),
        tag("desc", description, id=f"{identity}-desc"),
        *children,
        id=identity,
        class_="picture",
        role="img",
        aria_labelledby=f"{identity}-title {identity}-desc",
        viewBox=f"0 0 {width:g} {height:g}",
        preserveAspectRatio="xMidYMid meet",
        xmlns="http://www.w3.org/2000/svg",
    )


def legend(kinds: Iterable[str]) -> Markup:
    """The colours of the kinds, by name."""
    return tag(
        "ul",
        [
            tag("li", tag("span", class_=f"swatch {colour_of(kind)}", aria_hidden="true"), title_of(kind))
            for kind in kinds
        ],
        class_="legend",
    )


def label(text: str, box: Box, *, bold: bool = False) -> Markup | None:
    """A text at the top left of a box, shortened to fit; nothing where it would say nothing."""
    room = int((box.width - 8) / (_BOLD_WIDTH if bold else _CHARACTER_WIDTH))
    if room < min(4, len(text)) or box.height < 16:
        return None
    shown = text if len(text) <= room else f"{text[: room - 1]}…"
    return tag("text", shown, x=box.x + 4, y=box.y + 13, class_="label head" if bold else "label")


def amount(text: str, box: Box) -> Markup | None:
    """A number below the label of a box; nothing where it would not fit whole."""
    if len(text) * _CHARACTER_WIDTH > box.width - 8 or box.height < 32:
        return None
    return tag("text", text, x=box.x + 4, y=box.y + 27, class_="label amount")


def rectangle(box: Box, class_: str, title: str, **data: str | int | None) -> Markup:
    """A box with what it stands for, for eyes, for a pointer and for programs."""
    return tag(
        "rect",
        tag("title", title),
        x=box.x,
        y=box.y,
        width=box.width,
        height=box.height,
        class_=class_,
        **{f"data_{key}": value for key, value in data.items()},
    )


def group(*children: Markup | None) -> Markup:
    return tag("g", join(*children))
