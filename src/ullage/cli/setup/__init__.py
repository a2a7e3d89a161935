"""`ullage setup`: points a client at the daemon, or takes that back."""

from __future__ import annotations

import click

from ullage.cli.output import print_json
from ullage.core.errors import CallError
from ullage.settings import load_settings

from .apply import undo, write
from .client import make_place
from .clients import CLIENTS
from .report import describe, page, undone, written


@click.command()
@click.argument("client", type=click.Choice(list(CLIENTS)))
@click.option("--url", help="Where the daemon listens. Default: what the settings say, http://127.0.0.1:8484.")
@click.option("--write", "wants_write", is_flag=True, help="Change the client's own settings; keeps a backup.")
@click.option("--undo", "wants_undo", is_flag=True, help="Put back what --write has changed.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(client: str, url: str | None, wants_write: bool, wants_undo: bool, as_json: bool) -> None:
    """Point a coding agent at the daemon, or undo it.

    Without --write or --undo it prints what to set and changes nothing. Whatever else is in the client's settings stays
    as it is.
    """
    if wants_write and wants_undo:
        raise CallError("--write and --undo exclude each other.", hint="Give one of them.")
    loaded = load_settings()
    chosen, place, data_dir = CLIENTS[client], make_place(loaded, url), loaded.paths.data_dir
    if wants_write:
        steps = write(chosen, place, data_dir)
        text = written(chosen, place, steps)
    elif wants_undo:
        steps = undo(chosen, data_dir)
        text = undone(chosen, steps)
    else:
        steps = []
        text = "" if as_json else page(chosen, place)
    if as_json:
        action = "write" if wants_write else "undo" if wants_undo else "print"
        print_json(describe(chosen, place) | {"action": action, "steps": steps})
    else:
        click.echo(text)
