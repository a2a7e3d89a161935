"""`ullage history`: the newest decisions of routes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from . import records
from .auto.place import look, session_option
from .output import print_json
from .records import ago, data_dir_option, json_option, print_lines, shorten_ids, table

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ullage.stores.routed import Decided


@click.command()
@session_option
@click.option("--limit", type=click.IntRange(1, 1000), default=50, show_default=True, help="At most so many.")
@json_option
@data_dir_option
def command(session: str | None, limit: int, as_json: bool, data_dir: str | None) -> None:
    """List the newest decisions, of all sessions or of one: when, for which task, where to, by which policy.

    A task is listed once for each target that it came to. `ullage auto why` and `ullage why` say why.
    """
    from ullage.stores.routed import list_decisions, report_decided

    with look(session, session is None, data_dir) as place:
        decided = list_decisions(place.store, place.session or None, limit=limit)
    if as_json:
        print_json({"decisions": [report_decided(one) for one in decided]})
    else:
        print_lines(_render(decided))


def _render(decided: Sequence[Decided]) -> Iterator[str]:
    if not decided:
        yield "No decision yet."
        return
    tasks, sessions = (shorten_ids(ids) for ids in ([one.task for one in decided], [one.session for one in decided]))
    now = records.now_ms()
    rows = [
        (ago(one.at_ms, now), one.target, one.policy or "-", tasks[one.task], sessions[one.session] or "-")
        for one in decided
    ]
    yield from table(("when", "target", "policy", "task", "session"), rows)
