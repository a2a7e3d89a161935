"""`ullage memory`: claims that requests they bear on are told of."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

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

key_option = click.option("--key", metavar="KEY", help="What it is about, if the claim does not say it.")


@click.group()
def command() -> None:
    """Note claims that later requests are told of when they bear on them.

    A claim says one thing of one subject: "Build runner = vitest". Two claims of one subject that contradict each other cannot
    both hold: supersede, invalidate or expire the older one.
    """


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
    key: str | None,
    scope: Scope | None,
    session: str | None,
    project: str | None,
    supersedes: str | None,
    classification: str | None,
    sources: tuple[str, ...],
    as_json: bool,
    data_dir: str | None,
) -> None:
    """Remember a claim; `-` reads it from standard input. Without a flag it is for the project in this folder."""
    remember(
        claim,
        key=key,
        target=Target("project", scope, session, project),
        supersedes=supersedes,
        classification=classification,
        sources=sources,
        as_json=as_json,
        data_dir=data_dir,
    )


@command.command("supersede")
@click.argument("memory_id", metavar="ID")
@click.argument("claim", metavar="CLAIM|-")
@key_option
@class_option
@source_option
@json_option
@data_dir_option
def supersede_command(
    memory_id: str,
    claim: str,
    key: str | None,
    classification: str | None,
    sources: tuple[str, ...],
    as_json: bool,
    data_dir: str | None,
) -> None:
    """Put a claim in the place of another one, for whom that was."""
    remember(
        claim,
        key=key,
        target=Target("project", None, None, None),
        supersedes=memory_id,
        classification=classification,
        sources=sources,
        as_json=as_json,
        data_dir=data_dir,
    )


@command.command("list")
@all_option
@session_option
@project_option
@json_option
@data_dir_option
def list_command(
    everything: bool, session: str | None, project: str | None, as_json: bool, data_dir: str | None
) -> None:
    """List what is remembered, the oldest first."""
    kept, count = read_kept(data_dir)
    items = select(kept, "memory", everything=everything, session=session, project=project)
    if as_json:
        print_json({"memory": [plain(item) for item in items]})
    else:
        print_lines(list_items(items, count) if items else ["Nothing is remembered. `ullage memory add CLAIM` does."])


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
    kept, count = read_kept(data_dir)
    item = kept.items[complete_item(memory_id, "memory", kept)]
    if as_json:
        print_json({"memory": plain(item)})
    else:
        print_lines(describe(item, count))


@command.command("invalidate")
@click.argument("memory_id", metavar="ID")
@reason_option
@json_option
@data_dir_option
def invalidate_command(memory_id: str, reason: str | None, as_json: bool, data_dir: str | None) -> None:
    """Say that a claim was wrong."""
    finish(memory_id, "invalid", reason, as_json=as_json, data_dir=data_dir)


@command.command("expire")
@click.argument("memory_id", metavar="ID")
@reason_option
@json_option
@data_dir_option
def expire_command(memory_id: str, reason: str | None, as_json: bool, data_dir: str | None) -> None:
    """Say that a claim was right and holds no longer."""
    finish(memory_id, "expired", reason, as_json=as_json, data_dir=data_dir)


def remember(
    claim: str,
    *,
    key: str | None,
    target: Target,
    supersedes: str | None,
    classification: str | None,
    sources: tuple[str, ...],
    as_json: bool,
    data_dir: str | None,
) -> None:
    """Writes a claim and tells what became of it."""
    from ullage.core.evidence.memory import NewMemory, add_memory
    from ullage.settings.keeping import make_memory_limits

    with open_desk(data_dir) as desk:
        old = find_old(supersedes, "memory", desk.kept)
        new = NewMemory(
            claim=read_text(claim),
            owner=find_owner(target, desk.store, old),
            key=key,
            classification=classification or (old.classification if old is not None else "normal"),
            source_ids=sources,
            supersedes=old.id if old is not None else None,
        )
        change = add_memory(desk.kept, new, desk.stamp("memory"), limits=make_memory_limits(desk.settings))
        item = desk.write(change)
    tell("Remembered", item, written=change.mutation is not None, as_json=as_json)


def finish(
    memory_id: str, state: Literal["invalid", "expired"], reason: str | None, *, as_json: bool, data_dir: str | None
) -> None:
    """Ends a claim and tells what became of it."""
    from ullage.core.evidence.memory import end_memory

    with open_desk(data_dir) as desk:
        found = complete_item(memory_id, "memory", desk.kept)
        item = desk.write(end_memory(desk.kept, found, state, desk.stamp("memory"), reason=reason))
    tell("Invalidated" if state == "invalid" else "Expired", item, written=True, as_json=as_json)
