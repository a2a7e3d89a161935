"""The numbers of the report in tables: the text behind every picture."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from ullage.core.accounting.sections import short_path

from .kinds import GAP, colour_of, kind_of, title_of
from .markup import Markup, join, tag
from .numbers import NONE, duration, is_exact, percent, signed, tokens

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from .markup import Child

_SHOWN_AT_FIRST = 10
"""Rows of a long table that are open at once."""

_SHORT_CELL = 24


class Columns(NamedTuple):
    """Heads of a table, and which of them stand over numbers."""

    heads: tuple[str, ...]
    numbers: tuple[int, ...]


def table(caption: str, columns: Columns, rows: Sequence[Sequence[Child]], *, identity: str | None = None) -> Markup:
    """A table with a caption and a head for each column; the first cell of a row is its head."""
    return tag(
        "div",
        tag(
            "table",
            tag("caption", caption),
            tag("thead", tag("tr", [_head(columns, index) for index in range(len(columns.heads))])),
            tag("tbody", [tag("tr", [_cell(columns, index, cell) for index, cell in enumerate(row)]) for row in rows]),
            id=identity,
        ),
        class_="scroll",
        tabindex="0",
        role="region",
        aria_label=caption,
    )


def long_table(
    caption: str,
    columns: Columns,
    rows: Sequence[Sequence[Child]],
    *,
    identity: str,
    first: Sequence[int] | None = None,
) -> Markup:
    """A table of any length. Of a long one, the rows `first` are open, by default those at its top, and all of it unfolds."""
    if len(rows) <= _SHOWN_AT_FIRST:
        return table(caption, columns, rows, identity=identity)
    shown = [rows[index] for index in (first if first is not None else range(_SHOWN_AT_FIRST))]
    return join(
        table(f"{caption}: {len(shown)} of {len(rows)}", columns, shown),
        tag("details", tag("summary", f"All {len(rows)}"), table(caption, columns, rows, identity=identity)),
    )


def _largest(values: Iterable[int]) -> list[int]:
    """Indexes of the largest values, in the order of the values."""
    ordered = sorted(enumerate(values), key=lambda pair: (-pair[1], pair[0]))
    return [index for index, _ in ordered[:_SHOWN_AT_FIRST]]


def _head(columns: Columns, index: int) -> Markup:
    return tag("th", columns.heads[index], scope="col", class_="number" if index in columns.numbers else None)


def _cell(columns: Columns, index: int, cell: Child) -> Markup:
    class_ = "number" if index in columns.numbers else _width_class(cell)
    return tag("th", cell, scope="row", class_=class_) if index == 0 else tag("td", cell, class_=class_)


def _width_class(cell: Child) -> str | None:
    """Short words stay on one line, long ones get room."""
    if isinstance(cell, Markup) or not cell:
        return None
    return "short" if len(cell) <= _SHORT_CELL else "long"


def sections_table(report: dict[str, Any]) -> Markup:
    """Every section with its interval, and the gap: together they are the total."""
    exact = report["total_kind"] == "usage"
    rows: list[Sequence[Child]] = [_section_row(section, report) for section in report["sections"]]
    if report["gap"]:
        gap = tokens(report["gap"], exact=False)
        rows.append((_named(GAP, title_of(GAP)), gap, "", _share(report["gap"], report), "", "", "accounting gap"))
    bounds = "" if exact else f"{tokens(report['total_low'])} to {tokens(report['total_high'])}"
    total = (
        tokens(report["total"], exact=exact),
        bounds,
        "",
        percent(_window_share(report)),
        "",
        report["total_method"],
    )
    rows.append((tag("strong", "Total request"), *total))
    heads = ("Section", "Tokens", "Between", "Of the total", "Of the window", "Characters", "Method")
    return table("Sections", Columns(heads, (1, 2, 3, 4, 5)), rows, identity="sections")


def _section_row(section: dict[str, Any], report: dict[str, Any]) -> Sequence[Child]:
    exact = is_exact(section)
    same = section["low"] == section["high"]
    return (
        _named(kind_of(section), str(section["title"])),
        tokens(section["tokens"], exact=exact),
        "" if same else f"{tokens(section['low'])} to {tokens(section['high'])}",
        _share(section["tokens"], report),
        percent(section["window_share"]),
        tokens(section["chars"]) if section["chars"] else "",
        _method(section),
    )


def _method(section: dict[str, Any]) -> str:
    share = section["measured_share"]
    measured = f", {percent(share)} of the characters measured" if share is not None else ""
    return f"{section['method']}{measured}"


def _share(size: int, report: dict[str, Any]) -> str:
    return percent(size / report["total"]) if report["total"] > 0 else NONE


def _window_share(report: dict[str, Any]) -> float | None:
    return report["total"] / report["window"] if report["window"] else None


def _named(kind: str, name: str) -> Markup:
    return join(tag("span", class_=f"swatch {colour_of(kind)}", aria_hidden="true"), name)


def items_table(report: dict[str, Any]) -> Markup | None:
    """The items of all sections, the largest first."""
    found = [(section, item) for section in report["sections"] for item in section["items"]]
    found.sort(key=lambda pair: (-pair[1]["tokens"], str(pair[1]["name"])))
    rows = [
        (
            _named(kind_of(section), str(item["name"]) or "around the entries"),
            str(section["title"]),
            tokens(item["tokens"], exact=is_exact(section)),
            tokens(item["count"]),
            tokens(item["chars"]) if item["chars"] else "",
            _state(item),
        )
        for section, item in found
    ]
    heads = ("Item", "Section", "Tokens", "Pieces", "Characters", "State")
    return long_table("Items of all sections", Columns(heads, (2, 3, 4)), rows, identity="items") if rows else None


def _state(item: dict[str, Any]) -> str:
    loaded = item.get("loaded_tokens")
    return str(item.get("state") or "") + (f", {tokens(loaded, exact=False)} if loaded" if loaded is not None else "")


def calls_table(calls: Sequence[dict[str, Any]], keep_calls: int) -> Markup | None:
    """Every call: what it sent, what it added, and what keeping that costs."""
    rows = [_call_row(call) for call in calls]
    heads = (
        "Call",
        "Turn",
        "Time",
        "Prompt",
        "Growth",
        "Added",
        "Unexplained",
        "Output",
        "From cache",
        "Later calls",
        "Sent again",
        f"Next {keep_calls} calls",
        "Remarks",
    )
    columns = Columns(heads, (0, 1, 3, 4, 6, 7, 8, 9, 10, 11))
    first = _largest((call["growth"] or 0) * call["in_window"] for call in calls)
    return (
        long_table("Calls by growth still in the window", columns, rows, identity="calls", first=first)
        if rows
        else None
    )


def _call_row(call: dict[str, Any]) -> Sequence[Child]:
    remarks = [*call["events"], *([f"sub-agent {call['agent'] or ''}".strip()] if call["sidechain"] else [])]
    return (
        str(call["call"]),
        str(call["turn"]),
        str(call["time"] or "").replace("T", " ").partition(".")[0],
        tokens(call["total"], exact=call["total_kind"] == "usage"),
        signed(call["growth"]),
        ", ".join(piece_text(piece) for piece in call["added"]),
        signed(call["unexplained"]),
        tokens(call["output"]),
        tokens(call["cache_read"]),
        tokens(call["later_calls"]),
        tokens(call["resent_tokens"]),
        tokens(call["keep_tokens"]),
        ", ".join(remarks),
    )


def piece_text(piece: dict[str, Any]) -> str:
    """`read ×2 ~3,700`."""
    times = f" ×{piece['count']}" if piece["count"] > 1 else ""
    exact = piece["method"] in ("usage", "measured")
    return f"{piece['name']}{times} {tokens(piece['tokens'], exact=exact)}"


def turns_table(turns: Sequence[dict[str, Any]]) -> Markup | None:
    """Every turn of the user: its calls, what they added by kind, and the prompts they sent."""
    rows = [
        (
            str(turn["turn"]),
            _span(turn["first_call"], turn["last_call"]),
            tokens(turn["calls"]),
            signed(turn["growth"]),
            ", ".join(f"{title_of(kind)} {tokens(size, exact=False)}" for kind, size in turn["added"].items()),
            signed(turn["unexplained"]),
            tokens(turn["sent"]),
            tokens(turn["output"]),
        )
        for turn in turns
    ]
    heads = ("Turn", "Calls", "How many", "Growth", "Added", "Unexplained", "Prompts together", "Output")
    if len(rows) < 2:
        return None
    first = _largest(turn["growth"] for turn in turns)
    return long_table("Turns by growth", Columns(heads, (0, 2, 3, 5, 6, 7)), rows, identity="turns", first=first)


def _span(first: int, last: int) -> str:
    return str(first) if first == last else f"{first} to {last}"


def duplicates_table(found: Sequence[dict[str, Any]]) -> Markup | None:
    """Every text that stands in the window twice."""
    ordered = sorted(found, key=lambda one: (-one["tokens"], one["message"] or 0))
    rows = [
        (
            _place(one["message"]),
            _source(one["role"], one["tool"], one["path"]),
            tokens(one["tokens"], exact=False),
            percent(one["share"]),
            f"{_place(one['of_message'])}: {_source(one['of_role'], one['of_tool'], one['of_path'])}",
        )
        for one in ordered
    ]
    heads = ("Message", "What", "Tokens", "Of its text", "Stood first in message")
    return long_table("There twice", Columns(heads, (0, 2, 3)), rows, identity="duplicates") if rows else None


def outdated_table(found: Sequence[dict[str, Any]]) -> Markup | None:
    """Every piece of a file that is no longer what the file holds."""
    ordered = sorted(found, key=lambda one: (-one["tokens"], one["message"]))
    rows = [
        (
            str(one["message"]),
            short_path(str(one["path"])),
            _lines(one["first_line"], one["last_line"]),
            tokens(one["tokens"], exact=False),
            str(one["tool"]),
            str(one["reason"]),
            f"{one['by_message']}: {one['by_tool']}",
        )
        for one in ordered
    ]
    heads = ("Message", "File", "Lines", "Tokens", "Tool", "Since", "By message")
    return long_table("No longer true", Columns(heads, (0, 3)), rows, identity="outdated") if rows else None


def _place(message: int | None) -> str:
    return "system prompt" if message is None else str(message)


def _source(role: str, tool: str | None, path: str | None) -> str:
    name = short_path(path) if path is not None else ""
    return f"{tool} {name}".strip() if tool else name or f"{role} text"


def _lines(first: int, last: int | None) -> str:
    if last is None:
        return "all" if first == 1 else f"from {first}"
    return _span(first, last)


def cache_table(rows: Sequence[dict[str, Any]]) -> Markup | None:
    """The prompt from its beginning, with what a change at each place would have read anew."""
    cells = [
        (
            str(row["title"]),
            tokens(row["start"], exact=False),
            tokens(row["tokens"], exact=False),
            tokens(row["cached"], exact=False),
            tokens(row["behind"], exact=False),
        )
        for row in rows
    ]
    heads = ("A change of", "Tokens before it", "Tokens", "In the cache", "Breaks")
    columns, first = Columns(heads, (1, 2, 3, 4)), _ends(len(cells))
    return long_table("The cache along the prompt", columns, cells, identity="cache", first=first) if cells else None


def _ends(length: int) -> list[int]:
    """The first and the last rows: of a prompt, those that cost most to change and those that change."""
    half = _SHOWN_AT_FIRST // 2
    return [*range(half), *range(max(half, length - half), length)]


def losses_table(found: Sequence[dict[str, Any]]) -> Markup | None:
    """Calls that found less in the cache than was left there."""
    rows = [
        (
            str(one["call"]),
            tokens(one["expected"]),
            tokens(one["read"]),
            tokens(one["lost"]),
            duration(one["idle_s"]),
            "another model" if one["switched"] else "",
        )
        for one in found
    ]
    heads = ("Call", "Left by the call before", "Read", "Lost", "Time between", "Remarks")
    first = _largest(one["lost"] for one in found)
    return (
        long_table("Cache lost", Columns(heads, (0, 1, 2, 3, 4)), rows, identity="losses", first=first)
        if rows
        else None
    )


def marks_table(found: Sequence[dict[str, Any]]) -> Markup | None:
    """Where the client asked the provider to cache."""
    rows = [
        (f"{one['kind']} {one['index']}", tokens(one["tokens"], exact=False), str(one["ttl"] or "default"))
        for one in found
    ]
    heads = ("Behind", "Tokens before it", "Time to live")
    return long_table("Cache marks", Columns(heads, (1,)), rows, identity="marks") if rows else None


def compaction_table(one: dict[str, Any], number: int) -> Markup:
    """One compaction: every kind of section before and after it."""
    before, after = one["before"], one["after"]
    kinds = [*before, *(kind for kind in after if kind not in before)]
    rows: list[Sequence[Child]] = [
        (
            _named(kind, title_of(kind)),
            tokens(before.get(kind, 0), exact=False),
            tokens(after.get(kind, 0), exact=False),
            signed(after.get(kind, 0) - before.get(kind, 0)),
        )
        for kind in kinds
    ]
    totals = one["total_before"], one["total_after"]
    if None not in totals:
        rows.append((tag("strong", "Prompt"), *map(tokens, totals), signed(totals[1] - totals[0])))
    caption = f"Before and after call {one['call']}" if one["call"] is not None else "Before and after the end"
    return table(
        caption, Columns(("Section", "Before", "After", "Change"), (1, 2, 3)), rows, identity=f"compaction-{number}"
    )


def dropped_table(one: dict[str, Any], number: int) -> Markup | None:
    """What a compaction dropped, by kind and name."""
    rows = [
        (
            _named(dropped["kind"], str(dropped["name"])),
            title_of(dropped["kind"]),
            tokens(dropped["count"]),
            tokens(dropped["tokens"], exact=False),
        )
        for dropped in one["dropped"]
    ]
    heads = ("Dropped", "Section", "Pieces", "Tokens")
    return long_table("Dropped", Columns(heads, (2, 3)), rows, identity=f"dropped-{number}") if rows else None


def clearings_table(found: Sequence[dict[str, Any]]) -> Markup | None:
    """Prompts that fell although no compaction is marked."""
    rows = [
        (
            str(one["call"]),
            tokens(one["total_before"]),
            tokens(one["total_after"]),
            signed(one["added"]),
            signed(-one["dropped"]),
            "reasoning of the turn before" if one["kind"] == "reasoning" else "no mark in the file",
            tokens(one["reasoning"]) if one["reasoning"] else "",
        )
        for one in found
    ]
    heads = ("Call", "Before", "After", "Came", "Went", "What", "Reasoning of it")
    return (
        long_table("Fell without a mark", Columns(heads, (0, 1, 2, 3, 4, 6)), rows, identity="clearings")
        if rows
        else None
    )


def any_of(parts: Iterable[Markup | None]) -> Markup | None:
    """The parts that are there, or nothing."""
    found = [part for part in parts if part is not None]
    return join(*found) if found else None
