"""`ullage auto on`."""

from __future__ import annotations

import click

from .place import Where, set_for, whose


@click.command()
@whose
def command(session: str | None, everyone: bool, as_json: bool, data_dir: str | None) -> None:
    """Choose a target for each task, beginning with the next one."""
    set_for(
        Where(session, everyone, data_dir),
        "activation",
        "active",
        done="Routing is on, from the next task on,",
        as_json=as_json,
    )
