"""`ullage memory sources`, `exclude` and `include`: the sessions that a project's memory is from."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ullage.core.terminal import safe

from . import records
from .keeping import open_desk, project_option, read_kept, reason_option
from .output import print_json
from .records import ago, complete_id, data_dir_option, json_option, print_lines, table

if TYPE_CHECKING:
    from ullage.core.evidence.mutations import Item, Kept

_NONE = "Nothing that any session has said of this project is remembered."


@click.command("sources")
@project_option
@json_option
@data_dir_option
def sources_command(project: str | None, as_json: bool, data_dir: str | None) -> None:
    """List the sessions in which something was said of a project that is remembered, and which of them are excluded."""
    from ullage.stores.report import iso_time

    kept, _ = read_kept(data_dir)
    found = [_report(kept, _folder(project), session, items) for session, items in _sources(kept, project).items()]
    if as_json:
        print_json({"sources": [{"newest_at": iso_time(one.pop("newest_ms")), **one} for one in found]})
        return
    now = records.now_ms()
    rows = [
        (
            one["session"],
            f"excluded{': ' + one['reason'] if one['reason'] else ''}" if one["excluded"] else "told to others",
            str(one["active"]),
            str(one["claims"]),
            ago(one["newest_ms"], now),
        )
        for one in found
    ]
    print_lines(table(("session", "state", "active", "all", "newest"), rows, right=(2, 3)) if rows else [_NONE])


@click.command("exclude")
@click.argument("session")
@project_option
@reason_option
@json_option
@data_dir_option
def exclude_command(session: str, project: str | None, reason: str | None, as_json: bool, data_dir: str | None) -> None:
    """Tell no other session what this one has said of a project. The claims stay in the log."""
    from ullage.core.evidence.mutations import EXCLUDE

    _change(EXCLUDE, session, project, reason=reason, as_json=as_json, data_dir=data_dir)


@click.command("include")
@click.argument("session")
@project_option
@json_option
@data_dir_option
def include_command(session: str, project: str | None, as_json: bool, data_dir: str | None) -> None:
    """Take that back."""
    from ullage.core.evidence.mutations import INCLUDE

    _change(INCLUDE, session, project, reason=None, as_json=as_json, data_dir=data_dir)


def _change(
    op: str, prefix: str, project: str | None, *, reason: str | None, as_json: bool, data_dir: str | None
) -> None:
    from ullage.core.evidence.memory import change_source
    from ullage.stores.keeping import write_mutation

    with open_desk(data_dir) as desk:
        ids = sorted(one for one in _sources(desk.kept, project) if one.startswith(prefix))
        session = complete_id(
            prefix, "source", lambda _, limit: ids[:limit], hint="`ullage memory sources` lists them."
        )
        mutation = change_source(desk.kept, (_folder(project), session), op, desk.stamp("memory"), reason=reason)
        if mutation is not None:
            write_mutation(desk.store, mutation)
    if as_json:
        print_json({"session": session, "excluded": op == "exclude", "written": mutation is not None})
    else:
        done = "is excluded" if op == "exclude" else "is told to others"
        already = "" if mutation is not None else " already"
        print_lines([safe(f"What session {session} has said of this project {done}{already}.")])


def _folder(project: str | None) -> str:
    return str(Path(project or ".").expanduser().resolve())


def _sources(kept: Kept, project: str | None) -> dict[str, list[Item]]:
    """What each session has said of a project, whatever became of it."""
    folder, found = _folder(project), defaultdict(list)
    for item in kept.of("memory"):
        if item.scope == "project" and item.project == folder and item.session:
            found[item.session].append(item)
    return found


def _report(kept: Kept, folder: str, session: str, items: list[Item]) -> dict[str, Any]:
    return {
        "session": session,
        "excluded": (folder, session) in kept.excluded,
        "reason": kept.excluded.get((folder, session)),
        "active": sum(one.is_active for one in items),
        "claims": len(items),
        "newest_ms": max(one.created_ms for one in items),
    }
