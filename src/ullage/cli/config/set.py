"""`ullage config set`: one setting, written into the user's file or the project's."""

from __future__ import annotations

import click

from ullage.cli.records import json_option

from .changing import change, project_option


@click.command()
@click.argument("key")
@click.argument("value")
@project_option
@json_option
def command(key: str, value: str, project: bool, as_json: bool) -> None:
    """Write one setting into the user's file: KEY as `ullage config show` prints it, VALUE as TOML, or a bare word.

    What else stands in the file stays, with its remarks. A value that could not be used is not written. A daemon that runs goes
    by it once it was started again.
    """
    change(key, value, project=project, as_json=as_json)
