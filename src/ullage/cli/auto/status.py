"""`ullage auto status`: what holds now."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from ullage.cli import records
from ullage.cli.output import print_json
from ullage.cli.records import ago, print_lines
from ullage.core.terminal import safe

from .holding import Held, hold, told
from .place import Place, by_hand, look, whose

if TYPE_CHECKING:
    from ullage.stores import CallRecord


@click.command()
@whose
def command(session: str | None, everyone: bool, as_json: bool, data_dir: str | None) -> None:
    """Tell whether routing is on, where the session is, how it got there, the policy and the pool."""
    from ullage.engine.judging import newest_decision, newest_routed

    with look(session, everyone, data_dir) as place:
        held = hold(place)
        newest = newest_decision(place.store, place.session or None)
        shown = newest if place.session else None
        last = newest_routed(place.store, place.session) if place.session else None
        stop = (last.route or {}).get("stop") if last is not None else None
        lines = _render(place, held, shown, stop)
    if as_json:
        print_json({**_report(place, held, shown), "stop": stop})
    else:
        print_lines(map(safe, lines))


def _report(place: Place, held: dict[str, Held], newest: CallRecord | None) -> dict[str, Any]:
    from ullage.stores.report import iso_time

    route = (newest.route or {}) if newest is not None else {}
    last = None
    if newest is not None:
        last = {
            "at": iso_time(newest.created_ms),
            "call": newest.id,
            "target": route.get("target"),
            "reason": route.get("reason"),
            "policy": route.get("policy"),
            "task": route.get("task_id"),
        }
    return {
        "session": place.session or None,
        "enabled": place.settings.routing.enabled,
        "by_hand": by_hand() or None,
        "current": route.get("target"),
        "last_route": last,
        **held,
    }


def _render(place: Place, held: dict[str, Held], newest: CallRecord | None, stop: dict[str, Any] | None) -> list[str]:
    route = (newest.route or {}) if newest is not None else {}
    facts = {
        "session": _session(place),
        "activation": _activation(place, held),
        "current": route.get("target") or ("none yet" if place.session else ""),
        "last route": _last(newest, route),
        "stopped": f"the newest request: {stop['message']} ({stop['code']})" if stop is not None else "",
        "policy": told(held["policy"]),
        "pool": told(held["pool"]),
        "thinking": told(held["thinking"]) if held["thinking"].value != "auto" else "",
    }
    return [f"{name:<12}{value}" for name, value in facts.items() if value]


def _session(place: Place) -> str:
    if not place.session:
        return "all"
    known = place.store.find_session(place.session)
    if known is None:
        return f"{place.session[: records.SHORTEST_ID]}  (nothing is known of it yet)"
    return f"{place.session[: records.SHORTEST_ID]}  ({known.client}, {ago(known.last_ms, records.now_ms())})"


def _activation(place: Place, held: dict[str, Held]) -> str:
    if not place.settings.routing.enabled:
        return "off  (routing.enabled of the settings)"
    is_on = held["activation"].value == "active"
    if is_on and by_hand():
        return f"off (manual): {by_hand()} is selected; /auto-model on"
    pin = held["pin"]
    said = told(Held(value="on" if is_on else "off", source=held["activation"].source))
    return said if pin.value is None else f"{said}, pinned to {told(pin)}"


def _last(newest: CallRecord | None, route: dict[str, Any]) -> str:
    if newest is None:
        return ""
    kept = ", kept" if route.get("kept") else ""
    return f"{route.get('target')}, {ago(newest.created_ms, records.now_ms())}  ({route.get('reason', 'user')}{kept})"
