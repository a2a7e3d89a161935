"""`ullage config unset`."""

from __future__ import annotations

import click

from ullage.cli.records import json_option

from .changing import change, project_option


@click.command()
@click.argument("key")
@project_option
@json_option
def command(key: str, project: bool, as_json: bool) -> None:
    """Take one setting out of the user's file, so that what stands below it holds again: the default, say."""
    change(key, None, project=project, as_json=as_json)
