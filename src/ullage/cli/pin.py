"""`ullage pin`: texts that go with every request of a session, a branch or a project."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from .keeping import (
    Target,
    all_option,
    class_option,
    complete_item,
    describe,
    find_old,
    find_owner,
    list_items,
    open_desk,
    plain,
    project_option,
    read_kept,
    read_text,
    reason_option,
    select,
    session_option,
    source_option,
    supersedes_option,
    tell,
)
from .output import print_json
from .records import data_dir_option, json_option, print_lines

if TYPE_CHECKING:
    from ullage.core.evidence.mutations import Scope


@click.group()
def command() -> None:
    """Keep a text in every request of a session, a branch or a project.

    Pins are sent in managed mode, whole or not at all; what you pin is never dropped to make room.
    """


@command.command("add")
@click.argument("text", metavar="TEXT|-")
@click.option("--scope", type=click.Choice(("session", "branch", "project")), help="Whom it is for. [session]")
@session_option
@project_option
@supersedes_option
@class_option
@source_option
@click.option("--file", "source_file", metavar="PATH", help="The file it is from; it is not read.")
@json_option
@data_dir_option
def add_command(
    text: str,
    scope: Scope | None,
    session: str | None,
    project: str | None,
    supersedes: str | None,
    classification: str | None,
    sources: tuple[str, ...],
    source_file: str | None,
    as_json: bool,
    data_dir: str | None,
) -> None:
    """Pin a text; `-` reads it from standard input.

    Without a flag it is for the newest session of this folder. A pin of a branch holds as long as the last message so far
    stands where it stands. What is pinned already is not pinned twice.
    """
    from ullage.core.evidence.pins import NewPin, add_pin
    from ullage.settings.keeping import make_pin_limits

    target = Target("session", scope, session, project)
    with open_desk(data_dir) as desk:
        old = find_old(supersedes, "pin", desk.kept)
        new = NewPin(
            text=read_text(text),
            owner=find_owner(target, desk.store, old),
            classification=classification or (old.classification if old is not None else "normal"),
            source_ids=sources,
            source_file=source_file,
            supersedes=old.id if old is not None else None,
        )
        limits = make_pin_limits(desk.settings)
        change = add_pin(desk.kept, new, desk.stamp("pin"), limits=limits, count=desk.count)
        pin = desk.write(change)
    tell("Pinned", pin, written=change.mutation is not None, as_json=as_json)


@command.command("list")
@all_option
@session_option
@project_option
@json_option
@data_dir_option
def list_command(
    everything: bool, session: str | None, project: str | None, as_json: bool, data_dir: str | None
) -> None:
    """List pins, the oldest first."""
    kept, count = read_kept(data_dir)
    pins = select(kept, "pin", everything=everything, session=session, project=project)
    if as_json:
        print_json({"pins": [plain(pin) for pin in pins]})
    else:
        print_lines(list_items(pins, count) if pins else ["Nothing is pinned. `ullage pin add TEXT` does."])


@command.command("show")
@click.argument("pin_id", metavar="ID")
@json_option
@data_dir_option
def show_command(pin_id: str, as_json: bool, data_dir: str | None) -> None:
    """Show one pin whole; the beginning of its id is enough."""
    kept, count = read_kept(data_dir)
    pin = kept.items[complete_item(pin_id, "pin", kept)]
    if as_json:
        print_json({"pin": plain(pin)})
    else:
        print_lines(describe(pin, count))


@command.command("remove")
@click.argument("pin_id", metavar="ID")
@reason_option
@json_option
@data_dir_option
def remove_command(pin_id: str, reason: str | None, as_json: bool, data_dir: str | None) -> None:
    """Take a pin back. The log remembers that it was there."""
    from ullage.core.evidence.pins import remove_pin

    with open_desk(data_dir) as desk:
        found = complete_item(pin_id, "pin", desk.kept)
        pin = desk.write(remove_pin(desk.kept, found, desk.stamp("pin"), reason=reason))
    tell("Removed", pin, written=True, as_json=as_json)
