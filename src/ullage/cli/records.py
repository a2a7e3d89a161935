"""What the commands that look at stored records share: the way to them, ids by their beginning, figures for people."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import click

from ullage.core.errors import InputError
from ullage.core.terminal import safe

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from ullage.stores import Reader

SHORTEST_ID = 8
CANDIDATES = 5
"""How many ids are named when a beginning fits several."""

MATCHES = 1000
"""How many ids with one beginning are looked at: a session may have hundreds of sub-agents."""

_MINUTE_S, _HOUR_S, _DAY_S = 60, 3600, 86400
_MONTH_S = 30 * _DAY_S

json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
data_dir_option = click.option(
    "--data-dir", type=click.Path(file_okay=False), help="Folder of the database, if not the configured one."
)


def now_ms() -> int:
    """The clock of these commands, epoch milliseconds."""
    return int(time.time() * 1000)


def open_records(data_dir: str | None = None) -> Reader:
    """The configured store, for looking only. Raises `StoreError` where there is none yet."""
    from ullage.settings import load_settings
    from ullage.stores import open_reader

    loaded = load_settings(flags={"data_dir": data_dir})
    return open_reader(loaded.settings.store.url, loaded.paths.data_dir)


def complete_id(
    prefix: str, noun: str, ids: Callable[..., list[str]], *, hint: str = "`ullage sessions` lists what is known."
) -> str:
    """The one id that begins with `prefix`. Of several it is the one that all others begin with in turn, if there is such a one:
    a session rather than its sub-agents. Raises `InputError` if there is none, or no such one.
    """
    found = ids(prefix, limit=MATCHES)
    if not found:
        raise InputError(
            f"No {noun} begins with {safe(prefix)!r}.",
            hint=hint,
            code="not_found",
        )
    if all(one.startswith(found[0]) for one in found):
        return found[0]
    named = ", ".join(safe(one) for one in found[:CANDIDATES])
    raise InputError(
        f"Several {noun}s begin with {safe(prefix)!r}: {named}{', …' if len(found) > CANDIDATES else ''}.",
        hint="Give more of the id.",
        code="ambiguous_id",
    )


def shorten_ids(ids: Iterable[str]) -> dict[str, str]:
    """Each id cut to the length at which all of these still differ, at least `SHORTEST_ID` characters."""
    whole = list(ids)
    longest = max(map(len, whole), default=0)
    length = next(
        (cut for cut in range(SHORTEST_ID, longest) if len({one[:cut] for one in whole}) == len(set(whole))), longest
    )
    return {one: one[:length] for one in whole}


def ago(time_ms: int, now: int) -> str:
    """How long ago that was, in the largest whole unit: `12 s ago`, `3 min ago`, `5 h ago`, `2 d ago`, then the date."""
    seconds = (now - time_ms) // 1000
    if seconds < 1:
        return "just now"
    if seconds >= _MONTH_S:
        return time.strftime("%Y-%m-%d", time.gmtime(time_ms / 1000))
    for unit, length in (("d", _DAY_S), ("h", _HOUR_S), ("min", _MINUTE_S)):
        if seconds >= length:
            return f"{seconds // length} {unit} ago"
    return f"{seconds} s ago"


def tokens(number: int | None, *, estimated: bool = False) -> str:
    """Tokens as `ullage context` shows them; a dash where nothing is known."""
    from ullage.core.accounting.formats import compact_number

    if number is None:
        return "-"
    return f"{'~' if estimated else ''}{compact_number(number)}"


def table(header: Sequence[str], rows: Sequence[Sequence[str]], *, right: Iterable[int] = ()) -> list[str]:
    """Lines of aligned columns, two blanks between them; the columns in `right` are set to the right."""
    cells = [[safe(cell) for cell in row] for row in (header, *rows)]
    widths = [max(len(row[column]) for row in cells) for column in range(len(header))]
    to_right = set(right)
    return [
        "  ".join(
            cell.rjust(width) if column in to_right else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in cells
    ]


def print_lines(lines: Iterable[str]) -> None:
    click.echo("\n".join(lines))


def plain(value: Any) -> str:
    """A value of an event's details in a line of text."""
    return safe(value if isinstance(value, str) else repr(value))
