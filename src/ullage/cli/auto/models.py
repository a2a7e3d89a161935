"""`ullage auto models`: who may be chosen now."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from ullage.cli import records
from ullage.cli.output import print_json
from ullage.cli.records import print_lines
from ullage.core.terminal import safe

from .place import look, whose

if TYPE_CHECKING:
    from ullage.core.routing.exclusions import Stop
    from ullage.core.routing.filtering import Eligible

    from .place import Place


@click.command()
@whose
def command(session: str | None, everyone: bool, as_json: bool, data_dir: str | None) -> int:
    """List the targets that the session's next request may go to; `ullage auto doctor` says why others may not.

    The exit status is 1 where there is none: then it says why, with the code.
    """
    found, place = ask_eligible(session, everyone=everyone, data_dir=data_dir)
    targets = [one.target for one in found.candidates]
    return tell_names("models", targets, found.stop, place, as_json=as_json)


def ask_eligible(session: str | None, *, everyone: bool, data_dir: str | None) -> tuple[Eligible, Place]:
    """Who may take the session's next request."""
    from .asking import open_asking

    with look(session, everyone, data_dir) as place:
        asking = open_asking(place)
        return asking.previewing.eligible(asking.standing, asking.candidates, now_ms=records.now_ms()), place


def tell_names(noun: str, names: list[str], stop: Stop | None, place: Place, *, as_json: bool) -> int:
    """One name a line, or why there is none; the exit status."""
    if as_json:
        print_json({"session": place.session or None, noun: names, "stop": stop})
    elif stop is not None:
        print_lines([f"{stop.code}: {safe(stop.message)}", *([f"hint: {safe(stop.hint)}"] if stop.hint else [])])
    else:
        print_lines(map(safe, names))
    return int(stop is not None)
