"""`python -m ullage.testing.replay`: recorded sessions as live traffic through a gateway, and how far its estimates were off."""

from __future__ import annotations

import asyncio
from pathlib import Path

import click

from ullage.core.errors import UllageError
from ullage.evals.files import Skipped, find_files
from ullage.evals.tables import calibrated_summary, calibrated_table

from .judging import judge_all


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("paths", metavar="PATH...", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--whole", is_flag=True, help="Put a text before each session that stands for what its file leaves out.")
@click.option(
    "--after", type=click.Choice(["3", "5"]), default="5", show_default=True, help="Judge behind so many calls."
)
def main(paths: tuple[Path, ...], whole: bool, after: str) -> None:
    """Send recorded sessions through a gateway of their own to a fake provider that answers as recorded.

    PATH is a session file of a supported agent, or a folder of them. Nothing leaves this machine.
    """
    try:
        found = find_files(paths)
        judged = asyncio.run(judge_all(found.paths, whole=whole))
    except UllageError as error:
        raise click.ClickException(f"{error.message} {error.hint}".rstrip()) from error
    for skipped in (*found.skipped, *(one for one in judged if isinstance(one, Skipped))):
        click.echo(f"left out {skipped.path}: {skipped.reason}", err=True)
    files = [one for one in judged if not isinstance(one, Skipped)]
    click.echo(calibrated_table(files, int(after)).as_text())
    click.echo()
    click.echo(calibrated_summary(files).as_text())


if __name__ == "__main__":
    main(prog_name="python -m ullage.testing.replay")
