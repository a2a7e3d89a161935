"""What `ullage pin` and `ullage memory` share: the way to the store, whom something is for, how it is listed."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypedDict, Unpack

import click

from ullage.core.errors import CallError, InputError, StoreError
from ullage.core.terminal import safe

from . import records
from .inputs import STDIN, read_input
from .output import print_json
from .records import ago, complete_id, open_records, print_lines, shorten_ids, table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from ullage.core.evidence.changes import Change, Owner, Stamp
    from ullage.core.evidence.mutations import Item, Kept, Kind, Scope
    from ullage.settings.records import Settings
    from ullage.stores import Reader, SessionRecord, Store

CLASSES = ("normal", "internal", "sensitive", "local-only")
"""Named here and in core.privacy, which is not loaded to print a help screen."""

_PLURALS: dict[Kind, str] = {"pin": "pins", "memory": "memory"}
_TEXT_CHARS = 60
_SESSIONS_LOOKED_AT = 200
_WHOLE_ID = 32
"""Ids of clients' sessions are as long as a UUID's digits at least; nobody who gives so many has mistyped a beginning."""

session_option = click.option("--session", metavar="ID", help="For this session; the beginning of its id is enough.")
project_option = click.option("--project", metavar="PATH", help="For the project in this folder.")
class_option = click.option("--class", "classification", type=click.Choice(CLASSES), help="Who may see it. [normal]")
source_option = click.option(
    "--source", "sources", metavar="ID", multiple=True, help="Where it is from; may be repeated."
)
supersedes_option = click.option("--supersedes", metavar="ID", help="Put it in the place of another one.")
reason_option = click.option("--reason", metavar="TEXT", help="Why, for later readers.")
all_option = click.option("--all", "everything", is_flag=True, help="Also those that have ended.")


class Desk(NamedTuple):
    """A store that is open for writing, what is kept in it, and the settings."""

    store: Store
    kept: Kept
    settings: Settings

    @property
    def count(self) -> Callable[[str], int]:
        """Tokens of a text by the planner's estimator."""
        return _counter(self.settings)

    def stamp(self, kind: Kind) -> Stamp:
        from ullage.stores.keeping import make_stamp

        return make_stamp(kind, records.now_ms())

    def write(self, change: Change) -> Item:
        from ullage.stores.keeping import write_change

        return write_change(self.store, change)


class Replacing(NamedTuple):
    """Whom a new item is for, and what it replaces."""

    owner: Owner
    old: Item | None

    @property
    def supersedes(self) -> str | None:
        return self.old.id if self.old is not None else None

    def classification(self, said: str | None) -> str:
        """The class that is said, else that of what it replaces."""
        return said or (self.old.classification if self.old is not None else "normal")


class Target(NamedTuple):
    """What the flags say of whom something is for; `usual` is the scope if they say nothing."""

    usual: Scope
    scope: Scope | None
    session: str | None
    project: str | None


@contextlib.contextmanager
def open_desk(data_dir: str | None) -> Iterator[Desk]:
    """The configured store, made if there is none. Raises `StoreError` where nothing can be kept."""
    from ullage.settings import load_settings
    from ullage.stores import open_to_keep
    from ullage.stores.keeping import Keeper

    loaded = load_settings(flags={"data_dir": data_dir})
    kept = loaded.settings.store
    with open_to_keep(
        kept.url, loaded.paths.data_dir, records.now_ms, keep_days=kept.keep_days, scope=kept.scope
    ) as store:
        yield Desk(store, Keeper(store).kept(), loaded.settings)


def read_kept(data_dir: str | None) -> tuple[Kept, Callable[[str], int]]:
    """What is kept in the configured store, nothing where there is none yet; and the planner's count of tokens."""
    from ullage.core.evidence.mutations import Kept
    from ullage.settings import load_settings
    from ullage.stores.keeping import Keeper

    count = _counter(load_settings().settings)
    try:
        reader = open_records(data_dir)
    except StoreError as error:
        if error.code != "no_database":
            raise
        return Kept(), count
    try:
        return Keeper(reader).kept(), count
    finally:
        reader.close()


def read_text(text: str) -> str:
    """The text of an argument, or standard input for `-`. Raises `InputError` for bytes that are no UTF-8."""
    if text != STDIN:
        return text
    try:
        return read_input(STDIN).decode()
    except UnicodeDecodeError as error:
        raise InputError("Standard input is no UTF-8 text.", hint="Convert it first.", code="bad_text") from error


def find_old(supersedes: str | None, kind: Kind, kept: Kept) -> Item | None:
    """What is to be superseded, by the beginning of its id. Raises `InputError` if there is no such one."""
    return kept.items[complete_item(supersedes, kind, kept)] if supersedes is not None else None


def find_owner(target: Target, store: Reader, old: Item | None) -> Owner:
    """Whom something is for: where nothing is said, as what it supersedes, else the newest session or the working folder."""
    from ullage.core.evidence.changes import Owner, owner_of

    if old is not None and target[1:] == (None, None, None):
        return owner_of(old)
    scope = target.scope or ("project" if target.project else "session" if target.session else target.usual)
    if scope == "project":
        project = str(Path(target.project or ".").expanduser().resolve())
        session = named_session(target.session, store) if target.session else None
        return Owner(scope=scope, session=session, project=project)
    session = named_session(target.session, store) if target.session else _newest_session(store)
    if scope == "session":
        return Owner(scope=scope, session=session)
    from ullage.stores.keeping import branch_of

    return Owner(scope=scope, session=session, branch=branch_of(store, session))


def complete_item(prefix: str, kind: Kind, kept: Kept) -> str:
    """The one id that begins so. Raises `InputError` if there is none or several."""
    ids = [item.id for item in kept.of(kind) if item.id.startswith(prefix)]
    return complete_id(prefix, kind, lambda _, limit: ids[:limit], hint=f"`ullage {kind} list --all` names them.")


def select(kept: Kept, kind: Kind, *, everything: bool, session: str | None, project: str | None) -> list[Item]:
    """The pins or memories to list. A session is named by the beginning of its id, a project by its folder."""
    items = kept.of(kind) if everything else kept.active(kind)
    if session is not None:
        items = [item for item in items if item.session is not None and item.session.startswith(session)]
    if project is not None:
        folder = str(Path(project).expanduser().resolve())
        items = [item for item in items if item.project == folder]
    return items


def list_items(items: Sequence[Item], count: Callable[[str], int], *, extra: dict[str, str] | None = None) -> list[str]:
    """A table; `extra` is the score of each by id, where they were ranked."""
    from ullage.core.evidence.excerpts import shorten

    shown = shorten_ids(item.id for item in items)
    now_ms = records.now_ms()
    header = ("id", *(["score"] if extra else []), "scope", "for", "tokens", "when", "text")
    rows = [
        (
            shown[item.id],
            *([extra[item.id]] if extra else []),
            item.scope if item.is_active else f"{item.scope} ({item.state})",
            owner_name(item),
            f"~{_tokens(item, count)}",
            ago(item.created_ms, now_ms),
            shorten(item.text, _TEXT_CHARS),
        )
        for item in items
    ]
    return table(header, rows, right=[header.index("tokens")])


def describe(item: Item, count: Callable[[str], int]) -> list[str]:
    """One line per fact that is known, the text last and whole."""
    facts = {
        item.kind: item.id,
        "state": f"{item.state}{f', replaced by {item.superseded_by}' if item.superseded_by else ''}",
        "reason": item.reason,
        "scope": f"{item.scope}: {owner_name(item, whole=True)}",
        "from session": item.session if item.scope == "project" else None,
        "branch": item.branch,
        "key": item.key,
        "class": item.classification,
        "supersedes": item.supersedes,
        "sources": ", ".join(item.source_ids),
        "source file": item.source_file,
        "when": ago(item.created_ms, records.now_ms()),
        "tokens": f"~{_tokens(item, count)} where it is sent",
        "text": item.text,
    }
    return [f"{name:<14}{safe(value)}" for name, value in facts.items() if value]


class Filter(TypedDict):
    """Which items are listed, and how."""

    everything: bool
    session: str | None
    project: str | None
    as_json: bool
    data_dir: str | None


def show_list(kind: Kind, empty: str, **asked: Unpack[Filter]) -> None:
    """Prints the pins or memories that are asked for, the oldest first; `empty` where there is none."""
    kept, count = read_kept(asked["data_dir"])
    items = select(kept, kind, everything=asked["everything"], session=asked["session"], project=asked["project"])
    if asked["as_json"]:
        print_json({_PLURALS[kind]: [plain(item) for item in items]})
    else:
        print_lines(list_items(items, count) if items else [empty])


def show_one(kind: Kind, prefix: str, *, as_json: bool, data_dir: str | None) -> None:
    """Prints a pin or a memory whole, by the beginning of its id."""
    kept, count = read_kept(data_dir)
    item = kept.items[complete_item(prefix, kind, kept)]
    if as_json:
        print_json({kind: plain(item)})
    else:
        print_lines(describe(item, count))


def finish(
    kind: Kind,
    prefix: str,
    end: Callable[[Kept, str, Stamp], Change],
    done: str,
    *,
    as_json: bool,
    data_dir: str | None,
) -> None:
    """Ends a pin or a memory, by the beginning of its id, and tells what became of it."""
    with open_desk(data_dir) as desk:
        item = desk.write(end(desk.kept, complete_item(prefix, kind, desk.kept), desk.stamp(kind)))
    tell(done, item, written=True, as_json=as_json)


def keep(
    kind: Kind,
    target: Target,
    supersedes: str | None,
    make: Callable[[Desk, Replacing], Change],
    done: str,
    *,
    as_json: bool,
    data_dir: str | None,
) -> None:
    """Keeps what `make` makes, in the place of another one if `supersedes` names it, and tells what became of it."""
    with open_desk(data_dir) as desk:
        old = find_old(supersedes, kind, desk.kept)
        change = make(desk, Replacing(owner=find_owner(target, desk.store, old), old=old))
        item = desk.write(change)
    tell(done, item, written=change.mutation is not None, as_json=as_json)


def owner_name(item: Item, *, whole: bool = False) -> str:
    """The project's folder, or the session."""
    name = item.project if item.scope == "project" else item.session
    return (name or "-") if whole or item.scope == "project" else (name or "-")[:8]


def tell(done: str, item: Item, *, written: bool, as_json: bool) -> None:
    """What became of an item."""
    if as_json:
        print_json({item.kind: plain(item), "written": written})
    else:
        print_lines(
            [f"{done if written else 'Kept already:'} {item.id} ({item.scope}: {safe(owner_name(item, whole=True))})"]
        )


def plain(item: Item) -> dict[str, Any]:
    from ullage.stores.keeping import report_item

    return report_item(item)


def _tokens(item: Item, count: Callable[[str], int]) -> int:
    """Those of the message that it is in a request."""
    from ullage.core.evidence.evidence_text import memory_text, pin_text

    return count(pin_text(item) if item.kind == "pin" else memory_text(item, 0.0, ""))


def _counter(settings: Settings) -> Callable[[str], int]:
    from ullage.core.tokens import get_estimator

    return get_estimator(settings.calibration.estimator).text


def named_session(prefix: str, store: Reader) -> str:
    """The session whose id begins so; of one that nothing is known of yet, that is told, unless all of an id was given."""
    found = store.session_ids(prefix, limit=1)
    if found:
        return complete_id(prefix, "session", store.session_ids)
    if len(prefix) < _WHOLE_ID:
        click.echo(
            f"ullage: No session begins with {safe(prefix)!r} yet: it is for the one of exactly that id.", err=True
        )
    return prefix


def _newest_session(store: Reader) -> str:
    """The newest session of the working folder, else the newest of all; sub-agents are none."""
    sessions = [session for session in store.sessions(limit=_SESSIONS_LOOKED_AT) if session.agent is None]
    if not sessions:
        raise CallError(
            "No session is recorded yet.", hint="Name one with --session, or say --scope project.", code="no_session"
        )
    here = str(Path.cwd())
    session: SessionRecord = next((one for one in sessions if one.project == here), sessions[0])
    when = ago(session.last_ms, records.now_ms())
    what = f"session {session.id[:8]} ({session.client}, {when})"
    click.echo(f"ullage: It is for {safe(what)}; --session ID names another.", err=True)
    return session.id
