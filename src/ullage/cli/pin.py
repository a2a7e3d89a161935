"""`ullage pin`: texts that go with every request of a session, a branch or a project."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Unpack

import click

from .keeping import (
    Filter,
    Target,
    all_option,
    class_option,
    finish,
    keep,
    project_option,
    read_text,
    reason_option,
    session_option,
    show_list,
    show_one,
    source_option,
    supersedes_option,
)
from .records import data_dir_option, json_option

if TYPE_CHECKING:
    from ullage.core.evidence.changes import Change
    from ullage.core.evidence.mutations import Scope

    from .keeping import Desk, Replacing


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

    def make(desk: Desk, place: Replacing) -> Change:
        new = NewPin(
            text=read_text(text),
            owner=place.owner,
            classification=place.classification(classification),
            source_ids=sources,
            source_file=source_file,
            supersedes=place.supersedes,
        )
        return add_pin(desk.kept, new, desk.stamp("pin"), limits=make_pin_limits(desk.settings), count=desk.count)

    target = Target("session", scope, session, project)
    keep("pin", target, supersedes, make, "Pinned", as_json=as_json, data_dir=data_dir)


@command.command("list")
@all_option
@session_option
@project_option
@json_option
@data_dir_option
def list_command(**asked: Unpack[Filter]) -> None:
    """List pins, the oldest first."""
    show_list("pin", "Nothing is pinned. `ullage pin add TEXT` does.", **asked)


@command.command("show")
@click.argument("pin_id", metavar="ID")
@json_option
@data_dir_option
def show_command(pin_id: str, as_json: bool, data_dir: str | None) -> None:
    """Show one pin whole; the beginning of its id is enough."""
    show_one("pin", pin_id, as_json=as_json, data_dir=data_dir)


@command.command("remove")
@click.argument("pin_id", metavar="ID")
@reason_option
@json_option
@data_dir_option
def remove_command(pin_id: str, reason: str | None, as_json: bool, data_dir: str | None) -> None:
    """Take a pin back. The log remembers that it was there."""
    from ullage.core.evidence.pins import remove_pin

    end = partial(remove_pin, reason=reason)
    finish("pin", pin_id, end, "Removed", as_json=as_json, data_dir=data_dir)
