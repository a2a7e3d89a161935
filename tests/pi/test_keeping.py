"""Entries of a session's file that say what is to be kept: whoever wrote the file, it harms nobody else."""

from __future__ import annotations

from typing import Any

import pytest

PIN = {
    "id": "mut_1",
    "created_ms": 1,
    "kind": "pin",
    "scope": "session",
    "session": "s1",
    "op": "add",
    "item": "pin_1",
    "payload": {"text": "Never push."},
}


@pytest.mark.parametrize(
    "entry",
    [None, {"text": "x"}, {**PIN, "created_ms": 10**15}, {**PIN, "created_ms": 2**63}, {**PIN, "created_ms": -1}],
    ids=["nothing", "of another form", "after the year 9999", "beyond 64 bits", "before 1970"],
)
async def test_what_cannot_be_read_is_left_out_and_the_others_are_taken_in(open_door: Any, entry: Any) -> None:
    door = await open_door()
    good = {**PIN, "id": "mut_2", "item": "pin_2"}
    assert await door.ask("kept", {"session": "s1", "entries": [entry, good]}) == {"missing": []}
    assert [one.id for one in door.daemon.store.mutations()] == ["mut_2"]


async def test_a_time_of_ds4_s_that_no_calendar_has_is_left_out(open_door: Any) -> None:
    door = await open_door()
    item = {"id": "p", "scope": "session", "content": "Never push."}
    data = {"schemaVersion": 1, "mutationId": "m", "createdAt": 2**53, "operation": "add", "item": item}
    await door.ask("kept", {"session": "s1", "custom": [{"custom_type": "ds4-context-pin-v1", "data": data}]})
    assert not list(door.daemon.store.mutations())


@pytest.mark.parametrize(("trusted", "kept"), [(True, ["/project"]), (False, [])])
async def test_a_file_in_a_folder_that_is_not_trusted_keeps_nothing_for_its_project(
    open_door: Any, trusted: bool, kept: list[str]
) -> None:
    door = await open_door()
    entry = {**PIN, "scope": "project", "project": "/project"}
    said = {"session": "s1", "cwd": "/project", "trusted": trusted, "entries": [entry]}
    assert await door.ask("kept", said) == {"missing": []}
    assert [one.project for one in door.daemon.store.mutations()] == kept
