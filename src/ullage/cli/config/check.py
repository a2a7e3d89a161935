"""`ullage config check`: what is wrong with the settings, and what was probably meant."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from ullage.cli.output import print_json
from ullage.settings import check_file, load_settings

if TYPE_CHECKING:
    from ullage.settings import Loaded


@click.command()
@click.argument("file", required=False, type=click.Path(path_type=Path, exists=True, dir_okay=False))
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.pass_context
def command(context: click.Context, file: Path | None, as_json: bool) -> None:
    """Say what is wrong with the settings.

    With FILE, that file alone is judged, as a project file if it is named .ullage.toml; without, everything that is in
    force here: user file, project file and environment. Exit status 1 if there is a problem.
    """
    if file is not None:
        problems, places = check_file(file.absolute()), [str(file)]
    else:
        loaded = load_settings()
        problems, places = loaded.problems, checked_places(loaded)
    if as_json:
        print_json({"checked": places, "problems": problems})
    else:
        click.echo("\n".join(str(problem) for problem in problems) or f"No problems. Checked: {', '.join(places)}.")
    context.exit(1 if problems else 0)


def checked_places(loaded: Loaded) -> list[str]:
    """What was looked at, and where a file would be that is not there."""
    user = loaded.paths.user_file
    project = loaded.paths.project_file
    return [
        str(user) if user.exists() else f"{user} (not there)",
        *([str(project)] if project is not None else []),
        "the variables ULLAGE_…",
    ]
