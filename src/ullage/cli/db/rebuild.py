"""`ullage db rebuild`: fresh databases out of what can be read of damaged ones."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from ullage.cli import records
from ullage.cli.output import print_json
from ullage.cli.records import data_dir_option, json_option, print_lines, table
from ullage.core.terminal import safe

from .places import byte_bar, fields, find_main, name_of, need_main

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ullage.stores.maintenance import Rebuilt

_TABLES = ("sessions", "calls", "events", "samples", "prefixes", "mutations", "artifacts", "routing")


@click.command()
@click.option("--all", "everything", is_flag=True, help="Also those in which nothing is wrong.")
@click.option(
    "--from",
    "also",
    metavar="FILE",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Take in what a database that was moved aside, or a backup, still holds.",
)
@json_option
@data_dir_option
@click.pass_context
def command(context: click.Context, everything: bool, also: Path | None, as_json: bool, data_dir: str | None) -> None:
    """Make damaged databases anew from what can be read.

    Every row that can be read is taken over, what cannot be is counted, and the old database stays beside the new one under
    another name. Needs a stopped daemon. Exit status 1 if a database could not be rebuilt.
    """
    from ullage.stores.maintenance import rebuild

    main, _ = find_main(data_dir)
    need_main(main)
    with byte_bar(main, "rebuilding") as progress:
        results = rebuild(main, now_ms=records.now_ms(), everything=everything, also=also, progress=progress)
    failed = any(result.error is not None for result in results)
    if as_json:
        print_json({"status": "fail" if failed else "ok", "databases": [fields(result) for result in results]})
    else:
        print_lines(lines(results, main))
    context.exit(1 if failed else 0)


def lines(results: list[Rebuilt], main: Path) -> Iterator[str]:
    """What became of each database that was rebuilt."""
    if not results:
        yield "Nothing is wrong: no database was rebuilt."
    for result in results:
        name = safe(name_of(result.path, result.project, main))
        if result.error is not None:
            yield f"! {name}: {safe(result.error)}"
            continue
        yield f"Rebuilt {name}; the old one is {safe(result.aside or '')}"
        rows = [(kind, f"{result.kept[kind]:,}", _lost(result.lost[kind])) for kind in _TABLES if kind in result.kept]
        yield from table(("records", "kept", "lost"), rows, right=(1, 2))


def _lost(number: int | None) -> str:
    return "unknown" if number is None else f"{number:,}"
