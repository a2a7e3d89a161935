"""What every change to pins and memory must fulfil before it is written, and the entry of the log that it becomes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, cast

import msgspec
from msgspec import Struct

from ullage.core.errors import CallError, InputError
from ullage.core.privacy.classes import CLASSES
from ullage.core.tokens.estimators import utf16_units
from ullage.core.tokens.surrogates import replace_lone_surrogates

from .evidence_text import holds_our_text
from .mutations import Item, Kept, Kind, Mutation, Scope, State, added_item

if TYPE_CHECKING:
    from collections.abc import Callable

    Count = Callable[[str], int]
    """Tokens of a message with that text."""

REASON_CHARS = 500
"""Planner specification, section 15.1."""


class Stamp(Struct, frozen=True, kw_only=True):
    """What the core cannot make itself: ids that are new, and the time (epoch milliseconds)."""

    mutation: str
    item: str
    now_ms: int


class Owner(Struct, frozen=True, kw_only=True):
    """Whom something is kept for. `session` may be named for a project too: it is where the text came from."""

    scope: Scope
    session: str | None = None
    branch: str | None = None
    project: str | None = None


class NewItem(Struct, frozen=True, kw_only=True):
    """What is said of any text that is to be kept. `source_ids` say where it is from; `supersedes` is what it replaces."""

    owner: Owner
    classification: str = "normal"
    source_ids: tuple[str, ...] = ()
    supersedes: str | None = None


class Checked(NamedTuple):
    """A text as it is kept; the item that it replaces; one of its owner that says the same already."""

    text: str
    superseded: Item | None
    duplicate: Item | None


class Change(NamedTuple):
    """A pin or memory as it is after a change, and the entry to write; `None` if nothing changes."""

    item: Item
    mutation: Mutation | None


def owner_of(item: Item) -> Owner:
    """Whom an item is kept for."""
    return Owner(scope=item.scope, session=item.session, branch=item.branch, project=item.project)


def clean_text(text: str, noun: str, most_chars: int) -> str:
    """The text on one line, single blanks between words. Raises `CallError` for one that is empty or longer than `most_chars`
    UTF-16 units, and for one that ullage itself wrote into a request."""
    if holds_our_text(text):
        raise CallError(
            f"The {noun} quotes what ullage itself put into a request.",
            hint="Give the text itself, without the lines in brackets around it.",
            code="replayed_text",
        )
    clean = " ".join(replace_lone_surrogates(text).split())
    if not clean:
        raise CallError(f"The {noun} is empty.", hint="Say what is to be kept.", code="empty_text")
    if (chars := utf16_units(clean)) > most_chars:
        raise CallError(
            f"The {noun} has {chars:,} characters; {most_chars:,} is the most.",
            hint="Shorten it, or keep it as several.",
            code="too_long",
        )
    return clean


def check_new(kept: Kept, kind: Kind, new: NewItem, text: str, *, noun: str, most_chars: int) -> Checked:
    """What holds of every text that is to be kept.

    Raises `CallError` for what cannot be kept at all; `InputError` if what it supersedes is none or no longer active.
    """
    clean = clean_text(text, noun, most_chars)
    check_owner(new.owner)
    check_class(new.classification)
    superseded = need_active(kept, new.supersedes, kind) if new.supersedes is not None else None
    duplicate = find_duplicate(kept, kind, new.owner, clean)
    return Checked(clean, superseded, duplicate if duplicate is not superseded else None)


def check_owner(owner: Owner) -> None:
    """Raises `CallError` if it does not say whom it is."""
    needed = {"session": owner.session, "branch": owner.session and owner.branch, "project": owner.project}
    if not needed[owner.scope]:
        raise CallError(f"The scope {owner.scope} needs a {owner.scope}.", hint="Name it.", code="bad_scope")


def check_class(classification: str) -> None:
    """Raises `CallError` for a class that there is not."""
    if classification not in CLASSES:
        raise CallError(
            f"There is no class {classification!r}.", hint=f"Known are {', '.join(CLASSES)}.", code="bad_class"
        )


def need_active(kept: Kept, item_id: str, kind: Kind) -> Item:
    """The active item of that id. Raises `InputError` if there is none."""
    item = kept.find(item_id)
    if item is None or item.kind != kind:
        raise InputError(f"There is no {kind} {item_id!r}.", hint=f"`ullage {kind} list` names them.", code="not_found")
    if not item.is_active:
        raise InputError(
            f"The {kind} {item_id} is {item.state} already.",
            hint=f"It was replaced by {item.superseded_by}." if item.superseded_by else "Nothing needs to be done.",
            code="not_active",
        )
    return item


def find_duplicate(kept: Kept, kind: Kind, owner: Owner, text: str) -> Item | None:
    """The active item of the same owner that says the same but for the case of letters."""
    wanted = text.casefold()
    return next((item for item in active_of(kept, kind, owner) if item.text.casefold() == wanted), None)


def active_of(kept: Kept, kind: Kind, owner: Owner) -> list[Item]:
    """The active pins or memories of one owner."""
    return [item for item in kept.active(kind) if is_of(item, owner)]


def is_of(item: Item, owner: Owner) -> bool:
    """Whether an item is kept for that owner."""
    return item.place == msgspec.structs.replace(item, **msgspec.structs.asdict(owner)).place


def add(kind: Kind, new: NewItem, stamp: Stamp, **payload: str | None) -> Change:
    """The entry that adds an item, or supersedes another one. `payload` is what its kind alone says; members without a value are
    left out."""
    common = {"classification": new.classification, "source_ids": new.source_ids, "supersedes": new.supersedes}
    said = {name: value for name, value in {**payload, **common}.items() if value is not None and value != ()}
    mutation = Mutation(
        id=stamp.mutation,
        created_ms=stamp.now_ms,
        kind=kind,
        **msgspec.structs.asdict(new.owner),
        op="supersede" if "supersedes" in said else "add",
        item=stamp.item,
        payload=said,
    )
    return Change(cast("Item", added_item(mutation)), mutation)


def end(item: Item, state: State, reason: str | None, stamp: Stamp) -> Change:
    """The entry that ends an item. Raises `CallError` for a reason that is too long."""
    said = clean_text(reason, "reason", REASON_CHARS) if reason else None
    mutation = Mutation(
        id=stamp.mutation,
        created_ms=stamp.now_ms,
        kind=item.kind,
        **msgspec.structs.asdict(owner_of(item)),
        op="status",
        item=item.id,
        payload={"status": state, **({"reason": said} if said else {})},
    )
    return Change(msgspec.structs.replace(item, state=state, reason=said), mutation)


def report_kept(item: Item, tokens: int, reason: str, **more: Any) -> dict[str, Any]:
    """An item as a manifest tells of it (planner specification, section 25.1): never its text. `more` is what its kind has."""
    return {
        "id": item.id,
        "scope": item.scope,
        "session": item.session,
        "mutation": item.mutation,
        "source_ids": list(item.source_ids),
        "supersedes": item.supersedes,
        "classification": item.classification,
        "tokens": tokens,
        "reason": reason,
        **more,
    }
