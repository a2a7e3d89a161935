"""The growth of a session as a picture: what each call sent, stacked by kind of section, and what the provider counted of it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

from .axes import ticks_to
from .kinds import GAP, colour_of, in_order, title_of
from .markup import Markup, join, tag
from .numbers import short, signed, tokens
from .pictures import picture

if TYPE_CHECKING:
    from collections.abc import Sequence

_WIDTH, _HEIGHT = 1000.0, 360.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 56.0, 12.0, 26.0, 34.0
_WIDEST_COLUMN = 60.0
_SMALLEST_POINT = 1.2
_WINDOW_IN_SIGHT = 1.5
"""A window is drawn as a line if the highest prompt fills this part of it upside down: a far-off line would flatten the rest."""


class Column(NamedTuple):
    """One call in the chart; `call` is `None` for the prompt of the next one. `low` and `high` bound an estimate."""

    call: int | None
    total: int | None
    exact: bool
    sections: dict[str, int]
    gap: int
    growth: int | None
    events: tuple[str, ...]
    turn: int | None
    low: int | None = None
    high: int | None = None

    @property
    def stack(self) -> dict[str, int]:
        """What is piled up: the sections, and what they do not explain."""
        return {**self.sections, **({GAP: self.gap} if self.gap > 0 else {})}

    @property
    def top(self) -> int:
        return max(sum(max(0, size) for size in self.stack.values()), self.total or 0, self.high or 0)


class _Scale(NamedTuple):
    """From calls and tokens to places in the picture."""

    step: float
    most: float

    def x(self, index: float) -> float:
        return _LEFT + index * self.step

    def y(self, size: float) -> float:
        return _HEIGHT - _BOTTOM - (_HEIGHT - _TOP - _BOTTOM) * size / self.most


def columns_of(report: dict[str, Any]) -> list[Column]:
    """The calls of the main chain, and the next one where the report is an estimate of it."""
    growth = report["insights"]["growth"]
    found = [_column(call) for call in growth["calls"] if not call["sidechain"]]
    ahead = growth["next"]
    if found and ahead is not None and _is_ahead(report, found):
        found.append(
            Column(
                call=None,
                total=ahead["total"],
                exact=False,
                sections=ahead["sections"],
                gap=ahead["gap"],
                growth=None,
                events=(),
                turn=None,
                low=ahead["total_low"],
                high=ahead["total_high"],
            )
        )
    return found


def draw_chart(report: dict[str, Any]) -> Markup | None:
    """The picture; `None` where there is no call to draw."""
    columns = columns_of(report)
    if not any(column.total is not None for column in columns):
        return None
    window = report["window"]
    most = max(column.top for column in columns)
    shows_window = window is not None and most * _WINDOW_IN_SIGHT >= window
    ticks = ticks_to(max(most, window) if shows_window else most)
    step = min(_WIDEST_COLUMN, (_WIDTH - _LEFT - _RIGHT) / len(columns))
    scale = _Scale(step, ticks[-1])
    kinds = in_order(kind for column in columns for kind in column.stack)
    drawn = join(
        _grid(ticks, scale),
        _areas(columns, kinds, scale),
        _window_line(window, scale) if shows_window else None,
        _events(columns, scale),
        _points(columns, scale),
        _axis(columns, scale),
        _targets(columns, scale),
    )
    counted = [column for column in columns if column.total is not None]
    description = (
        f"{len(counted)} calls. The first prompt had {tokens(counted[0].total)} tokens, the last one "
        f"{tokens(counted[-1].total, exact=counted[-1].exact)}, the largest {max(one.total or 0 for one in counted):,}. "
        "Filled points are what the provider counted, open ones are estimates. All numbers are in the table of calls."
    )
    return picture("growth", "Prompt of each call, by kind of section", description, _WIDTH, _HEIGHT, drawn)


def _column(call: dict[str, Any]) -> Column:
    return Column(
        call=call["call"],
        total=call["total"],
        exact=call["total_kind"] == "usage",
        sections=call["sections"],
        gap=call["gap"],
        growth=call["growth"],
        events=tuple(call["events"]),
        turn=call["turn"],
    )


def _is_ahead(report: dict[str, Any], columns: Sequence[Column]) -> bool:
    """Whether the report looks beyond the last call, and not at an earlier one without usage."""
    last = columns[-1]
    return last.total is None or last.exact or report["total"] != last.total


def _grid(ticks: Sequence[int], scale: _Scale) -> Markup:
    lines = []
    for tick in ticks:
        y = scale.y(tick)
        lines.append(tag("line", x1=_LEFT, x2=_WIDTH - _RIGHT, y1=y, y2=y, class_="grid"))
        lines.append(tag("text", short(tick), x=_LEFT - 6, y=y + 4, class_="tick", text_anchor="end"))
    return tag("g", lines, aria_hidden="true")


def _areas(columns: Sequence[Column], kinds: Sequence[str], scale: _Scale) -> Markup:
    """One shape a kind: a step a call."""
    bases = [0] * len(columns)
    shapes = []
    for kind in kinds:
        tops = [base + max(0, column.stack.get(kind, 0)) for base, column in zip(bases, columns, strict=True)]
        path = _steps(bases, tops, scale)
        shapes.append(
            tag("path", tag("title", title_of(kind)), d=path, class_=f"area {colour_of(kind)}", data_kind=kind)
        )
        bases = tops
    return tag("g", shapes)


def _steps(bases: Sequence[int], tops: Sequence[int], scale: _Scale) -> str:
    """Around every run of calls that has some of it."""
    parts = []
    index = 0
    while index < len(tops):
        if tops[index] <= bases[index]:
            index += 1
            continue
        stop = index
        while stop < len(tops) and tops[stop] > bases[stop]:
            stop += 1
        there = [_level(scale, at, tops[at]) for at in range(index, stop)]
        back = [_level(scale, at, bases[at], back=True) for at in range(stop - 1, index - 1, -1)]
        parts.append("M" + "L".join([*there, *back]) + "Z")
        index = stop
    return "".join(parts)


def _level(scale: _Scale, index: int, size: int, *, back: bool = False) -> str:
    gap = min(1.0, scale.step / 8)
    left, right, y = scale.x(index), scale.x(index + 1) - gap, scale.y(size)
    if back:
        left, right = right, left
    return f"{left:.2f} {y:.2f}L{right:.2f} {y:.2f}"


def _window_line(window: int, scale: _Scale) -> Markup:
    y = scale.y(window)
    return tag(
        "g",
        tag(
            "line", tag("title", f"Window: {window:,} tokens"), x1=_LEFT, x2=_WIDTH - _RIGHT, y1=y, y2=y, class_="limit"
        ),
        tag("text", f"window {short(window)}", x=_WIDTH - _RIGHT, y=y - 4, class_="tick", text_anchor="end"),
    )


_EVENT_TITLES = {
    "compaction": "compaction",
    "rewind": "back to an earlier point",
    "switch": "another model",
    "shrank": "the prompt fell without a mark",
}


def _events(columns: Sequence[Column], scale: _Scale) -> Markup:
    marks = [
        _event(event, column, scale.x(index))
        for index, column in enumerate(columns)
        for event in column.events
        if event in _EVENT_TITLES
    ]
    return tag("g", marks)


def _event(event: str, column: Column, x: float) -> Markup:
    said = f"Before call {column.call}: {_EVENT_TITLES[event]}"
    line = tag(
        "line",
        tag("title", said),
        x1=x,
        x2=x,
        y1=_TOP - 8,
        y2=_HEIGHT - _BOTTOM,
        class_=f"event {event}",
        data_event=event,
        data_call=column.call,
    )
    if event != "compaction":
        return line
    near_end = x > _WIDTH - 90
    anchor = "end" if near_end else "start"
    return join(
        line, tag("text", "compaction", x=x - 3 if near_end else x + 3, y=_TOP - 10, class_="tick", text_anchor=anchor)
    )


def _points(columns: Sequence[Column], scale: _Scale) -> Markup:
    """What the provider counted, filled; what we estimate, open and with its bounds."""
    radius = max(_SMALLEST_POINT, min(4.0, scale.step / 3))
    points = []
    for index, column in enumerate(columns):
        if column.total is None:
            continue
        x = scale.x(index + 0.5)
        if column.low is not None and column.high is not None:
            points.append(tag("line", x1=x, x2=x, y1=scale.y(column.low), y2=scale.y(column.high), class_="bounds"))
        points.append(
            tag(
                "circle",
                cx=x,
                cy=scale.y(column.total),
                r=radius if column.exact else max(radius, 2.5),
                class_="usage" if column.exact else "estimate",
                data_call=column.call,
                data_total=column.total,
                data_total_kind="usage" if column.exact else "estimate",
            )
        )
    return tag("g", points)


def _axis(columns: Sequence[Column], scale: _Scale) -> Markup:
    every = max(1, math.ceil(len(columns) / 12))
    y = _HEIGHT - _BOTTOM
    labels = [
        tag("text", str(column.call), x=scale.x(index + 0.5), y=y + 15, class_="tick", text_anchor="middle")
        for index, column in enumerate(columns)
        if column.call is not None and (index % every == 0 or len(columns) <= 12)
    ]
    turns = [
        tag("line", x1=scale.x(index), x2=scale.x(index), y1=y, y2=y + 5, class_="turn")
        for index, (before, column) in enumerate(zip([None, *columns], columns, strict=False))
        if before is not None and column.turn is not None and before.turn != column.turn
    ]
    title = tag("text", "call", x=_LEFT - 6, y=y + 15, class_="tick", text_anchor="end")
    return tag("g", [title, *labels, *turns], aria_hidden="true")


def _targets(columns: Sequence[Column], scale: _Scale) -> Markup:
    """A strip over each call that tells its numbers to a pointer and to programs."""
    return tag("g", [_target(column, scale, index) for index, column in enumerate(columns) if column.total is not None])


def _target(column: Column, scale: _Scale, index: int) -> Markup:
    lines = [_headline(column)]
    lines += [f"{title_of(kind)}: {tokens(size, exact=False)}" for kind, size in column.sections.items()]
    lines += [f"{title_of(GAP)}: {tokens(column.gap, exact=False)}"] if column.gap else []
    return tag(
        "rect",
        tag("title", " · ".join(lines)),
        x=scale.x(index),
        y=_TOP,
        width=scale.step,
        height=_HEIGHT - _TOP - _BOTTOM,
        class_="target",
        data_call=column.call,
        data_total=column.total,
        data_growth=column.growth,
    )


def _headline(column: Column) -> str:
    name = f"Call {column.call}" if column.call is not None else "Next call"
    grown = f", {signed(column.growth)}" if column.growth is not None else ""
    return f"{name}: {tokens(column.total, exact=column.exact)} tokens{grown}"


def legend_of(report: dict[str, Any]) -> list[str]:
    """The kinds that the chart shows, from the bottom up."""
    return in_order(kind for column in columns_of(report) for kind in column.stack)
