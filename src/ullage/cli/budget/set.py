"""`ullage budget set`: limits of one session."""

from __future__ import annotations

import click

from ullage.cli.records import data_dir_option, json_option

from .holding import ACTIONS, hold, session_option


@click.command()
@session_option
@click.option("--usd", type=click.FloatRange(0, 1_000_000), help="USD that the session may spend.")
@click.option("--task-usd", type=click.FloatRange(0, 1_000_000), help="USD for one turn of yours in it.")
@click.option("--on-exceed", type=click.Choice(ACTIONS), help="What happens to a call that would exceed a limit.")
@json_option
@data_dir_option
def command(
    session: str | None,
    usd: float | None,
    task_usd: float | None,
    on_exceed: str | None,
    as_json: bool,
    data_dir: str | None,
) -> None:
    """Limit what one session may spend, in place of what the settings say. A running daemon heeds it within a second."""
    given = {"session_usd": usd, "task_usd": task_usd, "on_exceed": on_exceed}
    said = {name: value for name, value in given.items() if value is not None}
    if not said:
        raise click.UsageError("Nothing is set: give --usd, --task-usd or --on-exceed.")
    hold(session, said, as_json=as_json, data_dir=data_dir)
