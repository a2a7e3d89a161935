"""`ullage memory`: claims that requests they bear on are told of."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypedDict, Unpack

import click

from .keeping import (
    Filter,
    Target,
    all_option,
    class_option,
    finish,
    keep,
    list_items,
    plain,
    project_option,
    read_kept,
    read_text,
    reason_option,
    select,
    session_option,
    show_list,
    show_one,
    source_option,
    supersedes_option,
)
from .memory_sources import exclude_command, include_command, sources_command
from .output import print_json
from .records import data_dir_option, json_option, print_lines

if TYPE_CHECKING:
    from ullage.core.evidence.changes import Change, Stamp
    from ullage.core.evidence.mutations import Kept, Scope

    from .keeping import Desk, Replacing

key_option = click.option("--key", metavar="KEY", help="What it is about, if the claim does not say it.")


class Said(TypedDict):
    """What is said of a claim, and how it is answered."""

    key: str | None
    classification: str | None
    sources: tuple[str, ...]
    as_json: bool
    data_dir: str | None


@click.group()
def command() -> None:
    """Note claims that later requests are told of when they bear on them.

    A claim says one thing of one subject: "Build runner = vitest". Two claims of one subject that contradict each other cannot
    both hold: supersede, invalidate or expire the older one.
    """


command.add_command(sources_command)
command.add_command(exclude_command)
command.add_command(include_command)


@command.command("add")
@click.argument("claim", metavar="CLAIM|-")
@key_option
@click.option("--scope", type=click.Choice(("session", "project")), help="Whom it is for. [project]")
@session_option
@project_option
@supersedes_option
@class_option
@source_option
@json_option
@data_dir_option
def add_command(
    claim: str,
    scope: Scope | None,
    session: str | None,
    project: str | None,
    supersedes: str | None,
    **said: Unpack[Said],
) -> None:
    """Remember a claim; `-` reads it from standard input. Without a flag it is for the project in this folder."""
    remember(claim, Target("project", scope, session, project), supersedes, **said)


@command.command("supersede")
@click.argument("memory_id", metavar="ID")
@click.argument("claim", metavar="CLAIM|-")
@key_option
@class_option
@source_option
@json_option
@data_dir_option
def supersede_command(memory_id: str, claim: str, **said: Unpack[Said]) -> None:
    """Put a claim in the place of another one, for whom that was."""
    remember(claim, Target("project", None, None, None), memory_id, **said)


@command.command("list")
@all_option
@session_option
@project_option
@json_option
@data_dir_option
def list_command(**asked: Unpack[Filter]) -> None:
    """List what is remembered, the oldest first."""
    show_list("memory", "Nothing is remembered. `ullage memory add CLAIM` does.", **asked)


@command.command("find")
@click.argument("query")
@session_option
@project_option
@json_option
@data_dir_option
def find_command(query: str, session: str | None, project: str | None, as_json: bool, data_dir: str | None) -> None:
    """Show what a request with these words would be told, the best first: what matches, else the newest three."""
    from ullage.core.evidence.ranking import rank

    kept, count = read_kept(data_dir)
    ranked = rank(select(kept, "memory", everything=False, session=session, project=project), query)
    if as_json:
        print_json({"memory": [{**plain(one.item), "score": one.score, "match": one.reason} for one in ranked]})
        return
    scores = {one.item.id: f"{one.score:g} ({one.reason})" for one in ranked}
    items = [one.item for one in ranked]
    print_lines(list_items(items, count, extra=scores) if items else ["Nothing is remembered."])


@command.command("show")
@click.argument("memory_id", metavar="ID")
@json_option
@data_dir_option
def show_command(memory_id: str, as_json: bool, data_dir: str | None) -> None:
    """Show one claim whole; the beginning of its id is enough."""
    show_one("memory", memory_id, as_json=as_json, data_dir=data_dir)


@command.command("invalidate")
@click.argument("memory_id", metavar="ID")
@reason_option
@json_option
@data_dir_option
def invalidate_command(memory_id: str, reason: str | None, as_json: bool, data_dir: str | None) -> None:
    """Say that a claim was wrong."""
    end(memory_id, "invalid", reason, as_json=as_json, data_dir=data_dir)


@command.command("expire")
@click.argument("memory_id", metavar="ID")
@reason_option
@json_option
@data_dir_option
def expire_command(memory_id: str, reason: str | None, as_json: bool, data_dir: str | None) -> None:
    """Say that a claim was right and holds no longer."""
    end(memory_id, "expired", reason, as_json=as_json, data_dir=data_dir)


def remember(claim: str, target: Target, supersedes: str | None, **said: Unpack[Said]) -> None:
    """Writes a claim and tells what became of it."""
    from ullage.core.evidence.memory import NewMemory, add_memory
    from ullage.settings.keeping import make_memory_limits

    def make(desk: Desk, place: Replacing) -> Change:
        new = NewMemory(
            claim=read_text(claim),
            owner=place.owner,
            key=said["key"],
            classification=place.classification(said["classification"]),
            source_ids=said["sources"],
            supersedes=place.supersedes,
        )
        return add_memory(desk.kept, new, desk.stamp("memory"), limits=make_memory_limits(desk.settings))

    keep("memory", target, supersedes, make, "Remembered", as_json=said["as_json"], data_dir=said["data_dir"])


def end(
    memory_id: str, state: Literal["invalid", "expired"], reason: str | None, *, as_json: bool, data_dir: str | None
) -> None:
    """Ends a claim and tells what became of it."""
    from ullage.core.evidence.memory import end_memory

    done = "Invalidated" if state == "invalid" else "Expired"

    def change(kept: Kept, found: str, stamp: Stamp) -> Change:
        return end_memory(kept, found, state, stamp, reason=reason)

    finish("memory", memory_id, change, done, as_json=as_json, data_dir=data_dir)
