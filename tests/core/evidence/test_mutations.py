"""What the log of pins and memory amounts to."""

from __future__ import annotations

from typing import Any

import pytest

from tests.core.evidence.keeping import change
from ullage.core.evidence.mutations import Kept, Mutation, replay


def status(name: str, item: str, status: str, *, created_ms: int = 2, **fields: Any) -> Mutation:
    return change(name, op="status", item=item, created_ms=created_ms, payload={"status": status}, **fields)


def memory(name: str, item: str, key: str, created_ms: int, **fields: Any) -> Mutation:
    payload = {"text": f"{key} is {item}", "key": key, **fields.pop("payload", {})}
    return change(name, kind="memory", item=item, created_ms=created_ms, payload=payload, **fields)


def states(kept: Kept) -> dict[str, str]:
    return {item.id: item.state for item in kept.items.values()}


def test_nothing_amounts_to_nothing() -> None:
    assert replay([]) == Kept()


def test_an_added_item_has_all_that_was_said_of_it() -> None:
    said = {
        "text": "Use pnpm.",
        "classification": "internal",
        "source_ids": ["e1", "e2"],
        "source_file": "notes.md",
    }
    item = replay([change(branch="3:ab", scope="branch", payload=said)]).find("p1")
    assert item is not None
    assert (item.text, item.classification, item.source_ids) == ("Use pnpm.", "internal", ("e1", "e2"))
    assert (item.source_file, item.branch, item.scope, item.mutation) == ("notes.md", "3:ab", "branch", "m1")
    assert (item.state, item.reason, item.key) == ("active", None, None)


def test_a_status_ends_what_it_names_with_its_reason() -> None:
    kept = replay([change(), change("m2", op="status", payload={"status": "deleted", "reason": "done"}, created_ms=2)])
    item = kept.items["p1"]
    assert (item.state, item.reason, item.is_active) == ("deleted", "done", False)
    assert kept.active("pin") == []
    assert kept.of("pin") == [item]


def test_a_status_that_is_older_than_its_item_applies_all_the_same() -> None:
    """Clocks differ between processes (planner specification, section 14.3)."""
    assert states(replay([status("m0", "p1", "deleted", created_ms=0), change(created_ms=5)])) == {"p1": "deleted"}


def test_of_several_endings_the_last_says_what_became_of_it() -> None:
    log = [
        memory("m1", "a", "k", 1),
        status("m3", "a", "expired", kind="memory", created_ms=3),
        status("m2", "a", "invalid", kind="memory", created_ms=2),
    ]
    assert states(replay(log)) == {"a": "expired"}


def test_what_supersedes_takes_the_place_of_what_it_names() -> None:
    kept = replay([change(), change("m2", op="supersede", item="p2", payload={"text": "Use bun.", "supersedes": "p1"})])
    assert states(kept) == {"p1": "superseded", "p2": "active"}
    assert kept.items["p1"].superseded_by == "p2"
    assert kept.items["p2"].supersedes == "p1"


def test_items_are_in_the_order_in_which_they_were_created_then_of_session_and_id() -> None:
    log = [
        change("m9", item="late", created_ms=9),
        change("m2", item="b", created_ms=1, session="s2"),
        change("m3", item="a", created_ms=1, session="s1"),
        change("m1", item="c", created_ms=1, session="s2"),
        change("m4", item="d", created_ms=1, session=None),
    ]
    assert list(replay(log).items) == ["d", "a", "c", "b", "late"]


def test_of_two_changes_with_one_id_the_earlier_counts() -> None:
    log = [change(payload={"text": "later"}, created_ms=2), change(payload={"text": "earlier"}, created_ms=1)]
    assert replay(log) == replay(log[::-1])
    assert replay(log).items["p1"].text == "earlier"


def test_an_item_that_is_added_twice_is_what_it_was_at_first() -> None:
    """As when a log is imported from two places."""
    kept = replay(
        [
            change("m1"),
            change("m2", item="old", created_ms=1),
            change("m3", op="supersede", created_ms=3, payload={"text": "other", "supersedes": "old"}),
        ]
    )
    assert kept.items["p1"].text == "Use pnpm."
    assert states(kept) == {"p1": "active", "old": "active"}


@pytest.mark.parametrize(
    "odd",
    [
        change("m2", kind="note", item="p2"),
        change("m2", scope="planet", item="p2"),
        change("m2", op="transmute"),
        change("m2", payload={}, item="p2"),
        change("m2", payload={"text": 7}, item="p2"),
        change("m2", payload={"text": "x", "source_ids": "e1"}, item="p2"),
        status("m2", "p1", "active"),
        status("m2", "p1", "superseded"),
        status("m2", "p1", "expired"),
        status("m2", "p1", "deleted", kind="memory"),
        change("m2", op="status", payload={"status": "deleted", "reason": 7}),
        status("m2", "nothing", "deleted"),
        change("m2", op="supersede", item="p2", payload={"text": "x"}, kind="note"),
    ],
    ids=lambda odd: f"{odd.op}-{odd.kind}-{odd.scope}-{odd.payload}",
)
def test_what_this_version_does_not_know_is_left_out(odd: Mutation) -> None:
    """A newer version may have written it."""
    assert states(replay([change(), odd])) == {"p1": "active"}


def test_a_class_that_is_not_known_is_the_strictest() -> None:
    """A later version may have more of them; a guess must not send to a provider what it may not see."""
    kept = replay([change(payload={"text": "x", "classification": "secret"})])
    assert kept.items["p1"].classification == "local-only"


# Two memories with one key (planner specification, section 15.2)


def test_of_two_memories_with_one_key_the_later_is_invalid_and_says_who_won() -> None:
    kept = replay([memory("m2", "b", "runner", 2), memory("m1", "a", "runner", 1)])
    assert states(kept) == {"a": "active", "b": "invalid"}
    assert kept.items["b"].reason == "conflict: a has the key runner"


def test_another_owner_may_have_the_same_key() -> None:
    here = memory("m1", "a", "runner", 1)
    log = [
        here,
        memory("m2", "b", "runner", 2, session="s2"),
        memory("m3", "c", "runner", 3, scope="project", project="/code/a"),
        memory("m4", "d", "runner", 4, scope="project", project="/code/b"),
    ]
    assert set(states(replay(log)).values()) == {"active"}


def test_a_key_is_free_again_once_its_holder_has_ended() -> None:
    log = [
        memory("m1", "a", "runner", 1),
        status("m2", "a", "expired", kind="memory", created_ms=2),
        memory("m3", "b", "runner", 3),
        memory("m4", "c", "runner", 4),
    ]
    assert states(replay(log)) == {"a": "expired", "b": "active", "c": "invalid"}


def test_what_lost_its_key_does_not_come_back_when_the_winner_ends() -> None:
    log = [
        memory("m1", "a", "runner", 1),
        memory("m2", "b", "runner", 2),
        status("m3", "a", "expired", kind="memory", created_ms=3),
    ]
    assert states(replay(log)) == {"a": "expired", "b": "invalid"}


def test_what_supersedes_may_have_the_key_of_what_it_supersedes() -> None:
    log = [
        memory("m1", "a", "runner", 1),
        memory("m2", "b", "runner", 2, op="supersede", payload={"supersedes": "a"}),
        memory("m3", "c", "runner", 3),
    ]
    assert states(replay(log)) == {"a": "superseded", "b": "active", "c": "invalid"}


def test_a_memory_without_a_key_conflicts_with_none() -> None:
    log = [change(f"m{number}", kind="memory", item=f"i{number}", created_ms=number) for number in range(3)]
    assert set(states(replay(log)).values()) == {"active"}
