"""`ullage budget clear`: a session without limits of its own."""

from __future__ import annotations

import click

from ullage.cli.records import data_dir_option, json_option

from .holding import hold, session_option


@click.command()
@session_option
@json_option
@data_dir_option
def command(session: str | None, as_json: bool, data_dir: str | None) -> None:
    """Take back the limits of one session: the settings hold for it again."""
    hold(session, None, as_json=as_json, data_dir=data_dir)
