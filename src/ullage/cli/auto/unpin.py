"""`ullage auto unpin`."""

from __future__ import annotations

import click

from .place import Where, take_back, whose


@click.command()
@whose
def command(session: str | None, everyone: bool, as_json: bool, data_dir: str | None) -> None:
    """Take a pin back: a target is chosen again, from the next task on."""
    take_back(Where(session, everyone, data_dir), "pin", "The pin", as_json=as_json)
