"""`ullage memory`: what it writes, finds and refuses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from tests.cli.conftest import NOW_MS
from ullage.cli import main

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Screen = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """It is `NOW_MS`, and the working folder is an empty one; ids count up."""
    monkeypatch.setattr("ullage.cli.records.now_ms", lambda: NOW_MS)
    counter = iter(range(1, 999))
    monkeypatch.setattr("ullage.stores.keeping.secrets.token_hex", lambda _: f"{next(counter):016x}")
    monkeypatch.chdir(tmp_path)


def call(capsys: Screen, *arguments: str) -> tuple[int, str, str]:
    status = main(["memory", *arguments])
    printed = capsys.readouterr()
    return status, printed.out, printed.err


def ask(capsys: Screen, *arguments: str) -> Any:
    status, out, err = call(capsys, *arguments, "--json")
    assert status == 0, err
    return msgspec.json.decode(out)


def add(capsys: Screen, claim: str, *flags: str) -> dict[str, Any]:
    memory: dict[str, Any] = ask(capsys, "add", claim, *flags)["memory"]
    return memory


def test_a_claim_is_for_the_project_of_the_working_folder(capsys: Screen, tmp_path: Path) -> None:
    status, out, err = call(capsys, "add", "Build Runner = vitest")
    assert (status, err) == (0, "")
    assert out == f"Remembered mem_{2:016x} (project: {tmp_path.resolve()})\n"
    (memory,) = ask(capsys, "list")["memory"]
    assert (memory["key"], memory["scope"], memory["project"]) == ("build-runner", "project", str(tmp_path.resolve()))


@pytest.mark.usefixtures("recorded")
def test_a_claim_may_be_for_a_session(capsys: Screen) -> None:
    assert add(capsys, "x: y", "--session", "0199")["session"] == "0199c1d2e3f4a5b6c7d8e9"
    assert add(capsys, "x: z", "--scope", "session")["session"] == "3f2a91c0-4b7e-4c1d-9f00-5d4c8ad23b11"


def test_the_same_claim_is_not_written_twice(capsys: Screen) -> None:
    add(capsys, "Build Runner = vitest")
    assert ask(capsys, "add", "build runner = VITEST")["written"] is False


def test_a_claim_that_contradicts_another_is_refused_with_the_way_out(capsys: Screen) -> None:
    first = add(capsys, "Build Runner = vitest")
    status, out, err = call(capsys, "add", "build runner: jest")
    assert (status, out) == (1, "")
    assert f"{first['id']} has the key build-runner, too" in err
    assert f"ullage memory invalidate {first['id']}" in err
    assert add(capsys, "build runner: jest", "--supersedes", first["id"])["supersedes"] == first["id"]


def test_a_claim_takes_the_place_of_another_for_whom_that_was(capsys: Screen) -> None:
    old = add(capsys, "Build Runner = vitest", "--project", "/code/a", "--class", "sensitive")
    new = ask(capsys, "supersede", old["id"][:16], "We use jest")["memory"]
    assert (new["project"], new["classification"], new["key"]) == ("/code/a", "sensitive", "build-runner")
    states = {memory["id"]: memory["state"] for memory in ask(capsys, "list", "--all")["memory"]}
    assert states == {old["id"]: "superseded", new["id"]: "active"}


@pytest.mark.parametrize(
    ("verb", "state", "done"), [("invalidate", "invalid", "Invalidated"), ("expire", "expired", "Expired")]
)
def test_a_claim_ends_with_a_reason(capsys: Screen, verb: str, state: str, done: str) -> None:
    memory = add(capsys, "Build Runner = vitest", "--session", "s1")
    status, out, _ = call(capsys, verb, memory["id"], "--reason", "was tried")
    assert (status, out) == (0, f"{done} {memory['id']} (session: s1)\n")
    assert ask(capsys, "list") == {"memory": []}
    told = ask(capsys, "show", memory["id"])["memory"]
    assert (told["state"], told["reason"]) == (state, "was tried")
    assert call(capsys, verb, memory["id"])[0] == 1


def test_what_a_request_would_be_told_comes_best_first(capsys: Screen) -> None:
    add(capsys, "Build Runner = vitest", "--session", "s1")
    add(capsys, "Deploy on Fridays")
    add(capsys, "alpha beta gamma delta vitest", "--session", "s1")
    found = ask(capsys, "find", "build-runner vitest alpha beta gamma")["memory"]
    assert [(memory["score"], memory["match"]) for memory in found] == [(107, "key, 2 terms"), (86, "4 terms")]
    assert [memory["score"] for memory in ask(capsys, "find", "continue")["memory"]] == [38, 38, 34]
    assert len(ask(capsys, "find", "continue", "--session", "s1")["memory"]) == 2


def test_where_nothing_is_remembered_that_is_said(capsys: Screen) -> None:
    assert call(capsys, "list")[1] == "Nothing is remembered. `ullage memory add CLAIM` does.\n"
    assert call(capsys, "find", "x")[1] == "Nothing is remembered.\n"
    assert ask(capsys, "find", "x") == {"memory": []}


def test_the_list_the_search_and_one_claim(capsys: Screen, golden: Callable[[str, str], None]) -> None:
    add(capsys, "Build Runner = vitest", "--project", "/home/ada/cellar", "--source", "e1")
    add(capsys, "The staging database is reset every night, so nothing there is kept", "--session", "3f2a91c0")
    wrong = add(capsys, "port defaults to 8080", "--project", "/home/ada/cellar")
    call(capsys, "invalidate", wrong["id"], "--reason", "it is 8484")
    screens = [("list",), ("list", "--all"), ("find", "is vitest the build runner?"), ("show", wrong["id"])]
    golden("memory.txt", "\n".join(call(capsys, *screen)[1] for screen in screens))


@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        (("add", ""), 2, "The claim is empty"),
        (("add", "x" * 2_001), 2, "2,001 characters; 2,000 is the most"),
        (("add", "x: y", "--key", "!!"), 2, "The key has no letter or digit"),
        (("add", "x: y", "--scope", "branch"), 2, "'branch' is not one of"),
        (("add", "[ullage memory] x"), 2, "quotes what ullage itself put into a request"),
        (("supersede", "nothing", "x: y"), 1, "No memory begins with 'nothing'"),
        (("invalidate", "nothing"), 1, "`ullage memory list --all` names them"),
        (("expire", "nothing"), 1, "No memory begins with 'nothing'"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_what_cannot_be_done_is_said(capsys: Screen, arguments: tuple[str, ...], status: int, said: str) -> None:
    code, out, err = call(capsys, *arguments)
    assert (code, out) == (status, "")
    assert said in err


def test_the_limits_are_those_of_the_settings(capsys: Screen, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ULLAGE_MEMORY__CLAIM_CHARS", "4")
    assert "4 is the most" in call(capsys, "add", "x: yz")[2]


def test_what_a_session_has_said_of_a_project_is_told_excluded_and_included(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["memory", "sources"]) == 0
    assert "Nothing that any session" in capsys.readouterr().out
    assert main(["memory", "exclude", "s1"]) == 1
    main(["memory", "add", "port: 8484", "--scope", "project", "--session", "s1"])
    capsys.readouterr()
    assert main(["memory", "exclude", "s1", "--reason", "old", "--json"]) == 0
    assert msgspec.json.decode(capsys.readouterr().out) == {"session": "s1", "excluded": True, "written": True}
    main(["memory", "exclude", "s1"])
    assert "is excluded already" in capsys.readouterr().out
    main(["memory", "sources", "--json"])
    (source,) = msgspec.json.decode(capsys.readouterr().out)["sources"]
    assert (source["excluded"], source["reason"], source["active"], source["claims"]) == (True, "old", 1, 1)
    main(["memory", "include", "s1"])
    assert "is told to others" in capsys.readouterr().out
