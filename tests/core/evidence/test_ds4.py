"""Planner specification, sections 14 and 15: what DS4 has pinned and noted in a session's file, in our words."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from ullage.core.evidence.ds4 import Entry, read_changes
from ullage.core.evidence.mutations import Kept, Kind, Mutation, replay
from ullage.core.evidence.scopes import applicable

BASE = {"schemaVersion": 1, "createdAt": 1_750_000_000_000}


def pin(name: str, text: str = "Never push.", scope: str = "session", **item: Any) -> Entry:
    held = {"id": name, "scope": scope, "content": text, "createdAt": 1, **item}
    return Entry(kind="pin", data={**BASE, "mutationId": f"add-{name}", "operation": "add", "item": held})


def memory(name: str, claim: str, scope: str = "session", **item: Any) -> Entry:
    held = {"id": name, "scope": scope, "claim": claim, "createdAt": 1, "sourceEntryIds": [], **item}
    return Entry(kind="memory", data={**BASE, "mutationId": f"add-{name}", "operation": "add", "item": held})


def instead(entry: Entry, previous: str) -> Entry:
    return Entry(kind=entry.kind, data={**entry.data, "operation": "supersede", "previousId": previous})


def ended(kind: Kind, name: str, status: str, **more: Any) -> Entry:
    said = {**BASE, "createdAt": 1_750_000_000_001, "mutationId": f"end-{name}", "operation": "status"}
    return Entry(kind=kind, data={**said, f"{kind}Id": name, "status": status, **more})


def kept(*entries: Entry, session: str = "s1", project: str | None = "/project") -> Kept:
    return replay(read_changes(entries, session=session, project=project))


def texts(found: Kept) -> list[str]:
    return [item.text for item in found.items.values() if item.is_active]


def test_a_pin_is_ours_with_all_that_is_said_of_it() -> None:
    given = pin("p1", "Never  push.\n", classification="internal", sourceEntryId="e1", sourceFile="a.md")
    (item,) = kept(given).of("pin")
    assert (item.text, item.scope, item.session, item.classification) == ("Never push.", "session", "s1", "internal")
    assert (item.source_ids, item.source_file, item.created_ms) == (("e1",), "a.md", BASE["createdAt"])
    assert item.id.startswith("pin_") and item.id.endswith("@s1")


def test_a_memory_keeps_its_key_and_sources() -> None:
    given = memory("m1", "Build runner = vitest", key="Build Runner", sourceEntryIds=["e1", "e2"])
    (item,) = kept(given).of("memory")
    assert (item.text, item.key, item.source_ids) == ("Build runner = vitest", "build-runner", ("e1", "e2"))


@pytest.mark.parametrize(("kind", "status"), [("pin", "deleted"), ("memory", "invalid"), ("memory", "expired")])
def test_what_it_has_ended_has_ended(kind: str, status: str) -> None:
    given = pin("x") if kind == "pin" else memory("x", "A is b")
    (item,) = kept(given, ended(kind, "x", status, reason="done")).items.values()
    assert (item.state, item.reason) == (status, "done")


def test_what_it_has_superseded_has_an_heir() -> None:
    given = [pin("p1"), instead(pin("p2", "Push on Fridays."), "p1"), ended("pin", "p2", "deleted")]
    found = kept(*given[:2]).of("pin")
    assert [(item.text, item.state) for item in found] == [
        ("Never push.", "superseded"),
        ("Push on Fridays.", "active"),
    ]
    assert found[0].superseded_by == found[1].id
    assert not texts(kept(*given))


def test_whatever_the_order_the_same_is_kept() -> None:
    given = [
        pin("p1"),
        instead(pin("p2", "Push on Fridays."), "p1"),
        memory("m1", "A is b"),
        ended("memory", "m1", "expired"),
    ]
    expected = {item.id: item.state for item in kept(*given).items.values()}
    for order in itertools.permutations(given):
        assert {item.id: item.state for item in kept(*order, *order).items.values()} == expected


@pytest.mark.parametrize("project", [None, "/elsewhere"], ids=["not trusted", "elsewhere"])
def test_what_is_for_a_project_is_for_its_own_trusted_folder_alone(project: str | None) -> None:
    given = [
        pin("p1", scope="project", projectPath="/project"),
        memory("m1", "A is b", scope="project", projectPath="/project"),
    ]
    assert [item.project for item in kept(*given).items.values()] == ["/project"] * 2
    assert not kept(*given, session="s1", project=project).items
    assert not read_changes([*given, ended("pin", "p1", "deleted")], session="s1", project=project)


def test_what_a_project_has_is_the_same_in_all_its_sessions() -> None:
    given = pin("p1", scope="project", projectPath="/project")
    here, there = (read_changes([given], session=name, project="/project") for name in ("s1", "s2"))
    assert here[0].id == there[0].id
    end = read_changes([ended("pin", "p1", "deleted")], session="s2", project="/project")
    (item,) = replay([*here, *end]).of("pin")
    assert item.state == "deleted"


def test_a_fork_has_what_its_file_holds_for_itself() -> None:
    """What ends in the fork goes on in the session that it came from."""
    given = [pin("p1"), pin("p2", scope="branch", branchLeafId="e7")]
    here = read_changes(given, session="s1", project=None)
    fork = read_changes([*given, ended("pin", "p1", "deleted")], session="s2", project=None)
    found = replay([*here, *fork]).active("pin")
    assert [(item.session, item.scope) for item in found] == [("s1", "session"), ("s1", "branch"), ("s2", "branch")]


def test_a_pin_of_a_branch_holds_where_its_entry_is_on_the_branch() -> None:
    (item,) = kept(pin("p1", scope="branch", branchLeafId="e7")).of("pin")

    def holds(*places: str) -> bool:
        return bool(applicable([item], session="s1", project=None, hashes=(), places=places))

    assert holds("entry:e7", "entry:e9")
    assert not holds() and not holds("entry:e9")


@pytest.mark.parametrize(
    "entry",
    [
        Entry(kind="pin", data=None),
        Entry(kind="pin", data={}),
        Entry(kind="pin", data={**pin("p1").data, "schemaVersion": 2}),
        Entry(kind="pin", data={**pin("p1").data, "operation": "move"}),
        Entry(kind="pin", data={**pin("p1").data, "item": None}),
        Entry(kind="pin", data={**pin("p1").data, "operation": "supersede"}),
        pin("p1", " "),
        pin("p1", "[ullage pin] Pinned by the user."),
        pin("p1", scope="planet"),
        pin("p1", scope="branch"),
        memory("m1", "A is b", scope="branch", branchLeafId="e7"),
        ended("pin", "p1", "superseded"),
        ended("memory", "", "expired"),
        Entry(kind="pin", data={**pin("p1").data, "createdAt": "yesterday"}),
        Entry(kind="pin", data={**pin("p1").data, "createdAt": 1e300}),
    ],
)
def test_what_it_would_not_write_is_left_out(entry: Entry) -> None:
    assert not kept(entry, project=None).items
    assert texts(kept(entry, pin("p9", "Still read."))) == ["Still read."]


def test_an_unknown_class_may_go_nowhere() -> None:
    (item,) = kept(pin("p1", classification="secret-of-a-later-version")).of("pin")
    assert item.classification == "local-only"


def test_the_same_entries_give_the_same_changes() -> None:
    given = [pin("p1"), memory("m1", "A is b"), ended("pin", "p1", "deleted")]
    first, second = (read_changes(given, session="s1", project="/p") for _ in range(2))
    assert first == second and all(isinstance(one, Mutation) for one in first)
