"""`ullage auto off`."""

from __future__ import annotations

import click

from .place import Where, set_for, whose


@click.command()
@whose
def command(session: str | None, everyone: bool, as_json: bool, data_dir: str | None) -> None:
    """Stay at the target that the session is at, whatever the next tasks are."""
    set_for(
        Where(session, everyone, data_dir),
        "activation",
        "off",
        done="Routing is off, from the next task on,",
        as_json=as_json,
    )
