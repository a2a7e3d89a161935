"""`ullage budget import`: what Pi Auto Model has spent, beside what is spent here."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from ullage.cli import records
from ullage.cli.auto.place import writing
from ullage.cli.output import print_json
from ullage.cli.records import data_dir_option, json_option, print_lines
from ullage.core.errors import InputError
from ullage.core.terminal import safe

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ullage.cli.budget.files import Taken

_LARGEST_BYTES = 64 * 1024 * 1024
"""Its hours may each have hundreds of latencies."""


@click.command()
@click.argument("files", nargs=-1, metavar="[FILE]...", type=click.Path(path_type=Path, dir_okay=False))
@json_option
@data_dir_option
def command(files: tuple[Path, ...], as_json: bool, data_dir: str | None) -> None:
    """Take over what Pi Auto Model has spent: its budget.json, and the hours of its metrics.json that the former does not have.

    Without FILE those of its own folder are read. The sums count for limits beside what is spent here; a file that is imported
    again replaces what it said before. What cannot be used is named and left out alone.
    """
    taken = [_read(path) for path in files or _usual()]
    # Of hours that both have, the ledger's own word holds.
    totals = {one.key: one for half in reversed(taken) for one in half.totals}
    notes = [note for half in taken for note in half.notes]
    changed = 0
    if totals:
        with writing(data_dir) as (_, store):
            changed = store.ledger.take_imported(totals.values())
    if as_json:
        print_json({"sums": len(totals), "changed": changed, "notes": notes})
    else:
        print_lines([*_told(len(totals), changed), *(safe(f"Left out: {note}.") for note in notes)])


def _told(sums: int, changed: int) -> Iterator[str]:
    if not sums:
        yield "Nothing was spent, by these files."
    elif changed:
        yield f"{sums} sums are taken over, {changed} of them new; `ullage budget` shows them."
    else:
        yield f"All {sums} sums are known already."


def _read(path: Path) -> Taken:
    from ullage.cli.budget.files import is_budget, is_metrics, read_budget, read_metrics
    from ullage.settings.json_file import read_json

    file = read_json(path, largest_bytes=_LARGEST_BYTES)
    if file.skipped:
        raise InputError(f"{path} {file.skipped}.", hint="Give Pi Auto Model's budget.json or metrics.json.")
    if is_budget(file.data):
        return read_budget(file.data, path, now_ms=records.now_ms())
    if is_metrics(file.data):
        return read_metrics(file.data, path)
    raise InputError(
        f"{path} is neither a budget.json nor a metrics.json of Pi Auto Model.",
        hint="Its folder is ~/.pi/agent/auto-model.",
    )


def _usual() -> Sequence[Path]:
    from ullage.cli.budget.files import BUDGET, METRICS
    from ullage.settings import environment
    from ullage.settings.ds4 import agent_folder
    from ullage.settings.paths import home_folder

    environ = environment()
    folder = agent_folder(environ, home_folder(environ)) / "auto-model"
    found = [folder / name for name in (BUDGET, METRICS) if (folder / name).is_file()]
    if not found:
        raise InputError(f"There is no {BUDGET} in {folder}.", hint="Name the file.", code="not_found")
    return found
