"""`ullage auto pin`: one target for all requests."""

from __future__ import annotations

import click

from .completion import complete_target
from .place import Where, set_for, whose


@click.command()
@click.argument("target", shell_complete=complete_target)
@whose
def command(target: str, session: str | None, everyone: bool, as_json: bool, data_dir: str | None) -> None:
    """Send all requests to one target, from the next one on. TARGET is `provider/model`.

    A pin comes before pool and rules, but not before constraints: where its target may not take a request, nobody does.
    """
    set_for(
        Where(session, everyone, data_dir),
        "pin",
        target,
        done=f"{target} is pinned, from the next request on,",
        as_json=as_json,
    )
