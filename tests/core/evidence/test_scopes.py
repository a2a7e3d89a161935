"""Which pins and memories are for a request."""

from __future__ import annotations

from typing import Any

import pytest

from tests.core.evidence.keeping import change
from ullage.core.evidence.mutations import replay
from ullage.core.evidence.scopes import applicable, find_entry, lies_on, name_branch, name_entry

CHAIN = (11, 22, 33)


def found(fields: dict[str, Any], **request: Any) -> bool:
    asked: dict[str, Any] = {"session": "s1", "project": "/code/a", "hashes": CHAIN} | request
    return bool(applicable(replay([change(**fields)]).items.values(), **asked))


def test_a_branch_is_named_by_its_last_message_and_where_that_stands() -> None:
    assert name_branch(CHAIN) == f"2:{33:032x}"
    assert name_branch(()) is None


@pytest.mark.parametrize(
    ("hashes", "on"),
    [
        (CHAIN, True),
        ((*CHAIN, 44), True),
        ((99, 98, 33, 97), True),
        ((11, 22), False),
        ((11, 22, 34), False),
        ((11, 33), False),
        ((), False),
    ],
)
def test_a_branch_goes_on_while_its_message_stands_where_it_stood(hashes: tuple[int, ...], on: bool) -> None:
    assert lies_on(name_branch(CHAIN), hashes) is on


@pytest.mark.parametrize(
    "name", [None, "", "2", ":", "x:y", "-1:0", f"999999999999999999:{33:032x}", "2:", f"2:{33:x}"]
)
def test_a_name_that_says_nothing_lies_nowhere(name: str | None) -> None:
    assert not lies_on(name, CHAIN)


def test_a_branch_that_a_client_names_by_an_entry_goes_on_where_the_client_says() -> None:
    pin = {"scope": "branch", "session": "s1", "branch": name_entry("e7")}
    assert found(pin, places={name_entry("e7")})
    assert not found(pin) and not found(pin, places={name_entry("e8")})
    assert not found(pin, session="s2", places={name_entry("e7")})
    assert (find_entry(name_entry("e7")), find_entry(name_branch(CHAIN)), find_entry(None)) == ("e7", None, None)


def test_what_is_for_a_session_goes_with_it_and_its_branches() -> None:
    pin = {"scope": "session", "session": "s1"}
    assert found(pin)
    assert found(pin, hashes=(), project=None)
    assert not found(pin, session="s2")
    assert not found(pin, session=None)
    assert found(pin, session="s2", ancestors=("s0", "s1"))


def test_what_is_for_a_branch_goes_with_it_alone() -> None:
    pin = {"scope": "branch", "session": "s1", "branch": name_branch(CHAIN)}
    assert found(pin, hashes=(*CHAIN, 44))
    assert not found(pin, hashes=(11, 22, 34, 44))
    assert found(pin, session="s2", ancestors=("s1",))


def test_another_session_with_the_same_words_in_the_same_place_is_another_branch() -> None:
    """Two sessions may both say "continue" in their ninth message."""
    pin = {"scope": "branch", "session": "s1", "branch": name_branch(CHAIN)}
    assert not found(pin, session="s2")


def test_what_is_for_a_project_goes_with_its_folder_in_any_session() -> None:
    pin = {"scope": "project", "session": "s1", "project": "/code/a"}
    assert found(pin, session="s9")
    assert found(pin, session=None)
    assert not found(pin, project="/code/a/b")
    assert not found(pin, project=None)


@pytest.mark.parametrize("scope", ["session", "branch", "project"])
def test_what_does_not_say_whom_it_is_for_is_for_nobody(scope: str) -> None:
    pin = {"scope": scope, "session": None, "branch": None, "project": None}
    assert not found(pin)
    assert not found(pin, session=None, project=None)


def test_what_has_ended_goes_with_nothing() -> None:
    log = [change(), change("m2", op="status", payload={"status": "deleted"}, created_ms=2)]
    assert applicable(replay(log).items.values(), session="s1", project=None, hashes=()) == ()


def test_what_applies_keeps_its_order() -> None:
    log = [change(f"m{number}", item=f"p{number}", created_ms=9 - number) for number in range(3)]
    items = applicable(replay(log).items.values(), session="s1", project=None, hashes=())
    assert [item.id for item in items] == ["p2", "p1", "p0"]
