"""`ullage auto why`: the newest decision."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from ullage.cli.output import print_json
from ullage.cli.records import print_lines

from .place import look, whose
from .telling import tell_choice, utility_of

if TYPE_CHECKING:
    from ullage.stores import CallRecord, Reader

_NONE = "No decision yet."


@click.command()
@whose
def command(session: str | None, everyone: bool, as_json: bool, data_dir: str | None) -> None:
    """Say why the newest task went where it did, or why nobody was let take it.

    `ullage why` tells the same of any call, at length.
    """
    with look(session, everyone, data_dir) as place:
        newest = _newest(place.store, place.session or None)
        route = decided(place.store, newest) if newest is not None else None
    if as_json:
        print_json(
            {"call": newest.id if newest is not None else None, "session": place.session or None, **_report(route)}
        )
    else:
        print_lines(tell_choice(route) if route is not None else [_NONE])


def _newest(store: Reader, session: str | None) -> CallRecord | None:
    """The newest decision, unless the newest call came to none."""
    from ullage.engine.judging import newest_decision, newest_routed

    newest = newest_routed(store, session)
    is_stopped = newest is not None and newest.route is not None and newest.route.get("target") is None
    return newest if is_stopped else newest_decision(store, session)


def decided(store: Reader, newest: CallRecord) -> dict[str, Any]:
    """The route of a call, with the weighing of the call of its task that it was decided with."""
    route = dict(newest.route or {})
    if route.get("ranked") or route.get("target") is None:
        return route
    calls = store.decisions(newest.session, task=route.get("task_id"))
    first = next((call.route for call in calls if call.route is not None and call.route.get("ranked")), None)
    if first is None:
        return route
    return {
        **route,
        **{name: first[name] for name in ("ranked", "reasons", "confidence", "margin", "switch") if name in first},
    }


def _report(route: dict[str, Any] | None) -> dict[str, Any]:
    if route is None:
        return {"route": None}
    names = (
        "target",
        "stop",
        "thinking",
        "policy",
        "reasons",
        "notes",
        "confidence",
        "kept",
        "reason",
        "task_id",
        "attempts",
        "switch",
    )
    return {"route": {**{name: route.get(name) for name in names}, "utility": utility_of(route)}}
