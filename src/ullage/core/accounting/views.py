"""Three views of a breakdown, in the style of the accounting specification, sections 12 and 13."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from msgspec import Struct

from ullage.core.profiles import FAMILIES
from ullage.core.terminal import safe

from .counted import PREFLIGHT
from .formats import Style, chars_text, compact_number, heuristic_text, share_text, tokens_text, total_share_text
from .screen import Paint, Painter, cut, pad, spread, width_of
from .sections import HARNESS, TOOL_BLOCK, section_kind
from .source_line import source_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from .breakdown import Breakdown, Field, Item, Section, ToolDetails

View = Literal["summary", "compact", "expanded"]
VIEWS: tuple[View, ...] = ("summary", "compact", "expanded")

LABEL_COLUMNS = 42
_INDENT = "  "
_BAR_MIN, _BAR_MAX = 12, 28
_MIN_COLUMNS = 40
_EXPANDED_MAX_COLUMNS = 100
# Sections whose items are worth a line each.
_LISTED = ("skills", "tools", "tool_outputs", "messages")


class _Row(Struct, frozen=True, kw_only=True):
    """One line: label, number, what is said of it. An item stands deeper and has no unit."""

    label: str
    number: str
    detail: str = ""
    paint: Paint = "plain"
    item: bool = False


class _Columns(Struct, frozen=True):
    """Where the number begins, how wide it is, and how much of it goes up to the digit of its units."""

    label: int
    number: int
    units: int
    width: int


def render_view(breakdown: Breakdown, view: View, *, width: int, color: bool, style: Style = "fine") -> str:
    """The view as text that ends with one blank line. `width` in columns; narrower than 40 is drawn as 40. `style` is that of
    numbers of tokens."""
    width = max(width, _MIN_COLUMNS)
    paint = Painter(color=color)
    groups = [
        _harness_rows(breakdown, view, style),
        _session_rows(breakdown, view, style),
        _total_rows(breakdown, style),
    ]
    columns = _fit_columns([row for group in groups for row in group], width)
    lines = [*_header(breakdown, view, width, paint), ""]
    if view == "expanded":
        lines += _expanded(breakdown, width, paint, style)
    else:
        lines += [*_rows(groups[0], columns, paint), ""] if groups[0] else []
    lines += _rows([*groups[1], *groups[2]], columns, paint)
    lines += _bar(breakdown, width, paint, style)
    lines += _notices(breakdown, width, paint)
    return "\n".join([*lines, "", ""])


def _header(breakdown: Breakdown, view: View, width: int, paint: Painter) -> list[str]:
    # In brackets too: there is not always colour to tell by.
    names = [paint(f"[{name}]", "strong") if name == view else paint(name, "dim") for name in VIEWS]
    title = f"{paint('[Context]', 'title')} {' → '.join(names)}"
    target = "/".join(part for part in (breakdown.provider, breakdown.model) if part) or "unknown"
    facts = [f"model {target}", _method_hint(breakdown)]
    if breakdown.client:
        facts.insert(0, breakdown.client)
    return [title, *(paint(cut(_INDENT + line, width), "dim") for line in _fitted(facts, width - len(_INDENT)))]


def _fitted(facts: Sequence[str], columns: int) -> Iterator[str]:
    """The facts on one line, or the last of them on a line of its own."""
    line = safe(" · ".join(facts))
    if width_of(line) <= columns:
        yield line
    else:
        yield safe(" · ".join(facts[:-1]))
        yield safe(facts[-1])


def _method_hint(breakdown: Breakdown) -> str:
    """How everything was counted, said once."""
    if breakdown.heuristic is not None:
        return heuristic_text(breakdown.heuristic)
    label = next((family.label for family in FAMILIES if family.id == breakdown.family), breakdown.family)
    return f"{breakdown.estimator}: {label}"


def _harness_rows(breakdown: Breakdown, view: View, style: Style) -> list[_Row]:
    rows = []
    sections = [section for section in breakdown.sections if section_kind(section.id) in HARNESS]
    for section in sections:
        rows.append(_section_row(section, "▸ ", style))
        rows += _item_rows(section, breakdown, style) if view == "compact" else []
    if not rows:
        return []
    tokens = sum(section.tokens for section in sections)
    chars = sum(section.chars for section in sections)
    details = [*([chars_text(chars)] if chars else []), *_window_share(tokens, breakdown, exact=False)]
    rows.append(
        _Row(
            label="Total harness",
            number=tokens_text(tokens, exact=False, style=style),
            detail=" · ".join(details),
            paint="strong",
        )
    )
    return rows


def _session_rows(breakdown: Breakdown, view: View, style: Style) -> list[_Row]:
    rows = []
    for section in breakdown.sections:
        if section_kind(section.id) not in HARNESS:
            rows.append(_section_row(section, "", style))
            rows += _item_rows(section, breakdown, style) if view == "compact" else []
    if breakdown.gap:
        number = tokens_text(breakdown.gap, exact=False, style=style)
        rows.append(_Row(label="Unattributed", number=number, detail="accounting gap"))
    harness = _harness_tokens(breakdown)
    if harness:
        tokens = breakdown.total.tokens - harness
        source = _total_source(breakdown)
        details = [*_window_share(tokens, breakdown, exact=False), *([source] if source else [])]
        number = tokens_text(tokens, exact=False, style=style)
        rows.append(_Row(label="Total session", number=number, detail=" · ".join(details), paint="strong"))
    return rows


def _total_rows(breakdown: Breakdown, style: Style) -> list[_Row]:
    total = breakdown.total
    exact = total.kind == "usage"
    details = []
    low, high = compact_number(total.low, style), compact_number(total.high, style)
    if not exact and low != high:
        details.append(f"{low} to {high}")
    if breakdown.window:
        details.append(total_share_text(total.tokens, breakdown.window, exact=exact))
    number = tokens_text(total.tokens, exact=exact, style=style)
    rows = [_Row(label="Total request", number=number, detail=" · ".join(details), paint="strong")]
    if breakdown.output is not None:
        number = tokens_text(breakdown.output, exact=True, style=style)
        rows.append(_Row(label="Last answer", number=number, detail="not part of the request", paint="dim"))
    return rows


def _section_row(section: Section, mark: str, style: Style) -> _Row:
    details = [chars_text(section.chars)] if section.chars else []
    if section.exact:
        details.append("provider")
    elif section.method == "measured":
        details.append("measured")
    if section.measured_share is not None:
        share = int(section.measured_share * 100)
        details.append("measured" if share >= 100 else f"{share}% measured")
    number = tokens_text(section.tokens, exact=section.exact, style=style)
    return _Row(label=mark + safe(section.title), number=number, detail=" · ".join(details))


def _item_rows(section: Section, breakdown: Breakdown, style: Style) -> Iterator[_Row]:
    if section.id not in _LISTED:
        return
    shown = (item for item in section.items if _is_listed(item, breakdown))
    for item in sorted(shown, key=lambda item: (-item.tokens, item.name)):
        yield _item_row(section, item, breakdown, style)


def _is_listed(item: Item, breakdown: Breakdown) -> bool:
    """Brackets and commas around all tools together are no row of their own; what a vendor adds once is."""
    divided = breakdown.heuristic is not None and breakdown.heuristic.tool_denominator is not None
    return item.name != TOOL_BLOCK or (item.tokens > 0 and not divided)


def _item_row(section: Section, item: Item, breakdown: Breakdown, style: Style) -> _Row:
    words = _words(section, item, breakdown)
    name = item.name or "around the entries"
    label = safe(name if item.count == 1 else f"{name} ({item.count})")
    if item.state is not None:
        return _Row(
            label=label, number="-", detail=f"{_state_text(item, style)} {words}".rstrip(), paint="dim", item=True
        )
    return _Row(label=label, number=tokens_text(item.tokens, exact=False, style=style), detail=words, item=True)


def _state_text(item: Item, style: Style) -> str:
    """`(deferred, ~0.2k if loaded)`: why a tool costs nothing yet, and what it would cost."""
    if item.loaded_tokens is None:
        return f"({item.state})"
    return f"({item.state}, {tokens_text(item.loaded_tokens, exact=False, style=style)} if loaded)"


def _words(section: Section, item: Item, breakdown: Breakdown) -> str:
    if breakdown.details is None:
        return ""
    if section.id == "tools":
        details = breakdown.details.tools.get(item.name)
        return safe(details.description) if details is not None else ""
    return safe(breakdown.details.skills.get(item.name, "")) if section.id == "skills" else ""


def _fit_columns(rows: Sequence[_Row], width: int) -> _Columns:
    """Labels give up padding where the widest line does not fit, down to the widest label and two more."""
    units = max(_units(row.number) for row in rows)
    number = units + max(width_of(row.number) - _units(row.number) for row in rows)
    widest = max(min(_label_columns(row), LABEL_COLUMNS) for row in rows)
    longest = max((width_of(row.detail) + 3 for row in rows if row.detail and not row.item), default=0)
    needed = len(_INDENT) + LABEL_COLUMNS + number + len(" tokens") + longest
    label = max(widest + 2, LABEL_COLUMNS - max(0, needed - width))
    label = min(label, LABEL_COLUMNS, width - len(_INDENT) - number - len(" tokens"))
    return _Columns(label, number, units, width)


def _units(number: str) -> int:
    """Columns up to the digit of the units: `~0.9k` and `~6k` stand below each other there."""
    return len(number.partition(".")[0].rstrip("kM"))


def _label_columns(row: _Row) -> int:
    return width_of(row.label) + (len(_INDENT) if row.item else 0)


def _rows(rows: Sequence[_Row], columns: _Columns, paint: Painter) -> Iterator[str]:
    for row in rows:
        yield from _item_line(row, columns, paint) if row.item else _section_line(row, columns, paint)


def _section_line(row: _Row, columns: _Columns, paint: Painter) -> Iterator[str]:
    detail = f"({row.detail})" if row.detail else ""
    number = f"{_aligned(row.number, columns)} tokens".ljust(columns.number + len(" tokens") if detail else 0)
    head = f"{_INDENT}{paint(pad(row.label, columns.label), row.paint)}{paint(number, row.paint)}"
    start = len(_INDENT) + columns.label
    if not detail:
        yield head
    elif start + columns.number + len(" tokens ") + width_of(detail) <= columns.width:
        yield f"{head} {paint(detail, 'dim')}"
    else:
        yield head
        yield " " * (start + 1) + paint(cut(detail, columns.width - start - 1), "dim")


def _item_line(row: _Row, columns: _Columns, paint: Painter) -> Iterator[str]:
    number = _aligned(row.number, columns).ljust(columns.number if row.detail or row.number == "-" else 0)
    head = f"{_INDENT * 2}{pad(row.label, columns.label - len(_INDENT))}{number}"
    room = columns.width - width_of(head) - 2
    detail = cut(row.detail, room) if room > 0 else ""
    yield f"{paint(head, row.paint)}{_INDENT}{paint(detail, 'dim')}" if detail else paint(head, row.paint)


def _aligned(number: str, columns: _Columns) -> str:
    """The number with the digit of its units in the column of all others; a dash stands there too."""
    return " " * (columns.units - _units(number)) + number


def _bar(breakdown: Breakdown, width: int, paint: Painter, style: Style) -> Iterator[str]:
    if not breakdown.window:
        return
    total = breakdown.total
    harness = _harness_tokens(breakdown)
    free = breakdown.ullage or 0
    legend = [f"harness {tokens_text(harness, exact=False, style=style)}"] if harness else []
    legend.append(f"session {tokens_text(total.tokens - harness, exact=False, style=style)}")
    mark = "" if total.kind == "usage" else "~"
    legend.append(
        f"free {mark}{compact_number(free, style)}" if free >= 0 else f"over by {mark}{compact_number(-free, style)}"
    )
    text = " · ".join(legend)
    room = width - len(_INDENT) * 2 - width_of(text)
    cells = min(_BAR_MAX, room) if room >= _BAR_MIN else _BAR_MAX
    used = min(cells, round(cells * total.tokens / breakdown.window))
    used = max(used, 1) if total.tokens > 0 else 0
    bar = _INDENT + paint("█" * used + "▒" * (cells - used), "bar")
    if room >= _BAR_MIN:
        yield f"{bar}{_INDENT}{paint(text, 'dim')}"
    else:
        yield bar
        yield _INDENT + paint(cut(text, width - len(_INDENT)), "dim")


def _notices(breakdown: Breakdown, width: int, paint: Painter) -> Iterator[str]:
    if breakdown.warnings:
        yield ""
    for notice in breakdown.warnings:
        for number, line in enumerate(_wrap(safe(notice.message), width - 4)):
            yield paint(f"{_INDENT}{'! ' if number == 0 else '  '}{line}", "note")


def _expanded(breakdown: Breakdown, width: int, paint: Painter, style: Style) -> Iterator[str]:
    columns = min(width, _EXPANDED_MAX_COLUMNS)
    for section in breakdown.sections:
        if section_kind(section.id) in HARNESS:
            yield from _expanded_section(section, breakdown, columns, paint, style)
            yield ""


def _expanded_section(
    section: Section, breakdown: Breakdown, columns: int, paint: Painter, style: Style
) -> Iterator[str]:
    number = tokens_text(section.tokens, exact=section.exact, style=style).strip()
    left = f"{_INDENT}{safe(section.title)}  {number} tokens"
    facts = [chars_text(section.chars)] if section.chars else []
    right = " · ".join([*facts, safe(section.method)])
    if width_of(left) + width_of(right) + 2 <= columns:
        yield paint(spread(left, right, columns), "strong")
    else:
        yield paint(cut(left, columns), "strong")
        yield paint(cut(f"{_INDENT * 2}{right}", columns), "dim")
    if section.id == "tools":
        yield from _expanded_tools(section, breakdown, columns, paint, style)
    elif section.id == "skills":
        yield from _expanded_skills(section, breakdown, columns, paint, style)
    elif breakdown.details is not None:
        for line in breakdown.details.previews.get(section.id, ()):
            yield paint(cut(f"{_INDENT * 2}{safe(line)}".rstrip(), columns), "dim")


def _expanded_skills(
    section: Section, breakdown: Breakdown, columns: int, paint: Painter, style: Style
) -> Iterator[str]:
    for item in sorted(section.items, key=lambda item: (-item.tokens, item.name)):
        left = cut(f"{_INDENT * 2}{safe(item.name) or 'around the entries'}", columns - 9)
        yield spread(left, tokens_text(item.tokens, exact=False, style=style), columns)
        words = _words(section, item, breakdown)
        if words:
            yield paint(cut(f"{_INDENT * 3}{words}", columns), "dim")


def _expanded_tools(
    section: Section, breakdown: Breakdown, columns: int, paint: Painter, style: Style
) -> Iterator[str]:
    block = next((item for item in section.items if item.name == TOOL_BLOCK), None)
    if block is not None and block.tokens and _is_listed(block, breakdown):
        once = f"{_INDENT * 2}{tokens_text(block.tokens, exact=False, style=style)} of it once, with the first tool"
        yield paint(cut(once, columns), "dim")
    known = breakdown.details.tools if breakdown.details is not None else {}
    fields = [field for details in known.values() for field in details.fields]
    names = max((len(_INDENT) * field.depth + width_of(safe(field.name)) for field in fields), default=0)
    types = max((width_of(safe(field.type)) for field in fields), default=0)
    for item in sorted(section.items, key=lambda item: (-item.tokens, item.name)):
        if item is not block:
            yield ""
            yield from _tool_head(item, known.get(item.name), columns, paint, style)
            for field in known[item.name].fields if item.name in known else ():
                yield cut(_field_line(field, min(names, 28), min(types, 12)), columns)


def _tool_head(item: Item, details: ToolDetails | None, columns: int, paint: Painter, style: Style) -> Iterator[str]:
    number = tokens_text(item.tokens, exact=False, style=style) if item.state is None else _state_text(item, style)
    room = columns - width_of(number) - 2
    left = cut(f"{_INDENT * 2}{safe(item.name)}", room)
    if details is not None and details.source:
        left += source_text(safe(details.source), room - width_of(left))
    yield paint(spread(left, number, columns), "plain" if item.state is None else "dim")
    if details is not None and details.description:
        yield paint(cut(f"{_INDENT * 3}{safe(details.description)}", columns), "dim")


def _field_line(field: Field, names: int, types: int) -> str:
    name = pad(_INDENT * field.depth + safe(field.name), names)
    required = "required" if field.required else " " * len("required")
    return f"{_INDENT * 3}{name}  {pad(safe(field.type), types)}  {required}  {safe(field.description)}".rstrip()


def _harness_tokens(breakdown: Breakdown) -> int:
    return sum(section.tokens for section in breakdown.sections if section_kind(section.id) in HARNESS)


def _window_share(tokens: int, breakdown: Breakdown, *, exact: bool) -> list[str]:
    return [share_text(tokens, breakdown.window, exact=exact)] if breakdown.window else []


def _total_source(breakdown: Breakdown) -> str:
    if breakdown.total.kind == "usage":
        return "counted" if breakdown.total.method == PREFLIGHT else "from usage"
    return breakdown.total.method if breakdown.total.method != breakdown.estimator else ""


def _wrap(text: str, columns: int) -> list[str]:
    lines = [""]
    for word in text.split():
        if lines[-1] and width_of(lines[-1]) + 1 + width_of(word) > columns:
            lines.append(word)
        else:
            lines[-1] = f"{lines[-1]} {word}".strip()
    return lines
