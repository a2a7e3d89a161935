"""Durable memory: claims that the user noted, offered to requests that they bear on (planner specification, section 15)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from msgspec import Struct

from ullage.core.errors import CallError, InputError

from .changes import (
    REASON_CHARS,
    Change,
    NewItem,
    Stamp,
    active_of,
    add,
    check_new,
    clean_text,
    end,
    need_active,
    report_kept,
)
from .keys import base_subject, derive_key, find_polarity, normalise_key
from .mutations import EXCLUDE, Mutation, source_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .mutations import Item, Kept, Source
    from .ranking import Ranked


class MemoryLimits(Struct, frozen=True, kw_only=True):
    """The most that one claim may have in characters (UTF-16 units), and that one request gets: claims, and their tokens."""

    chars: int = 2_000
    results: int = 12
    tokens: int = 8_000


class NewMemory(NewItem, frozen=True, kw_only=True):
    """A claim that is to be remembered. Without a `key` it gets one from what it says or supersedes, if that can be told."""

    claim: str
    key: str | None = None


def add_memory(kept: Kept, new: NewMemory, stamp: Stamp, *, limits: MemoryLimits) -> Change:
    """Remembers a claim, in the place of another one if `supersedes` names it. What its owner remembers already changes nothing.

    Raises `CallError` for what cannot be remembered at all; `InputError` for a claim that contradicts an active one of its owner,
    and for a superseded one that is none or no longer active.
    """
    if new.owner.scope == "branch":
        raise CallError(
            "A claim is for a session or a project, not for a branch.",
            hint="Say --scope session, or pin the text: `ullage pin add --scope branch`.",
            code="bad_scope",
        )
    checked = check_new(kept, "memory", new, new.claim, noun="claim", most_chars=limits.chars)
    key = _find_key(new.key, checked.text, checked.superseded)
    if checked.duplicate is not None:
        return Change(checked.duplicate, None)
    others = [item for item in active_of(kept, "memory", new.owner) if item is not checked.superseded]
    _check_conflict(others, checked.text, key)
    return add("memory", new, stamp, text=checked.text, key=key)


def end_memory(
    kept: Kept, memory_id: str, state: Literal["invalid", "expired"], stamp: Stamp, *, reason: str | None = None
) -> Change:
    """Says that a claim was wrong, or holds no longer. Raises `InputError` for one that is none or no longer active."""
    return end(need_active(kept, memory_id, "memory"), state, reason, stamp)


def change_source(kept: Kept, source: Source, op: str, stamp: Stamp, *, reason: str | None = None) -> Mutation | None:
    """The entry by which what a session has said of a project is told to other sessions no more, or again; `None` where it is so
    already. Raises `InputError` for a session that has said nothing of it, `CallError` for a reason that is too long."""
    project, session = source
    if all(source_of(item) != source for item in kept.of("memory")):
        raise InputError(
            f"Session {session[:100]} has said nothing of this project that is remembered.",
            hint="`ullage memory sources` names those that have.",
            code="not_found",
        )
    if (source in kept.excluded) == (op == EXCLUDE):
        return None
    said = clean_text(reason, "reason", REASON_CHARS) if reason else None
    return Mutation(
        id=stamp.mutation,
        created_ms=stamp.now_ms,
        kind="memory",
        scope="project",
        session=session,
        project=project,
        op=op,
        item=session,
        payload={"reason": said} if said else {},
    )


def find_conflict(others: Iterable[Item], claim: str, key: str | None) -> Item | None:
    """The one among the active memories of its owner that a claim contradicts: it has the same key, or says the opposite of the
    same subject (planner specification, section 15.2)."""
    subject, polarity = base_subject(claim), find_polarity(claim)

    def contradicts(item: Item) -> bool:
        if key is not None and item.key == key:
            return True
        opposite = find_polarity(item.text)
        return None not in (subject, polarity, opposite) and polarity != opposite and base_subject(item.text) == subject

    return next((item for item in others if contradicts(item)), None)


def report_memory(ranked: Ranked, tokens: int) -> dict[str, Any]:
    """A memory as a manifest tells of it."""
    return report_kept(ranked.item, tokens, ranked.reason, key=ranked.item.key, score=ranked.score)


def _find_key(given: str | None, claim: str, superseded: Item | None) -> str | None:
    """The key that is given, else that of what the claim says, else that of what it supersedes."""
    if given is None:
        return derive_key(claim) or (superseded.key if superseded is not None else None)
    key = normalise_key(given)
    if key is None:
        raise CallError("The key has no letter or digit.", hint="Name what the claim is about.", code="bad_key")
    return key


def _check_conflict(others: list[Item], claim: str, key: str | None) -> None:
    conflict = find_conflict(others, claim, key)
    if conflict is not None:
        why = f"has the key {key}, too" if key is not None and conflict.key == key else "says the opposite"
        raise InputError(
            f"{conflict.id} {why}.",
            hint=f"Supersede it (--supersedes {conflict.id}), or end it: `ullage memory invalidate {conflict.id}`.",
            code="conflict",
        )
