"""`ullage pin`: what it writes, shows and refuses."""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from tests.cli.conftest import MINUTE_MS, NOW_MS
from ullage.cli import keeping, main
from ullage.core.evidence.evidence_text import pin_text
from ullage.core.privacy.classes import CLASSES
from ullage.stores import SessionRecord, SqliteStore, open_reader
from ullage.stores.keeping import Keeper

if TYPE_CHECKING:
    from collections.abc import Callable

    from ullage.core.evidence.mutations import Item

    Screen = pytest.CaptureFixture[str]

CELLAR = "3f2a91c0-4b7e-4c1d-9f00-5d4c8ad23b11"
"""The newest session of the recorded database, of the project /home/ada/cellar."""


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """It is `NOW_MS`, and the working folder is an empty one; ids count up."""
    monkeypatch.setattr("ullage.cli.records.now_ms", lambda: NOW_MS)
    counter = iter(range(1, 999))
    monkeypatch.setattr("ullage.stores.keeping.secrets.token_hex", lambda _: f"{next(counter):016x}")
    monkeypatch.chdir(tmp_path)


def call(capsys: Screen, *arguments: str) -> tuple[int, str, str]:
    status = main(["pin", *arguments])
    printed = capsys.readouterr()
    return status, printed.out, printed.err


def ask(capsys: Screen, *arguments: str) -> Any:
    status, out, err = call(capsys, *arguments, "--json")
    assert status == 0, err
    return msgspec.json.decode(out)


def pins(data_dir: Path) -> list[Item]:
    reader = open_reader("sqlite", data_dir)
    try:
        return Keeper(reader).kept().of("pin")
    finally:
        reader.close()


def type_in(monkeypatch: pytest.MonkeyPatch, content: bytes) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(content)))


def test_a_pin_is_written_where_there_was_no_database(capsys: Screen, data_dir: Path) -> None:
    status, out, _ = call(capsys, "add", "Use  pnpm.", "--session", "s1")
    (pin,) = pins(data_dir)
    assert (status, out) == (0, f"Pinned {pin.id} (session: s1)\n")
    assert (pin.text, pin.scope, pin.session, pin.created_ms) == ("Use pnpm.", "session", "s1", NOW_MS)


def test_where_nothing_is_pinned_that_is_said(capsys: Screen, data_dir: Path) -> None:
    assert call(capsys, "list")[:2] == (0, "Nothing is pinned. `ullage pin add TEXT` does.\n")
    assert ask(capsys, "list") == {"pins": []}
    assert not data_dir.exists()


def test_a_pin_is_read_from_standard_input(
    capsys: Screen, data_dir: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    type_in(monkeypatch, "Größe\nzählt\n".encode())
    call(capsys, "add", "-", "--scope", "project")
    (pin,) = pins(data_dir)
    assert (pin.text, pin.project, pin.session) == ("Größe zählt", str(tmp_path.resolve()), None)
    type_in(monkeypatch, b"\xff")
    assert call(capsys, "add", "-", "--scope", "project")[0] == 1


@pytest.mark.usefixtures("recorded")
def test_without_a_flag_it_is_for_the_newest_session_and_that_is_said(capsys: Screen, data_dir: Path) -> None:
    status, out, err = call(capsys, "add", "Use pnpm.")
    assert (status, out) == (0, f"Pinned pin_{2:016x} (session: {CELLAR})\n")
    assert err == "ullage: It is for session 3f2a91c0 (claude-code, 3 min ago); --session ID names another.\n"
    assert pins(data_dir)[0].session == CELLAR


def test_a_session_of_the_working_folder_comes_before_a_newer_one(
    capsys: Screen, recorded: SqliteStore, data_dir: Path, tmp_path: Path
) -> None:
    store = SqliteStore(data_dir / "ullage.db", clock_ms=lambda: NOW_MS)
    times = {"started_ms": NOW_MS - 90 * MINUTE_MS, "last_ms": NOW_MS - 80 * MINUTE_MS}
    project = str(tmp_path.resolve())
    store.put_session(SessionRecord(id="mine", client="pi", identity="client", project=project, **times))
    store.close()
    call(capsys, "add", "Use pnpm.")
    assert pins(data_dir)[0].session == "mine"


@pytest.mark.usefixtures("recorded")
def test_a_session_is_named_by_the_beginning_of_its_id(capsys: Screen, data_dir: Path) -> None:
    assert ask(capsys, "add", "Use pnpm.", "--session", "3f2a")["pin"]["session"] == CELLAR
    assert ask(capsys, "add", "Use pnpm.", "--session", "0199")["pin"]["session"] == "0199c1d2e3f4a5b6c7d8e9"


@pytest.mark.usefixtures("recorded")
def test_a_session_that_is_to_come_may_be_named(capsys: Screen, data_dir: Path) -> None:
    _, _, err = call(capsys, "add", "Use pnpm.", "--session", "mine")
    assert err == "ullage: No session begins with 'mine' yet: it is for the one of exactly that id.\n"
    assert pins(data_dir)[0].session == "mine"
    whole = "01a22c66-15df-7423-8fb1-f0e8f9fcdb7e"  # as Pi gives it, whose session has sent nothing yet
    _, _, err = call(capsys, "add", "Use pnpm.", "--session", whole)
    assert err == ""


def test_without_any_session_one_must_be_named(capsys: Screen) -> None:
    status, _, err = call(capsys, "add", "Use pnpm.")
    assert status == 2
    assert "--scope project" in err


@pytest.mark.usefixtures("recorded")
def test_naming_a_project_is_enough_to_pin_for_it(capsys: Screen, data_dir: Path, tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    told = ask(capsys, "add", "Use pnpm.", "--project", "link", "--session", "3f2a")
    assert (told["pin"]["scope"], told["pin"]["session"]) == ("project", CELLAR)
    assert told["pin"]["project"] == str(tmp_path.resolve() / "real")


# Branches


def put_session_with_tip(data_dir: Path, tip: dict[str, Any] | None) -> None:
    store = SqliteStore(data_dir / "ullage.db", clock_ms=lambda: NOW_MS)
    times = {"started_ms": NOW_MS, "last_ms": NOW_MS}
    store.put_session(SessionRecord(id="s1", client="pi", identity="client", tip=tip, **times))
    store.close()


def test_a_branch_is_that_of_the_newest_request(capsys: Screen, data_dir: Path) -> None:
    put_session_with_tip(data_dir, {"head": ":1", "depth": 3, "chain": "ab", "last": f"{33:032x}"})
    pin = ask(capsys, "add", "Use pnpm.", "--scope", "branch")["pin"]
    assert (pin["scope"], pin["session"], pin["branch"]) == ("branch", "s1", f"2:{33:032x}")


@pytest.mark.parametrize("tip", [None, {"head": ":1", "depth": 3, "chain": "ab"}])
def test_a_branch_needs_messages_that_are_known(capsys: Screen, data_dir: Path, tip: dict[str, Any] | None) -> None:
    put_session_with_tip(data_dir, tip)
    status, _, err = call(capsys, "add", "Use pnpm.", "--scope", "branch")
    assert status == 1
    assert "Nothing is known of the messages of session 's1'" in err
    assert call(capsys, "add", "Use pnpm.", "--scope", "branch", "--session", "other")[0] == 1


# Changing


def test_the_same_text_is_not_written_twice(capsys: Screen, data_dir: Path) -> None:
    first = ask(capsys, "add", "Use pnpm.", "--session", "s1")
    again = ask(capsys, "add", "USE pnpm.", "--session", "s1")
    assert (first["written"], again["written"]) == (True, False)
    assert first["pin"] == again["pin"]
    assert (
        call(capsys, "add", "USE pnpm.", "--session", "s1")[1] == f"Kept already: {first['pin']['id']} (session: s1)\n"
    )
    assert len(pins(data_dir)) == 1


def test_what_supersedes_is_for_whom_the_other_was(capsys: Screen, data_dir: Path) -> None:
    old = ask(capsys, "add", "Use npm.", "--project", "/code/a", "--class", "internal")["pin"]
    new = ask(capsys, "add", "Use pnpm.", "--supersedes", old["id"][:20])["pin"]
    assert (new["scope"], new["project"], new["classification"]) == ("project", "/code/a", "internal")
    assert (new["supersedes"], pins(data_dir)[0].superseded_by) == (old["id"], new["id"])
    other = ask(capsys, "add", "Use bun.", "--supersedes", new["id"], "--session", "s2", "--class", "normal")["pin"]
    assert (other["scope"], other["session"], other["classification"]) == ("session", "s2", "normal")


def test_a_pin_is_taken_back_and_stays_in_the_log(capsys: Screen, data_dir: Path) -> None:
    pin = ask(capsys, "add", "Use pnpm.", "--session", "s1")["pin"]
    status, out, _ = call(capsys, "remove", pin["id"], "--reason", "moved to bun")
    assert (status, out) == (0, f"Removed {pin['id']} (session: s1)\n")
    assert ask(capsys, "list") == {"pins": []}
    (told,) = ask(capsys, "list", "--all")["pins"]
    assert (told["state"], told["reason"]) == ("deleted", "moved to bun")
    assert call(capsys, "remove", pin["id"])[0] == 1


@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        (("add", "  ", "--session", "s"), 2, "The pin is empty"),
        (("add", "x" * 4_001, "--session", "s"), 2, "4,001 characters; 4,000 is the most"),
        (("add", "[ullage pin] x", "--session", "s"), 2, "quotes what ullage itself put into a request"),
        (("add", "x", "--scope", "planet"), 2, "'planet' is not one of"),
        (("add", "x", "--class", "secret"), 2, "'secret' is not one of"),
        (("add", "x", "--supersedes", "nothing"), 1, "No pin begins with 'nothing'"),
        (("remove", "nothing"), 1, "`ullage pin list --all` names them"),
        (("show", "nothing"), 1, "No pin begins with 'nothing'"),
        (("add",), 2, "Missing argument"),
        (("unpin", "x"), 2, "No such command"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_what_cannot_be_done_is_said(capsys: Screen, arguments: tuple[str, ...], status: int, said: str) -> None:
    code, out, err = call(capsys, *arguments)
    assert (code, out) == (status, "")
    assert said in err


def test_the_limits_are_those_of_the_settings(capsys: Screen, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ULLAGE_MEMORY__PIN_CHARS", "9")
    assert "9 is the most" in call(capsys, "add", "Use pnpm..", "--session", "s1")[2]
    monkeypatch.setenv("ULLAGE_PLANNING__MAX_PINNED_TOKENS", "80")
    assert call(capsys, "add", "Use pnpm.", "--session", "s1")[0] == 0
    status, _, err = call(capsys, "add", "Use bun.", "--session", "s1")
    assert status == 1
    assert "80 is the most" in err


def test_a_store_that_forgets_keeps_nothing(capsys: Screen, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ULLAGE_STORE__URL", "memory")
    status, _, err = call(capsys, "add", "Use pnpm.", "--session", "s1")
    assert status == 1
    assert "in the running daemon alone" in err


def test_a_database_that_cannot_be_used_is_said_and_nothing_is_pinned(capsys: Screen, data_dir: Path) -> None:
    data_dir.mkdir(parents=True)
    (data_dir / "ullage.db").mkdir()
    status, out, err = call(capsys, "add", "Use pnpm.", "--session", "s1")
    assert (status, out) == (1, "")
    assert "ullage.db" in err


# What is shown


def test_the_list_of_pins(capsys: Screen, golden: Callable[[str, str], None]) -> None:
    call(
        capsys,
        "add",
        "Use pnpm, never npm or yarn: the lock file of another one has cost us a day.",
        "--session",
        CELLAR,
    )
    call(capsys, "add", "Answers in English \x1b[31mplease", "--project", "/home/ada/cellar", "--class", "internal")
    gone = ask(capsys, "add", "Tabs", "--project", "/home/ada/cellar")["pin"]["id"]
    call(capsys, "remove", gone)
    golden("pins.txt", call(capsys, "list")[1] + "\n" + call(capsys, "list", "--all")[1])


def test_lists_are_those_of_one_session_or_project(capsys: Screen) -> None:
    for flags in (("--session", "s1"), ("--session", "s2"), ("--project", "/code/a")):
        call(capsys, "add", "Use pnpm.", *flags)
    assert [pin["session"] for pin in ask(capsys, "list", "--session", "s2")["pins"]] == ["s2"]
    assert [pin["project"] for pin in ask(capsys, "list", "--project", "/code/a")["pins"]] == ["/code/a"]
    assert ask(capsys, "list", "--project", "/code")["pins"] == []


def test_one_pin_whole(capsys: Screen, golden: Callable[[str, str], None]) -> None:
    old = ask(capsys, "add", "Use npm.", "--project", "/home/ada/cellar", "--session", CELLAR)["pin"]["id"]
    flags = ("--supersedes", old, "--source", "e1", "--source", "e2", "--file", "notes.md", "--class", "internal")
    new = ask(capsys, "add", "Use pnpm.", *flags)["pin"]["id"]
    golden("pin.txt", call(capsys, "show", new)[1] + "\n" + call(capsys, "show", old)[1])
    assert ask(capsys, "show", new)["pin"]["source_ids"] == ["e1", "e2"]


def test_tokens_are_those_of_the_message_that_is_sent(capsys: Screen, data_dir: Path) -> None:
    call(capsys, "add", "Use pnpm.", "--session", "s1")
    assert f"~{-(-len(pin_text(pins(data_dir)[0])) // 4)} " in call(capsys, "list")[1]


def test_classes_are_the_same_here_and_in_the_core() -> None:
    assert keeping.CLASSES == CLASSES
