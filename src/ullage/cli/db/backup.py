"""`ullage db backup`: copies of all databases, each of one moment and checked."""

from __future__ import annotations

import time
from pathlib import Path

import click

from ullage.cli import records
from ullage.cli.output import print_json
from ullage.cli.records import data_dir_option, json_option, print_lines
from ullage.core.terminal import safe

from .places import byte_bar, databases, find_main, need_main, size


@click.command()
@click.argument("target", metavar="[FILE|FOLDER]", required=False, type=click.Path(path_type=Path))
@click.option("--force", is_flag=True, help="Replace an earlier backup there.")
@json_option
@data_dir_option
def command(target: Path | None, force: bool, as_json: bool, data_dir: str | None) -> None:
    """Copy all databases, also while the daemon runs.

    The copies lie in FOLDER as the databases do in the data folder; without it, in a new folder under backups there. A FILE
    (*.db) takes the shared database where there is no other. Each copy is checked before any takes its place.
    """
    from ullage.stores.copying import back_up

    main, _ = find_main(data_dir)
    need_main(main)
    target = target or main.parent / "backups" / _stamp()
    with byte_bar(main, "copying") as progress:
        copies = back_up(main, target, force=force, progress=progress)
    if as_json:
        print_json({"target": str(target), "databases": [copy._asdict() for copy in copies]})
        return
    total = size(sum(copy.size_bytes for copy in copies))
    print_lines([f"Copied {databases(len(copies))}, {total}, to {safe(str(target))}; each copy was checked."])


def _stamp() -> str:
    """The time as a folder is named after it, UTC."""
    return time.strftime("%Y-%m-%dT%H%M%SZ", time.gmtime(records.now_ms() / 1000))
