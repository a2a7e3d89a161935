"""`ullage feedback`: a vote for or against a target."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import click

from ullage.core.errors import InputError
from ullage.core.terminal import safe

from . import records
from .auto.completion import complete_target
from .auto.place import look, session_option, writing
from .output import print_json
from .records import data_dir_option, json_option, print_lines

if TYPE_CHECKING:
    from ullage.engine.judging import Voted

    from .auto.place import Place


@click.command()
@click.argument("said", metavar="good|bad", type=click.Choice(("good", "bad")))
@click.argument("target", required=False, shell_complete=complete_target)
@click.option("--reason", metavar="TEXT", help="Why, for later readers; it is kept in your own records alone.")
@session_option
@json_option
@data_dir_option
def command(
    said: Literal["good", "bad"],
    target: str | None,
    reason: str | None,
    session: str | None,
    as_json: bool,
    data_dir: str | None,
) -> None:
    """Say that a target did well, or badly: the one that the newest task went to, or TARGET.

    It counts for tasks of the same kinds, and half as much for others; half of it is forgotten in thirty days.
    """
    from ullage.engine.judging import report_voted, vote

    with look(session, False, data_dir) as place:
        known = _known(place) if target is not None else frozenset()
        asked = place.session or None
    with writing(data_dir) as (_, store):
        voted = vote(
            store,
            good=said == "good",
            target=target,
            known=known,
            session=asked,
            reason=reason,
            now_ms=records.now_ms(),
        )
    if as_json:
        print_json(report_voted(voted))
    else:
        print_lines([tell_voted(voted)])


def tell_voted(voted: Voted) -> str:
    """What a vote came to."""
    from ullage.core.routing.learning import MOST

    record, kinds = voted.record, ", ".join(voted.record.kinds) or "any kind"
    return safe(
        f"{'Good' if record.good else 'Bad'}: {record.target} is at {voted.quality.voted:+.3f} for tasks of {kinds}"
        f" (at most {MOST:.2f} either way)."
    )


def _known(place: Place) -> frozenset[str]:
    """The targets that can be reached; those that took calls are known to the store."""
    from .auto.place import candidates_of

    try:
        return frozenset(one.target for one in candidates_of(place, keyless=True).candidates)
    except InputError:  # nobody can be reached: the store alone tells then
        return frozenset()
