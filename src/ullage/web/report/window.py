"""The window as two pictures: a bar of what fills it and what is free, and a treemap of sections and the items in them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from .kinds import FREE, GAP, colour_of, in_order, kind_of, title_of
from .markup import Markup, join
from .numbers import is_exact, percent, tokens
from .pictures import amount, group, label, picture, rectangle
from .treemap import Box, squarify

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_WIDTH, _BAR_HEIGHT, _MAP_HEIGHT = 1000.0, 34.0, 460.0
_EDGE, _STRIP = 2.0, 18.0
_SMALLEST_WITH_ITEMS = 46.0
_MOST_ITEMS = 150


class Part(NamedTuple):
    """A named number of a picture, with what it is made of. `section` is the id in the report, empty for the gap."""

    name: str
    kind: str
    tokens: int
    exact: bool
    section: str
    items: tuple[Part, ...] = ()


def parts_of(report: dict[str, Any]) -> list[Part]:
    """Everything in a report that has an area, the largest first."""
    parts = [_section(section) for section in report["sections"] if section["tokens"] > 0]
    if report["gap"] > 0:
        parts.append(Part(title_of(GAP), GAP, report["gap"], exact=False, section=""))
    return sorted(parts, key=lambda part: (-part.tokens, part.name))


def draw_bar(report: dict[str, Any]) -> Markup:
    """What fills the window, kind by kind, and what is free of it."""
    sums: dict[str, int] = {}
    for part in parts_of(report):
        sums[part.kind] = sums.get(part.kind, 0) + part.tokens
    stacked = [(kind, sums[kind]) for kind in in_order(sums)]
    free = report["ullage"]
    if free is not None and free > 0:
        stacked.append((FREE, free))
    whole = sum(size for _, size in stacked)
    boxes: list[Markup] = []
    at = 0.0
    for kind, size in stacked:
        box = Box(at, 0, _WIDTH * size / whole, _BAR_HEIGHT)
        said = f"{title_of(kind)}: {tokens(size, exact=False)} tokens"
        boxes.append(group(rectangle(box, colour_of(kind), said, kind=kind, tokens=size), label(title_of(kind), box)))
        at += box.width
    description = ", ".join(f"{title_of(kind)} {size:,}" for kind, size in stacked) or "nothing"
    return picture("window-bar", "What fills the window", f"{description} tokens.", _WIDTH, _BAR_HEIGHT, *boxes)


def draw_treemap(report: dict[str, Any]) -> Markup:
    """Every section as a box, its items as boxes in it."""
    parts = parts_of(report)
    boxes = squarify([part.tokens for part in parts], Box(0, 0, _WIDTH, _MAP_HEIGHT))
    drawn = join(*(_draw_section(part, box, report["total"]) for part, box in zip(parts, boxes, strict=True)))
    largest = ", ".join(f"{part.name} {part.tokens:,}" for part in parts[:5])
    description = f"{len(parts)} sections by size; the largest: {largest}. All numbers are in the table of sections."
    return picture("treemap", "Sections and items by tokens", description, _WIDTH, _MAP_HEIGHT, drawn)


def _section(section: dict[str, Any]) -> Part:
    kind, exact = kind_of(section), is_exact(section)
    items = [
        Part(str(item["name"]) or "around the entries", kind, item["tokens"], exact=exact, section=str(section["id"]))
        for item in section["items"]
        if item["tokens"] > 0
    ]
    items.sort(key=lambda item: (-item.tokens, item.name))
    return Part(
        str(section["title"]), kind, section["tokens"], exact=exact, section=str(section["id"]), items=tuple(items)
    )


def _draw_section(part: Part, box: Box, total: int) -> Markup:
    share = percent(part.tokens / total) if total > 0 else percent(None)
    said = f"{part.name}: {tokens(part.tokens, exact=part.exact)} tokens ({share})"
    data: dict[str, str | int | None] = {"section": part.section, "kind": part.kind, "tokens": part.tokens}
    outer = rectangle(box, f"box {colour_of(part.kind)}", said, **data)
    inside = box.inset(_EDGE, _STRIP)
    with_items = len(part.items) > 1 and min(inside.width, inside.height) > _SMALLEST_WITH_ITEMS
    inner = _draw_items(part, inside, total) if with_items else ()
    size = tokens(part.tokens, exact=part.exact)
    if with_items:
        return group(outer, *inner, label(f"{part.name} {size}", box, bold=True))
    return group(outer, label(part.name, box, bold=True), amount(size, box))


def _draw_items(part: Part, box: Box, total: int) -> Iterator[Markup]:
    shown = _with_rest(part.items)
    for item, place in zip(shown, squarify([item.tokens for item in shown], box), strict=True):
        share = percent(item.tokens / total) if total > 0 else percent(None)
        said = f"{part.name}, {item.name}: {tokens(item.tokens, exact=item.exact)} tokens ({share})"
        yield group(
            rectangle(
                place, f"item {colour_of(item.kind)}", said, section=item.section, item=item.name, tokens=item.tokens
            ),
            label(item.name, place),
            amount(tokens(item.tokens, exact=item.exact), place),
        )


def _with_rest(items: Sequence[Part]) -> list[Part]:
    """The items, the smallest of very many as one."""
    if len(items) <= _MOST_ITEMS:
        return list(items)
    rest = items[_MOST_ITEMS:]
    first = rest[0]
    return [
        *items[:_MOST_ITEMS],
        first._replace(name=f"{len(rest)} more", tokens=sum(item.tokens for item in rest)),
    ]
