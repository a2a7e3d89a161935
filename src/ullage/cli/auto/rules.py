"""`ullage auto rules`: rules and scenarios."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click
import msgspec

from ullage.cli import records
from ullage.cli.output import print_json
from ullage.cli.records import ago, print_lines, table
from ullage.core.terminal import safe

from .place import look, whose

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ullage.core.routing.rules import Rule
    from ullage.settings import Loaded
    from ullage.stores import CallRecord

_SECTION = "routing"


@click.command()
@whose
def command(session: str | None, everyone: bool, as_json: bool, data_dir: str | None) -> None:
    """List rules and scenarios in the order in which they are checked, the one that applied last, and what is wrong with them."""
    from ullage.settings.route_config import make_route_config

    with look(session, everyone, data_dir) as place:
        entries = make_route_config(place.settings).rules.entries
        decisions = place.store.decisions(place.session or None)
    last = next((call for call in decisions if (call.route or {}).get("rule")), None)
    problems = routing_problems(place.loaded)
    if as_json:
        print_json({**_report(entries, last), "problems": problems})
    else:
        print_lines(_render(entries, last, problems))


def routing_problems(loaded: Loaded) -> list[str]:
    """What could not be used of the settings of routing."""
    return [str(one) for one in loaded.problems if (one.key or "").partition(".")[0].rstrip("[]") == _SECTION]


def _report(entries: tuple[Rule, ...], last: CallRecord | None) -> dict[str, Any]:
    from ullage.stores.report import iso_time

    applied = None
    if last is not None and last.route is not None:
        applied = {"rule": last.route["rule"], "at": iso_time(last.created_ms), "call": last.id}
    return {"rules": [_plain(one) for one in entries], "last_applied": applied}


def _plain(entry: Rule) -> dict[str, Any]:
    return {"name": entry.name, "scenario": entry.scenario, "when": _said(entry.when), "then": _said(entry.then)}


def _said(record: msgspec.Struct) -> dict[str, Any]:
    """The fields of a record that say something."""
    return {name: value for name, value in msgspec.to_builtins(record).items() if value not in (None, [], ())}


def _render(entries: tuple[Rule, ...], last: CallRecord | None, problems: list[str]) -> Iterator[str]:
    if entries:
        rows = [
            (one.name, "scenario" if one.scenario else "rule", _words(one.when), _words(one.then)) for one in entries
        ]
        yield from table(("name", "", "when", "then"), rows)
    else:
        yield "No rules are set; they stand under [[routing.rules]] and [routing.scenarios] of the settings."
    if last is not None and last.route is not None:
        yield f"Last applied: {safe(last.route['rule'])}, {ago(last.created_ms, records.now_ms())}"
    for problem in problems:
        yield f"Problem: {safe(problem)}"


def _words(record: msgspec.Struct) -> str:
    return ", ".join(f"{name.replace('_', ' ')} {_word(value)}" for name, value in _said(record).items())


def _word(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return " ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
