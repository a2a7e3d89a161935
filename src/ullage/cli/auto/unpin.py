"""`ullage auto unpin`."""

from __future__ import annotations

import click

from .place import Where, set_for, whose


@click.command()
@whose
def command(session: str | None, everyone: bool, as_json: bool, data_dir: str | None) -> None:
    """Take a pin back: a target is chosen again, from the next task on."""
    set_for(Where(session, everyone, data_dir), "pin", None, done="Nothing is pinned any more", as_json=as_json)
