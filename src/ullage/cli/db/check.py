"""`ullage db check`: whether the databases are sound, and what a person should know of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from ullage.cli import records
from ullage.cli.output import print_json
from ullage.cli.records import ago, data_dir_option, json_option, print_lines, table
from ullage.core.terminal import safe

from .places import byte_bar, databases, fields, find_main, name_of, size

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from ullage.stores.inspection import Inspection
    from ullage.stores.maintenance import Health

_HEADER = ("database", "status", "size", "log", "free", "sessions", "calls", "events", "samples", "oldest", "newest")


@click.command()
@click.option("--full", is_flag=True, help="Read everything: every index, every record.")
@json_option
@data_dir_option
@click.pass_context
def command(context: click.Context, full: bool, as_json: bool, data_dir: str | None) -> None:
    """Say whether the databases are sound, and how large.

    May be run at any time. An upkeep that was interrupted is finished or undone first; nothing else is changed. Exit status 1 if
    something is wrong.
    """
    from ullage.stores.maintenance import check

    main, _ = find_main(data_dir)
    with byte_bar(main, "checking") as progress:
        health = check(main, full=full, progress=progress)
    if as_json:
        print_json(
            {
                "status": health.status,
                "database": str(main),
                "databases": [{"status": one.status, **fields(one)} for one in health.databases],
                "aside": health.aside,
                "recovered": health.recovered,
            }
        )
    else:
        print_lines(lines(health, main))
    context.exit(1 if health.status == "fail" else 0)


def lines(health: Health, main: Path) -> Iterator[str]:
    """A table of all databases, then what there is to say of each."""
    rows = [_row(one, main) for one in health.databases]
    yield from table(_HEADER, rows, right=range(2, 9))
    for one in health.databases:
        for finding in one.findings:
            yield ""
            yield f"{finding.level:4}  {safe(name_of(one.path, one.project, main))}: {safe(finding.message)}"
            if finding.hint:
                yield f"      → {safe(finding.hint)}"
    yield ""
    for sentence in health.recovered:
        yield safe(sentence)
    for aside in health.aside:
        yield f"Moved aside: {safe(aside.path)}, {size(aside.size_bytes)}."
    total = sum(one.size_bytes for one in health.databases)
    broken = sum(one.status == "fail" for one in health.databases)
    warned = sum(one.status == "warn" for one in health.databases)
    yield f"{databases(len(rows))}, {size(total)}; {warned} to look at, {broken} broken"


def _row(one: Inspection, main: Path) -> tuple[str, ...]:
    now = records.now_ms()
    free = "-" if one.reusable_bytes is None or not one.size_bytes else f"{one.reusable_bytes / one.size_bytes:.0%}"
    counts = [
        f"{one.counts[name]:,}" if name in one.counts else "-" for name in ("sessions", "calls", "events", "samples")
    ]
    times = ["-" if time_ms is None else ago(time_ms, now) for time_ms in (one.oldest_ms, one.newest_ms)]
    return (
        name_of(one.path, one.project, main),
        one.status,
        size(one.size_bytes),
        size(one.log_bytes),
        free,
        *counts,
        *times,
    )
