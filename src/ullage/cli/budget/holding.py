"""What setting and clearing the limits of a session share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from ullage.cli import records
from ullage.cli.auto.place import writing
from ullage.cli.keeping import named_session
from ullage.cli.output import print_json
from ullage.cli.records import print_lines
from ullage.core.errors import CallError
from ullage.core.terminal import safe

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ullage.stores import Store

ACTIONS = ("warn", "avoid", "downgrade", "block")
"""Named here and in core.spend, which is not loaded to print a help screen."""

session_option = click.option(
    "--session", metavar="ID", help="This session; the beginning of its id is enough. [the newest]"
)


def hold(session: str | None, given: Mapping[str, Any] | None, *, as_json: bool, data_dir: str | None) -> None:
    """Keeps limits of a session, or none any more, and tells what holds."""
    import msgspec

    from ullage.engine.budgets import put_session_limits

    with writing(data_dir) as (_, store):
        found = named_session(session, store) if session is not None else _newest(store)
        limits = put_session_limits(store, found, given, records.now_ms())
    plain = msgspec.to_builtins(limits)
    if as_json:
        print_json({"session": found, "limits": plain})
        return
    who = f"session {found[: records.SHORTEST_ID]}"
    told = ", ".join(f"{name} = {value}" for name, value in plain.items())
    print_lines([safe(f"{who}: {told}." if told else f"{who}: the settings hold.")])


def _newest(store: Store) -> str:
    newest = store.sessions(limit=1)
    if not newest:
        raise CallError("No session is known yet.", hint="Name one with --session.", code="no_session")
    return newest[0].id
