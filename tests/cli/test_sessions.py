"""`ullage sessions`: what it lists and shows, and what it says where there is nothing."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from ullage.cli import main
from ullage.stores import SessionRecord, SqliteStore

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Golden = Callable[[str, str], None]
    Screen = pytest.CaptureFixture[str]


def call(capsys: Screen, *arguments: str) -> tuple[int, str, str]:
    status = main(["sessions", *arguments])
    printed = capsys.readouterr()
    return status, printed.out, printed.err


def call_json(capsys: Screen, *arguments: str) -> Any:
    status, out, _ = call(capsys, *arguments, "--json")
    assert status == 0
    return msgspec.json.decode(out)


@pytest.mark.usefixtures("recorded")
def test_sessions_are_listed_with_the_newest_first(capsys: Screen, golden: Golden) -> None:
    status, out, _ = call(capsys)
    assert status == 0
    golden("sessions.txt", out)


def test_without_projects_there_is_no_column_for_them(capsys: Screen, data_dir: Path) -> None:
    store = SqliteStore(data_dir / "ullage.db", clock_ms=lambda: 0)
    store.put_session(SessionRecord(id="one", client="pi", identity="client", started_ms=0, last_ms=0))
    store.close()
    assert "project" not in call(capsys)[1]


@pytest.mark.usefixtures("recorded")
def test_list_is_what_the_bare_command_does(capsys: Screen) -> None:
    assert call(capsys, "list") == call(capsys)


@pytest.mark.usefixtures("recorded")
def test_a_session_is_shown_with_its_calls_and_events(capsys: Screen, golden: Golden) -> None:
    _, out, _ = call(capsys, "show", "3f2a91c0-4b7e-4c1d-9f00-5d4c8ad23b11")
    golden("session.txt", out)


@pytest.mark.usefixtures("recorded")
def test_a_session_of_a_sub_agent_names_its_parent(capsys: Screen, golden: Golden) -> None:
    _, out, _ = call(capsys, "show", "3f2a91c0/exp")
    golden("session_of_agent.txt", out)


@pytest.mark.usefixtures("recorded")
def test_what_came_over_the_wire_cannot_steer_the_terminal(capsys: Screen) -> None:
    for arguments in ([], ["show", "0199"]):
        _, out, _ = call(capsys, *arguments)
        assert "\x1b" not in out
        assert "gpt-5·[31m" in out


@pytest.mark.usefixtures("recorded")
def test_the_list_for_programs_has_whole_ids_and_iso_times(capsys: Screen) -> None:
    first = call_json(capsys)["sessions"][0]
    assert first == {
        "id": "3f2a91c0-4b7e-4c1d-9f00-5d4c8ad23b11",
        "client": "claude-code",
        "client_version": "2.1.4",
        "identity": "client",
        "agent": None,
        "parent": None,
        "started_at": "2026-05-28T17:06:40.000Z",
        "last_at": "2026-05-28T20:23:40.000Z",
        "calls": 3,
        "provider": "anthropic",
        "model": "claude-opus-4-8",
        "project": "/home/ada/cellar",
        "targets": ["anthropic/claude-haiku-4-5", "anthropic/claude-opus-4-8"],
        "prompt_tokens": 84500,
        "prompt_kind": "usage",
    }


@pytest.mark.usefixtures("recorded")
def test_a_prompt_is_marked_as_an_estimate_where_the_provider_reported_nothing(capsys: Screen) -> None:
    sessions = call_json(capsys)["sessions"]
    assert [(s["prompt_tokens"], s["prompt_kind"]) for s in sessions[1:]] == [(612345, "estimate"), (None, None)]


@pytest.mark.usefixtures("recorded")
def test_a_session_for_programs_has_its_calls_without_their_reports(capsys: Screen) -> None:
    shown = call_json(capsys, "show", "3f2a91c0-4b7e-4c1d-9f00-5d4c8ad23b11")
    assert [found["kind"] for found in shown["newest_calls"]] == ["conversation", "title", "conversation"]
    assert all("context" not in found for found in shown["newest_calls"])
    assert shown["events"] == [
        {
            "created_at": "2026-05-28T20:06:40.000Z",
            "kind": "rewrite",
            "session": "3f2a91c0-4b7e-4c1d-9f00-5d4c8ad23b11",
            "call": "019e6ffe0000c0ffee000",
            "project": None,
            "details": {"before": 80, "after": 12},
        }
    ]


@pytest.mark.usefixtures("recorded")
def test_a_limit_keeps_the_newest(capsys: Screen) -> None:
    assert len(call_json(capsys, "--limit", "2")["sessions"]) == 2
    assert len(call_json(capsys, "show", "0199", "--limit", "1")["newest_calls"]) == 1


@pytest.mark.usefixtures("recorded")
@pytest.mark.parametrize("folder", ["/home/ada/cellar", "/home/ada", "/home/ada/cellar/../cellar"])
def test_sessions_of_one_project_are_found_by_its_folder_or_one_above(capsys: Screen, folder: str) -> None:
    for arguments in (["--project", folder], ["list", "--project", folder]):
        [session] = call_json(capsys, *arguments)["sessions"]
        assert session["project"] == "/home/ada/cellar"


@pytest.mark.usefixtures("recorded")
def test_a_folder_without_sessions_is_named(capsys: Screen) -> None:
    """A name that begins alike is another folder, and so is one below."""
    for folder in ("/home/ada/cell", "/home/ada/cellar/rack"):
        assert call(capsys, "--project", folder) == (0, f"No session of a project in {folder}.\n", "")


def test_a_link_to_a_project_names_it_too(capsys: Screen, data_dir: Path, tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    store = SqliteStore(data_dir / "ullage.db", clock_ms=lambda: 0)
    for number, name in enumerate(("real", "link")):
        store.put_session(
            SessionRecord(
                id=name, client="pi", identity="client", started_ms=number, last_ms=number, project=str(tmp_path / name)
            )
        )
    store.close()
    found = call_json(capsys, "--project", str(tmp_path / "link"))["sessions"]
    assert [session["id"] for session in found] == ["link", "real"]


@pytest.mark.usefixtures("recorded")
def test_a_beginning_means_the_session_rather_than_its_sub_agents(capsys: Screen) -> None:
    assert call_json(capsys, "show", "3f2")["id"] == "3f2a91c0-4b7e-4c1d-9f00-5d4c8ad23b11"


@pytest.mark.usefixtures("recorded")
def test_a_beginning_that_fits_several_names_them(capsys: Screen) -> None:
    status, out, err = call(capsys, "show", "")
    assert (status, out) == (1, "")
    assert err.startswith("ullage: Several sessions begin with '': 0199c1d2e3f4a5b6c7d8e9, 3f2a91c0-")
    assert err.endswith("hint: Give more of the id.\n")


@pytest.mark.usefixtures("recorded")
def test_a_beginning_that_fits_none_says_so(capsys: Screen) -> None:
    status, out, err = call(capsys, "show", "zz")
    assert (status, out) == (1, "")
    assert err == "ullage: No session begins with 'zz'.\nhint: `ullage sessions` lists what is known.\n"


def test_without_a_database_the_next_step_is_told_and_nothing_is_made(capsys: Screen, data_dir: Path) -> None:
    assert call(capsys) == (1, "", f"ullage: No database yet at {data_dir}/ullage.db.\nhint: Start `ullage serve`.\n")
    assert not data_dir.exists()


def test_an_empty_database_says_what_to_do(capsys: Screen, data_dir: Path) -> None:
    SqliteStore(data_dir / "ullage.db", clock_ms=lambda: 0).close()
    status, out, _ = call(capsys)
    assert (status, out.split(".")[0]) == (0, "No sessions yet")
    assert call_json(capsys) == {"sessions": []}


def test_another_folder_can_be_named(capsys: Screen, recorded: SqliteStore, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    os.rename(recorded.path.parent, elsewhere)  # noqa: PTH104 - the plain call is what is tested
    assert call(capsys)[0] == 1
    assert len(call_json(capsys, "--data-dir", str(elsewhere))["sessions"]) == 3


def test_a_store_in_memory_cannot_be_listed(capsys: Screen, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ULLAGE_STORE__URL", "memory")
    status, _, err = call(capsys)
    assert status == 1
    assert "in the running daemon alone" in err


@pytest.mark.usefixtures("recorded")
@pytest.mark.parametrize(
    "arguments", [["show"], ["--limit", "0"], ["--limit", "9" * 20], ["show", "0199", "--limit", "9" * 20], ["lst"]]
)
def test_a_wrong_call_ends_with_status_2(capsys: Screen, arguments: list[str]) -> None:
    status, out, err = call(capsys, *arguments)
    assert (status, out) == (2, "")
    assert err.startswith("ullage: sessions")
