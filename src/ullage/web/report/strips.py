"""Pictures that lay a prompt from left to right: what of it is in the cache, and what a compaction left of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .kinds import GAP, colour_of, in_order, title_of
from .markup import Markup, join, tag
from .numbers import short, tokens
from .pictures import group, label, picture, rectangle
from .treemap import Box

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_WIDTH, _HEIGHT = 1000.0, 30.0
_NAME_WIDTH, _GAP_HEIGHT = 88.0, 8.0
_COLOURS = {
    "tools": "k-tools",
    "system": "k-system",
    "harness": "k-system",
    "session": "k-messages",
    "turn": "k-messages",
}


def draw_cache(rows: Sequence[dict[str, Any]]) -> Markup | None:
    """The prompt in the order in which the provider reads it; pale is what is not in the cache."""
    whole = sum(row["tokens"] for row in rows)
    if whole <= 0:
        return None
    scale = _WIDTH / whole
    drawn = join(*(_cache_row(row, scale, number) for number, row in enumerate(rows)))
    cached = sum(row["cached"] for row in rows)
    description = f"About {cached:,} of {whole:,} tokens are in the cache. All numbers are in the table below."
    return picture("cache-strip", "The prompt and the cache", description, _WIDTH, _HEIGHT, drawn)


def _cache_row(row: dict[str, Any], scale: float, number: int) -> Markup:
    box = Box(row["start"] * scale, 0, row["tokens"] * scale, _HEIGHT)
    warm = box._replace(width=row["cached"] * scale)
    said = (
        f"{row['title']}: {tokens(row['tokens'], exact=False)} tokens, {tokens(row['cached'], exact=False)} in the cache; "
        f"a change here breaks {tokens(row['behind'], exact=False)}"
    )
    colour = f"{_COLOURS.get(row['kind'], 'k-gap')}{' odd' if number % 2 else ''}"
    held = tag("rect", x=warm.x, y=0, width=warm.width, height=_HEIGHT, class_=f"warm {colour}") if warm.width else None
    numbers = {key: row[key] for key in ("start", "tokens", "cached", "behind")}
    return group(rectangle(box, f"cold {colour}", said, **numbers), held, label(row["title"], box))


def draw_compaction(one: dict[str, Any], number: int) -> Markup | None:
    """Two bars, before and after, by kind of section and to one scale."""
    sides = [("before", one["before"], one["total_before"]), ("after", one["after"], one["total_after"])]
    most = max(max(_sum(sections), total or 0) for _, sections, total in sides)
    if most <= 0:
        return None
    scale = (_WIDTH - _NAME_WIDTH) / most
    drawn = join(
        *(
            _side(name, sections, total, scale, index * (_HEIGHT + _GAP_HEIGHT))
            for index, (name, sections, total) in enumerate(sides)
        )
    )
    said = "; ".join(f"{name}: {tokens(total if total is not None else _sum(kinds))}" for name, kinds, total in sides)
    title = "Before and after the compaction"
    return picture(f"compaction-bars-{number}", title, f"Tokens {said}.", _WIDTH, 2 * _HEIGHT + _GAP_HEIGHT, drawn)


def _side(name: str, sections: dict[str, int], total: int | None, scale: float, top: float) -> Markup:
    size = total if total is not None else _sum(sections)
    head = tag("text", f"{name} {short(size)}", x=0, y=top + 19, class_="tick")
    return join(head, *_stack(name, sections, total, scale, top))


def _stack(name: str, sections: dict[str, int], total: int | None, scale: float, top: float) -> Iterator[Markup]:
    gap = total - sum(sections.values()) if total is not None else 0
    at = _NAME_WIDTH
    for kind, size in [*((kind, sections[kind]) for kind in in_order(sections)), *([(GAP, gap)] if gap > 0 else [])]:
        if size <= 0:
            continue
        box = Box(at, top, size * scale, _HEIGHT)
        said = f"{title_of(kind)} {name}: {tokens(size, exact=False)} tokens"
        yield group(
            rectangle(box, colour_of(kind), said, kind=kind, side=name, tokens=size), label(title_of(kind), box)
        )
        at += box.width


def _sum(sections: dict[str, int]) -> int:
    return sum(max(0, size) for size in sections.values())
