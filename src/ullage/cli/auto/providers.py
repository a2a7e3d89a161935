"""`ullage auto providers`: whose models may be chosen now."""

from __future__ import annotations

import click

from .models import ask_eligible, tell_names
from .place import whose


@click.command()
@whose
def command(session: str | None, everyone: bool, as_json: bool, data_dir: str | None) -> int:
    """List the providers that the session's next request may go to.

    The exit status is 1 where there is none: then it says why, with the code.
    """
    found, place = ask_eligible(session, everyone=everyone, data_dir=data_dir)
    names = list(dict.fromkeys(one.model.provider for one in found.candidates))
    return tell_names("providers", names, found.stop, place, as_json=as_json)
