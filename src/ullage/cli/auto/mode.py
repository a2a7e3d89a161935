"""`ullage auto mode`: the policy."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from ullage.cli.output import print_json
from ullage.cli.records import print_lines
from ullage.core.errors import CallError
from ullage.core.terminal import safe

from .completion import complete_policy
from .holding import hold, told
from .place import Where, change, clear_option, keep, look, set_for, take_back, tell_set, whose

if TYPE_CHECKING:
    from ullage.cli.config.writing import Set

_KEY = "routing.policy"


@click.command()
@click.argument("policy", required=False, shell_complete=complete_policy)
@clear_option
@whose
def command(
    policy: str | None, clear: bool, session: str | None, everyone: bool, as_json: bool, data_dir: str | None
) -> None:
    """Show or set what weighs most: balanced, best, cost or fast. It holds from the next task on.

    With --default it is also written into the user's settings file, of which a backup is kept.
    """
    where = Where(session, everyone, data_dir)
    if policy is not None and clear:
        raise CallError("mode: A policy and --clear exclude each other.", hint="Leave one of them out.")
    if clear:
        take_back(where, "policy", "The policy", as_json=as_json)
    elif policy is None:
        _show(where, as_json=as_json)
    elif everyone:
        _set_for_all(where, policy, as_json=as_json)
    else:
        set_for(where, "policy", policy, done=f"The policy is {policy}, from the next task on,", as_json=as_json)


def _show(where: Where, *, as_json: bool) -> None:
    from ullage.core.routing.weights import WEIGHTS

    with look(*where) as place:
        held = hold(place)["policy"]
    if as_json:
        print_json({"session": place.session or None, "policy": held, "known": list(WEIGHTS)})
    else:
        print_lines([f"policy  {safe(told(held))}", f"known   {', '.join(WEIGHTS)}"])


def _set_for_all(where: Where, policy: str, *, as_json: bool) -> None:
    """The file first: where it cannot be written, nothing is set."""
    from ullage.cli.config.writing import set_value
    from ullage.engine.steering import check_policy

    checked = check_policy(policy)
    with change(*where) as (place, store):
        written = set_value(place.loaded.paths.user_file, _KEY, checked)
        keep(place, store, "policy", checked)
    done = f"The policy is {checked}, from the next task on,"
    tell_set(place, {"policy": checked}, done, as_json=as_json, file=written)
    if not as_json:
        print_lines(map(safe, _tell_file(written)))


def _tell_file(written: Set) -> list[str]:
    if not written.changed:
        return [f"It stands in {written.file} already."]
    return [f"written  {written.file}", *([f"backup   {written.backup}"] if written.backup is not None else [])]
