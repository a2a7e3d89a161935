"""`ullage auto pool`: the weighted set of targets that is active."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from ullage.cli.output import print_json
from ullage.cli.records import print_lines, table
from ullage.core.errors import CallError
from ullage.core.terminal import safe

from .completion import complete_pool
from .holding import hold, told
from .place import Where, clear_option, look, set_for, take_back, whose

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ullage.settings.routing import PoolSettings

    from .holding import Held


@click.command()
@click.argument("name", metavar="[NAME|off]", required=False, shell_complete=complete_pool)
@clear_option
@whose
def command(
    name: str | None, clear: bool, session: str | None, everyone: bool, as_json: bool, data_dir: str | None
) -> None:
    """Show the pools; set the active one, or leave it with `off`. Pools stand under `routing.pools` of the settings."""
    where = Where(session, everyone, data_dir)
    if name is not None and clear:
        raise CallError("pool: A pool and --clear exclude each other.", hint="Leave one of them out.")
    if clear:
        take_back(where, "pool", "The pool", as_json=as_json)
    elif name is not None:
        done = (
            "No pool is active, from the next task on,"
            if name == "off"
            else f"The pool is {name}, from the next task on,"
        )
        set_for(where, "pool", name, done=done, as_json=as_json)
    else:
        _show(where, as_json=as_json)


def _show(where: Where, *, as_json: bool) -> None:
    with look(*where) as place:
        held = hold(place)["pool"]
    pools = place.settings.routing.pools
    if as_json:
        print_json({"session": place.session or None, "pool": held, "pools": pools})
    else:
        print_lines(_render(held, pools))


def _render(held: Held, pools: dict[str, PoolSettings]) -> Iterator[str]:
    yield f"active  {safe(told(held))}"
    if not pools:
        yield "No pools are set; they stand under [routing.pools] of the settings."
        return
    yield ""
    rows = [
        (name, _weights(pool), pool.allocation, f"{pool.window_hours:g} h", pool.fallback)
        for name, pool in sorted(pools.items())
    ]
    yield from table(("pool", "members and weights", "allocation", "window", "falls back to"), rows)


def _weights(pool: PoolSettings) -> str:
    return ", ".join(f"{name} {weight:g}" for name, weight in {**pool.targets, **pool.providers}.items()) or "any"
