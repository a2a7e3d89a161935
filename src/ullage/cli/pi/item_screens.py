"""`/context included` and `excluded`: the items of the newest plan as rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ullage.cli.records import print_lines, table
from ullage.core.errors import CallError

from .figures import is_rolled_up, tokens_of
from .newest import newest_call

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .asked import Asked

_MOST_ROWS = 40
_HEADER = ("kind", "tokens", "score", "source", "group", "class", "reason")
Report = dict[str, Any]


def show_included(asked: Asked) -> int:
    """What the newest plan has sent: messages, and what it has added."""
    return _show(asked, "included", "supplements")


def show_excluded(asked: Asked) -> int:
    """Those that it has left out, and what it has not added."""
    return _show(asked, "excluded", "left_out")


def wants_all(asked: Asked) -> bool:
    """Whether `all` was said. Raises `CallError` for another word."""
    if asked.words not in ((), ("all",)):
        raise CallError(f"{asked.words[0][:40]!r} means nothing here.", hint="Write all, or nothing.")
    return asked.has("all") or bool(asked.words)


def _show(asked: Asked, which: str, beside: str) -> int:
    everything = wants_all(asked)
    plan = newest_call(asked.session).plan or {}
    if "messages" not in plan:
        print_lines(["Nothing was planned of the newest request: it was sent as it was."])
        return 0
    print_lines(_lines(plan, which, beside, everything=everything))
    return 0


def _lines(plan: Report, which: str, beside: str, *, everything: bool) -> Iterator[str]:
    number = plan["messages"][which]
    yield f"{number:,} of {plan['messages']['total']:,} messages {which}, ~{tokens_of(plan, which):,} tokens"
    rows = [_row(one) for one in (*plan[which], *plan[beside])]
    shown = rows if everything else rows[:_MOST_ROWS]
    if shown:
        yield from table(_HEADER, shown, right=(1, 2))
    if len(shown) < len(rows):
        yield f"… {len(rows) - len(shown)} more: /context {which} all"
    if is_rolled_up(plan) and len(plan[which]) < number:
        yield f"rollup: the record holds the first and the last of them, {len(plan[which]):,} of {number:,}"


def _row(one: Report) -> tuple[str, ...]:
    """A message by its number, or what was added by its id."""
    source = f"message {one['index']}, {one['role']}" if "index" in one else str(one["id"])
    marks = [name for name in ("replaced", "cut") if one.get(name)]
    score = one.get("score")
    return (
        one["kind"],
        f"~{one['tokens']:,}" if one.get("tokens") is not None else "-",
        "-" if score is None else f"{score:.1f}",
        source,
        str(one.get("group") or "-").removeprefix("group:"),
        one.get("classification") or "-",
        ", ".join([str(one.get("reason") or "-"), *marks]),
    )
