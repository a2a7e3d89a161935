"""`ullage db prune`: old records go, and with `--compact` the room they took."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from ullage.cli import records
from ullage.cli.output import print_json
from ullage.cli.records import data_dir_option, json_option, print_lines, table
from ullage.core.terminal import safe

from .places import byte_bar, fields, find_main, name_of, need_main, size

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from ullage.stores.maintenance import Pruned

_TABLES = ("calls", "events", "sessions", "artifacts")
_DAY_MS = 24 * 60 * 60 * 1000
_MOST_DAYS = 36_500


@click.command()
@click.option(
    "--keep-days", metavar="N", type=click.IntRange(0, _MOST_DAYS), help="Keep so many days, if not store.keep_days."
)
@click.option("--keep-calls", metavar="N", type=click.IntRange(0), help="Of calls keep the newest so many a database.")
@click.option("--compact", is_flag=True, help="Give the room back to the disk; needs a stopped daemon.")
@click.option("--dry-run", is_flag=True, help="Change nothing, say what would go.")
@json_option
@data_dir_option
@click.pass_context
def command(
    context: click.Context,
    keep_days: int | None,
    keep_calls: int | None,
    compact: bool,
    dry_run: bool,
    as_json: bool,
    data_dir: str | None,
) -> None:
    """Remove old records.

    Calls, events, sessions and records of artifacts not used for store.keep_days go, as the daemon does it by itself, which then
    removes the files of artifacts without a record once a day. What was learned of models stays.
    While no daemon runs, files of projects that are left empty are removed. Exit status 1 if a database could not be pruned.
    """
    from ullage.stores.maintenance import prune
    from ullage.stores.pruning import Limits

    main, settings = find_main(data_dir)
    need_main(main)
    days = settings.store.keep_days if keep_days is None else keep_days
    now_ms = records.now_ms()
    with byte_bar(main, "pruning") as progress:
        results = prune(
            main,
            Limits(now_ms - days * _DAY_MS, keep_calls),
            now_ms=now_ms,
            dry_run=dry_run,
            compact=compact,
            progress=progress,
        )
    failed = any(result.error is not None for result in results)
    if as_json:
        print_json(
            {
                "status": "fail" if failed else "ok",
                "dry_run": dry_run,
                "keep_days": days,
                "keep_calls": keep_calls,
                "databases": [fields(result) for result in results],
            }
        )
    else:
        print_lines(lines(results, main, dry_run=dry_run))
    context.exit(1 if failed else 0)


def lines(results: list[Pruned], main: Path, *, dry_run: bool) -> Iterator[str]:
    """A table of the databases that something went of, then the sum and what went wrong."""
    touched = [result for result in results if any(result.removed.values()) or result.freed_bytes]
    rows = [
        (
            name_of(result.path, result.project, main),
            *(f"{result.removed.get(name, 0):,}" for name in _TABLES),
            "removed" if result.deleted else size(result.freed_bytes),
        )
        for result in touched
    ]
    if rows:
        yield from table(("database", *_TABLES, "given back"), rows, right=range(1, len(_TABLES) + 2))
        yield ""
    removed = {name: sum(result.removed.get(name, 0) for result in results) for name in _TABLES}
    what = ", ".join(f"{number:,} {name}" for name, number in removed.items())
    freed = sum(result.freed_bytes for result in results)
    yield f"Would remove {what}." if dry_run else f"Removed {what}; gave {size(freed)} back to the disk."
    for result in results:
        if result.error is not None:
            yield f"! {safe(name_of(result.path, result.project, main))}: {safe(result.error)}"
