"""The insights as text for a screen, in the style of the views: what to act on first, never more lines than a person reads."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, NamedTuple

from ullage.core.accounting.formats import compact_number
from ullage.core.accounting.screen import Paint, Painter, cut, pad, width_of
from ullage.core.accounting.sections import kind_title, short_path
from ullage.core.terminal import safe

from .growth import KEEP_CALLS
from .insights import largest_growth

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from ullage.core.accounting.formats import Style

    from .caching import CacheRow, Caching
    from .compaction import Clearing, Compacted
    from .growth import GrowthCall, GrowthTurn, Piece
    from .insights import Insights
    from .repeats import Duplicate, Outdated, Repeats

_INDENT = "  "
_MIN_COLUMNS = 40
_MAX_COLUMNS = 110
_CALLS_SHOWN = 8
_TURNS_SHOWN = 5
_FINDINGS_SHOWN = 8
_ROWS_SHOWN = 8
_LOSSES_SHOWN = 5
_DROPPED_SHOWN = 4
_PIECES_SHOWN = 3
_MUCH_UNEXPLAINED, _MUCH_UNEXPLAINED_SHARE = 200, 0.1


class _Sheet(NamedTuple):
    """What all lines share: their width, whether they are painted, how numbers are written."""

    columns: int
    paint: Painter
    style: Style

    def number(self, tokens: int) -> str:
        return compact_number(tokens, self.style)

    def signed(self, tokens: int) -> str:
        return f"+{self.number(tokens)}" if tokens >= 0 else self.number(tokens)

    def known(self, tokens: int | None) -> str:
        return self.number(tokens) if tokens is not None else "?"

    def line(self, text: str, paint: Paint = "plain") -> str:
        """A line below a heading, cut to fit."""
        return self.paint(cut(_INDENT * 2 + safe(text), self.columns), paint)


class _Table(NamedTuple):
    """Rows of cells; columns in `right` are set to the right, the last one takes what is left of the line. `paths` says that
    it holds paths: of one that is too long the end is kept.
    """

    header: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]
    right: tuple[int, ...]
    paths: bool = False


def render_insights(insights: Insights, *, width: int, color: bool, style: Style = "fine") -> str:
    """The panel as text that ends with one blank line. `width` in columns; narrower than 40 is drawn as 40. `style` is that of
    numbers."""
    sheet = _Sheet(min(max(width, _MIN_COLUMNS), _MAX_COLUMNS), Painter(color=color), style)
    groups = [
        list(group)
        for group in (
            _growth(insights, sheet),
            _repeats(insights.repeats, sheet),
            _cache(insights.caching, sheet),
            _compactions(insights.compactions, sheet),
            _clearings(insights.clearings, sheet),
        )
    ]
    lines = [sheet.paint("[Insights]", "title"), ""]
    for group in groups:
        lines += [*group, ""] if group else []
    if len(lines) == 2:
        lines += [f"{_INDENT}Nothing to act on beyond the sections.", ""]
    return "\n".join([*lines, ""])


def _heading(title: str, facts: Sequence[str], sheet: _Sheet) -> Iterator[str]:
    """A title with what is to be known of all below it, on the same line if there is room."""
    right = " · ".join(facts)
    head = _INDENT + sheet.paint(title, "strong")
    room = sheet.columns - len(_INDENT) - width_of(title) - width_of(right)
    if not right:
        yield head
    elif room >= 2:
        yield head + " " * room + sheet.paint(right, "dim")
    else:
        yield head
        yield sheet.line(right, "dim")


def _draw(table: _Table, sheet: _Sheet) -> Iterator[str]:
    cells = [tuple(safe(cell) for cell in row) for row in (table.header, *table.rows)]
    last = len(table.header) - 1
    widths = [max(width_of(row[column]) for row in cells) for column in range(last)]
    for number, row in enumerate(cells):
        parts = [
            row[column].rjust(widths[column]) if column in table.right else pad(row[column], widths[column])
            for column in range(last)
        ]
        start = _INDENT * 2 + "".join(part + _INDENT for part in parts)
        room = sheet.columns - width_of(start)
        text = _cut_front(row[last], room) if table.paths and number else row[last]
        line = cut(start + text, sheet.columns).rstrip()
        yield sheet.paint(line, "dim") if number == 0 else line


def _cut_front(text: str, columns: int) -> str:
    """The text if it fits, else its end with `…` before it."""
    if width_of(text) <= columns:
        return text
    kept = text
    while kept and width_of(kept) > columns - 1:
        kept = kept[max(1, (width_of(kept) - columns) // 2) :]
    return f"…{kept.lstrip()}" if columns > 0 else ""


def _more(shown: int, found: int, noun: str, sheet: _Sheet) -> Iterator[str]:
    rest = found - shown
    if rest > 0:
        yield sheet.line(f"{rest} more {_plural(noun, rest)} in --json and --html", "dim")


def _growth(insights: Insights, sheet: _Sheet) -> Iterator[str]:
    measured = [call for call in insights.calls if call.growth is not None]
    if not measured:
        return
    main = [call for call in insights.calls if not call.sidechain]
    turns = len(insights.turns)
    facts = [
        f"{len(main)} {_plural('call', len(main))} in {turns} {_plural('turn', turns)}",
        f"{sheet.signed(sum(call.growth or 0 for call in measured))} tokens",
    ]
    yield from _heading("Growth, call by call", facts, sheet)
    largest = largest_growth(measured, _CALLS_SHOWN)
    header = ("call", "turn", "added", "sent again", f"next {KEEP_CALLS}", "what")
    if largest:
        yield from _draw(_Table(header, [_call_row(call, sheet) for call in largest], (0, 1, 2, 3, 4)), sheet)
    if turns > 1:
        yield from [""] if largest else []
        yield from _turns(insights.turns, sheet)


def _call_row(call: GrowthCall, sheet: _Sheet) -> tuple[str, ...]:
    return (
        str(call.call),
        str(call.turn),
        sheet.signed(call.growth or 0),
        sheet.number(call.resent_tokens),
        sheet.number(call.keep_tokens),
        ", ".join([*_piece_texts(call.added, sheet), *_unexplained(call, sheet)]),
    )


def _unexplained(call: GrowthCall, sheet: _Sheet) -> Iterator[str]:
    """Growth that nothing in the source accounts for: a client that loads tools, or words of its own."""
    rest = call.unexplained or 0
    if abs(rest) >= max(_MUCH_UNEXPLAINED, abs(call.growth or 0) * _MUCH_UNEXPLAINED_SHARE):
        yield f"unexplained {sheet.signed(rest)}"


def _piece_texts(pieces: Sequence[Piece], sheet: _Sheet) -> Iterator[str]:
    """The largest pieces by name; an estimate wears `~`."""
    ordered = sorted(pieces, key=lambda piece: -abs(piece.tokens))
    for piece in ordered[:_PIECES_SHOWN]:
        mark = "~" if piece.method in ("estimate", "measured, shared by estimates") else ""
        times = f" ×{piece.count}" if piece.count > 1 else ""
        yield f"{piece.name}{times} {mark}{sheet.number(piece.tokens)}"
    if len(ordered) > _PIECES_SHOWN:
        yield f"{len(ordered) - _PIECES_SHOWN} more"


def _turns(turns: Sequence[GrowthTurn], sheet: _Sheet) -> Iterator[str]:
    yield from _heading("Turns that grew most", [], sheet)
    largest = sorted(turns, key=lambda turn: (-turn.growth, turn.turn))[:_TURNS_SHOWN]
    header = ("turn", "calls", "growth", "prompts", "output", "of it")
    rows = [
        (
            str(turn.turn),
            f"{turn.first_call}-{turn.last_call}" if turn.calls > 1 else str(turn.first_call),
            sheet.signed(turn.growth),
            sheet.number(turn.sent),
            sheet.number(turn.output),
            ", ".join(_kind_texts(turn.added, sheet)),
        )
        for turn in largest
    ]
    yield from _draw(_Table(header, rows, (0, 1, 2, 3, 4)), sheet)
    yield from _more(len(rows), len(turns), "turn", sheet)


def _kind_texts(added: dict[str, int], sheet: _Sheet) -> Iterator[str]:
    ordered = sorted(added.items(), key=lambda one: (-abs(one[1]), one[0]))
    for kind, tokens in ordered[:_PIECES_SHOWN]:
        yield f"{_kind_title(kind).lower()} {sheet.number(tokens)}"


def _repeats(repeats: Repeats | None, sheet: _Sheet) -> Iterator[str]:
    if repeats is None or not (repeats.duplicates or repeats.outdated):
        return
    share = f" ({repeats.freeable_share:.0%} of the prompt)" if repeats.freeable_share else ""
    facts = [f"~{sheet.number(repeats.freeable_tokens)} tokens could go{share}"]
    if repeats.stale_tokens:
        facts.append(f"~{sheet.number(repeats.stale_tokens)} edited since")
    yield from _heading("There twice, or no longer true", facts, sheet)
    if repeats.outdated:
        yield from _outdated(repeats.outdated, sheet)
    if repeats.duplicates:
        yield from _duplicates(repeats.duplicates, sheet)


def _outdated(found: Sequence[Outdated], sheet: _Sheet) -> Iterator[str]:
    """One line a file and reason: how often, where first, and what made it so."""
    groups: dict[tuple[str, str], list[Outdated]] = defaultdict(list)
    for one in found:
        groups[one.path, one.reason].append(one)
    ordered = sorted(groups.items(), key=lambda group: (-sum(one.tokens for one in group[1]), group[0]))
    rows = [
        (
            _messages(one.message for one in members),
            f"~{sheet.number(sum(one.tokens for one in members))}",
            reason,
            f"{members[-1].by_message} ({members[-1].by_tool})",
            short_path(path),
        )
        for (path, reason), members in ordered[:_FINDINGS_SHOWN]
    ]
    yield from _draw(_Table(("message", "tokens", "since", "by", "file"), rows, (1,), paths=True), sheet)
    yield from _more(len(rows), len(ordered), "file", sheet)


def _duplicates(found: Sequence[Duplicate], sheet: _Sheet) -> Iterator[str]:
    ordered = sorted(found, key=lambda one: (-one.tokens, one.message or 0))[:_FINDINGS_SHOWN]
    rows = [
        (
            _message(one.message),
            f"~{sheet.number(one.tokens)}",
            "all" if one.exact else f"{one.share:.0%}",
            f"{_message(one.of_message)} ({_brought(one.of_role, one.of_tool, one.of_path, whole=False)})",
            _brought(one.role, one.tool, one.path),
        )
        for one in ordered
    ]
    yield from _draw(_Table(("message", "tokens", "of it", "stood in", "what"), rows, (1, 2), paths=True), sheet)
    yield from _more(len(rows), len(found), "repeated text", sheet)


def _brought(role: str, tool: str | None, path: str | None, *, whole: bool = True) -> str:
    """The tool and the file it had to do with, or whose text it is."""
    name = short_path(path) if path is not None else ""
    if not whole:
        name = name.rpartition("/")[2]
    return f"{tool} {name}".rstrip() if tool else name or f"{role} text"


def _message(index: int | None) -> str:
    return "system" if index is None else str(index)


def _messages(indexes: Iterable[int]) -> str:
    found = list(indexes)
    return str(found[0]) if len(found) == 1 else f"{found[0]} and {len(found) - 1} more"


def _cache(caching: Caching | None, sheet: _Sheet) -> Iterator[str]:
    if caching is None:
        return
    facts = [
        f"{word} {sheet.number(tokens)}"
        for word, tokens in (("read", caching.read), ("written", caching.written), ("fresh", caching.fresh))
        if tokens is not None
    ]
    if caching.read_share is not None:
        facts.append(f"{caching.read_share:.0%} of all prompts read from it")
    yield from _heading(f"Cache after call {caching.call}" if caching.call else "Cache marks", facts, sheet)
    if caching.through_message is not None:
        held = "at most " if caching.automatic else ""
        said = f"{held}{sheet.number(caching.held or 0)} tokens held, whole up to message {caching.through_message}"
        yield sheet.line(said, "dim")
    if caching.held:
        yield from _cache_rows(caching.rows, sheet)
    for mark in caching.marks or ():
        tokens = f"~{sheet.number(mark.tokens)} tokens" if mark.tokens is not None else "unknown size"
        yield sheet.line(f"mark behind {mark.kind} {mark.index}: {tokens} before it")
    yield from _cache_losses(caching, sheet)


def _cache_rows(rows: Sequence[CacheRow], sheet: _Sheet) -> Iterator[str]:
    """The first rows and the newest: a change far up is what costs."""
    half = _ROWS_SHOWN // 2
    shown = list(rows) if len(rows) <= _ROWS_SHOWN else [*rows[:half], *rows[-half:]]
    cells = [
        (
            row.title,
            f"~{sheet.number(row.tokens)}",
            f"~{sheet.number(row.cached)}",
            f"~{sheet.number(row.behind)}",
        )
        for row in shown
    ]
    header = ("a change of", "tokens", "in cache", "breaks")
    yield from _draw(_Table((*header, ""), [(*cell, "") for cell in cells], (1, 2, 3)), sheet)
    yield from _more(len(shown), len(rows), "row", sheet)


def _cache_losses(caching: Caching, sheet: _Sheet) -> Iterator[str]:
    losses = sorted(caching.losses, key=lambda loss: (-loss.lost, loss.call))[:_LOSSES_SHOWN]
    for loss in losses:
        facts = [f"{_duration(loss.idle_s)} after the call before"] if loss.idle_s is not None else []
        facts += ["another model"] if loss.switched else []
        said = f"call {loss.call} found {sheet.number(loss.lost)} less than was left: {', '.join(facts)}".rstrip(": ")
        yield sheet.line(said, "note")
    yield from _more(len(losses), len(caching.losses), "such call", sheet)


def _compactions(found: Sequence[Compacted], sheet: _Sheet) -> Iterator[str]:
    for number, one in enumerate(found):
        if number:
            yield ""
        yield from _compaction(one, sheet)


def _compaction(one: Compacted, sheet: _Sheet) -> Iterator[str]:
    title = f"Compaction before call {one.call}" if one.call is not None else "Compaction at the end"
    before = one.total_before if one.total_before is not None else one.tokens_before
    after = one.total_after if one.total_after is not None else one.tokens_after
    facts = [f"{sheet.known(before)} → {sheet.known(after)} tokens"]
    if one.messages_before:
        facts.append(f"{one.kept_messages} of {one.messages_before} messages kept")
    if one.new_tokens is not None:
        facts.append(f"~{sheet.number(one.new_tokens)} new")
    yield from _heading(title, facts, sheet)
    kinds = [*one.before, *(kind for kind in one.after if kind not in one.before)]
    rows = [
        (
            _kind_title(kind),
            sheet.number(one.before.get(kind, 0)),
            sheet.number(one.after.get(kind, 0)),
            sheet.signed(one.after.get(kind, 0) - one.before.get(kind, 0)),
            "",
        )
        for kind in kinds
    ]
    yield from _draw(_Table(("section", "before", "after", "change", ""), rows, (1, 2, 3)), sheet)
    names = [
        f"{dropped.name} ×{dropped.count} ~{sheet.number(dropped.tokens)}" for dropped in one.dropped[:_DROPPED_SHOWN]
    ]
    if names:
        more = f", {len(one.dropped) - len(names)} more" if len(one.dropped) > len(names) else ""
        yield sheet.line(f"dropped: {', '.join(names)}{more}", "dim")


def _clearings(found: Sequence[Clearing], sheet: _Sheet) -> Iterator[str]:
    if not found:
        return
    dropped = sum(one.dropped for one in found)
    yield from _heading("Prompts that fell without a mark", [f"{sheet.signed(-dropped)} tokens"], sheet)
    rows = [
        (
            str(one.call),
            sheet.number(one.total_before),
            sheet.number(one.total_after),
            sheet.signed(one.added),
            sheet.signed(-one.dropped),
            _clearing_text(one, sheet),
        )
        for one in found[:_FINDINGS_SHOWN]
    ]
    header = ("call", "before", "after", "came", "went", "what")
    yield from _draw(_Table(header, rows, (0, 1, 2, 3, 4)), sheet)
    yield from _more(len(rows), len(found), "call", sheet)


def _clearing_text(one: Clearing, sheet: _Sheet) -> str:
    if one.kind == "reasoning":
        return "reasoning of the turn before"
    if one.reasoning:
        return f"reasoning {sheet.number(one.reasoning)}, the rest has no mark"
    return "cleared by the client, which does not say what"


def _kind_title(kind: str) -> str:
    return "Answers" if kind == "reply" else kind_title(kind)


def _plural(noun: str, count: int) -> str:
    return noun if count == 1 else f"{noun}s"


def _duration(seconds: int) -> str:
    if seconds < 120:
        return f"{seconds} s"
    return f"{seconds // 60} min" if seconds < 7_200 else f"{seconds // 3_600} h"
