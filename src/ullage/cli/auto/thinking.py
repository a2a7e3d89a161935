"""`ullage auto thinking`: how much models think."""

from __future__ import annotations

import click

from ullage.cli.output import print_json
from ullage.cli.records import print_lines
from ullage.core.errors import CallError
from ullage.core.terminal import safe

from .completion import complete_level
from .holding import hold, told
from .place import Where, clear_option, look, set_for, take_back, whose

_DONE = {
    "auto": "Each task has the thinking that it asks for",
    "pi": "Each task has the thinking that its client asks for",
}


@click.command()
@click.argument("mode", metavar="[auto|pi|fixed]", type=click.Choice(("auto", "pi", "fixed")), required=False)
@click.argument("level", required=False, shell_complete=complete_level)
@clear_option
@whose
def command(
    mode: str | None,
    level: str | None,
    clear: bool,
    session: str | None,
    everyone: bool,
    as_json: bool,
    data_dir: str | None,
) -> None:
    """Show or set how much models think: what the task asks for, what the client asks for, or `fixed LEVEL` for all tasks.

    Levels are off, minimal, low, medium, high, xhigh and max. A target that lacks one gets the next lower one that it has.
    """
    where = Where(session, everyone, data_dir)
    if clear and mode is not None:
        raise CallError("thinking: A mode and --clear exclude each other.", hint="Leave one of them out.")
    if (mode == "fixed") != (level is not None):
        raise CallError("thinking: A LEVEL goes with `fixed`, and with nothing else.", hint="For example `fixed low`.")
    if clear:
        take_back(where, "thinking", "Thinking", as_json=as_json)
    elif mode is None:
        _show(where, as_json=as_json)
    else:
        done = _DONE.get(mode, f"Thinking is {level} for each task")
        set_for(where, "thinking", level or mode, done=f"{done}, from the next one on,", as_json=as_json)


def _show(where: Where, *, as_json: bool) -> None:
    from ullage.core.routing.thinking import LEVELS

    with look(*where) as place:
        held = hold(place)["thinking"]
    if as_json:
        print_json({"session": place.session or None, "thinking": held, "levels": LEVELS})
    else:
        print_lines([f"thinking  {safe(told(held))}", f"known     auto, pi, fixed {'|'.join(LEVELS)}"])
