"""`ullage db`: what its commands print, their exit status, and what they leave behind."""

from __future__ import annotations

import os
import re
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from ullage.cli import main
from ullage.stores import ArtifactRecord, CallRecord, SessionRecord, SqliteStore, open_reader, open_store
from ullage.stores.places import project_path

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ullage.stores import Store

    Screen = pytest.CaptureFixture[str]

NOW_MS = 1_780_000_000_000
DAY_MS = 24 * 60 * 60 * 1000


def call(capsys: Screen, *arguments: str) -> tuple[int, str, str]:
    status = main(["db", *arguments])
    printed = capsys.readouterr()
    return status, printed.out, printed.err


def call_json(capsys: Screen, *arguments: str, status: int = 0) -> Any:
    ended, out, _ = call(capsys, *arguments, "--json")
    assert ended == status
    return msgspec.json.decode(out)


def make_call(name: str, days: int, project: str | None) -> CallRecord:
    return CallRecord(
        id=name,
        session="s1",
        created_ms=NOW_MS - days * DAY_MS,
        dialect="anthropic",
        kind="conversation",
        path=os.urandom(1000).hex(),
        provider="anthropic",
        model="claude-x",
        outcome="ok",
        project=project,
    )


def make_artifact(name: str, days: int) -> ArtifactRecord:
    return ArtifactRecord(
        id=name,
        session="s1",
        used_ms=NOW_MS - days * DAY_MS,
        sha256="0" * 64,
        size_bytes=50_000,
        chars=50_000,
        tool="Bash",
    )


@pytest.fixture
def shared(data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder with a database of a session and four calls; for the commands it is `NOW_MS`."""
    monkeypatch.setattr("ullage.cli.records.now_ms", lambda: NOW_MS)
    store = SqliteStore(data_dir / "ullage.db", clock_ms=lambda: NOW_MS)
    store.put_session(SessionRecord(id="s1", client="pi", identity="client", started_ms=NOW_MS, last_ms=NOW_MS))
    for number in range(4):
        store.put_call(make_call(f"c{number}", number, None))
    store.close()
    return data_dir


@pytest.fixture
def databases(shared: Path) -> Path:
    """The same and the databases of two projects, forty calls each, of forty days; closed."""
    store = open_store("sqlite", shared, lambda: NOW_MS, scope="project")
    for number in range(80):
        store.put_call(make_call(f"p{number:02}", number // 2, ("/code/shop", "/code/site")[number % 2]))
    store.close()
    assert store.problems() == ()
    return shared


@pytest.fixture
def daemon(databases: Path) -> Iterator[Store]:
    """Uses the databases as a daemon does."""
    store = open_store("sqlite", databases, lambda: NOW_MS, scope="project")
    yield store
    store.close()


def lines(text: str) -> list[list[str]]:
    return [re.split(r"  +", line.strip()) for line in text.splitlines()]


def project_file(folder: Path) -> Path:
    return project_path(folder / "projects", "/code/shop")


# check


@pytest.mark.usefixtures("databases")
def test_a_check_lists_every_database(capsys: Screen) -> None:
    status, out, err = call(capsys, "check", "--full")
    assert (status, err) == (0, "")
    header, *rows = lines(out)
    assert header[:6] == ["database", "status", "size", "log", "free", "sessions"]
    by_name = {row[0]: row for row in rows if len(row) == len(header)}
    assert set(by_name) == {"shared", "/code/shop", "/code/site"}
    assert by_name["shared"][5:] == ["1", "4", "0", "0", "3 d ago", "just now"]
    assert by_name["/code/shop"][5:] == ["0", "40", "0", "0", "2026-04-19", "just now"]
    assert re.fullmatch(r"3 databases, [\d.]+ KiB; 0 to look at, 0 broken", out.splitlines()[-1])


def test_a_check_as_json(capsys: Screen, databases: Path) -> None:
    report = call_json(capsys, "check")
    assert (report["status"], report["aside"], report["recovered"]) == ("ok", [], [])
    shared, *projects = report["databases"]
    assert {one["project"] for one in projects} == {"/code/shop", "/code/site"}
    assert shared["path"] == report["database"] == str(databases / "ullage.db")
    assert shared["newest_at"] == "2026-05-28T20:26:40.000Z"
    assert {name: shared[name] for name in ("status", "project", "findings", "mode")} == {
        "status": "ok",
        "project": None,
        "findings": [],
        "mode": "0600",
    }
    counts = shared["counts"]
    assert {name: counts[name] for name in ("sessions", "calls", "events", "samples")} == {
        "sessions": 1,
        "calls": 4,
        "events": 0,
        "samples": 0,
    }


def test_what_is_wrong_is_told_with_the_next_step(capsys: Screen, databases: Path) -> None:
    project_file(databases).write_bytes(b"not a database " * 500)
    status, out, _ = call(capsys, "check")
    assert status == 1
    assert f"fail  {project_file(databases).name}: The database {project_file(databases)} is damaged" in out
    assert "\n      → Run `ullage db rebuild`.\n" in out
    assert out.endswith("0 to look at, 1 broken\n")
    assert call_json(capsys, "check", status=1)["status"] == "fail"


def test_a_warning_is_no_failure(capsys: Screen, databases: Path) -> None:
    with closing(sqlite3.connect(databases / "ullage.db", isolation_level=None)) as connection:
        connection.execute("CREATE TABLE x (y)")
        connection.execute("INSERT INTO x VALUES (zeroblob(400000))")
        connection.execute("DROP TABLE x")
    status, out, _ = call(capsys, "check")
    assert status == 0
    assert re.search(
        r"warn  shared: \d\d% of it holds nothing any more.\n      → Run `ullage db prune --compact`.", out
    )


@pytest.mark.parametrize("command", ["check", "backup", "prune", "rebuild"])
def test_without_a_database_every_command_says_so(capsys: Screen, data_dir: Path, command: str) -> None:
    status, out, err = call(capsys, command)
    assert (status, out) == (1, "")
    assert err == f"ullage: No database yet at {data_dir / 'ullage.db'}.\nhint: Start `ullage serve`.\n"
    assert not data_dir.exists()


def test_a_store_in_memory_has_no_database(capsys: Screen, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ULLAGE_STORE__URL", "memory")
    status, _, err = call(capsys, "check")
    assert status == 1
    assert "there is no database" in err


def test_another_data_folder_is_named_by_an_option(capsys: Screen, databases: Path, tmp_path: Path) -> None:
    databases.rename(tmp_path / "moved")
    assert call(capsys, "check")[0] == 1
    assert call(capsys, "check", "--data-dir", str(tmp_path / "moved"))[0] == 0


# backup


def test_a_backup_lies_in_a_folder_of_its_time_and_can_be_used_at_once(
    capsys: Screen, daemon: Store, databases: Path
) -> None:
    status, out, _ = call(capsys, "backup")
    assert status == 0
    folder = databases / "backups" / "2026-05-28T202640Z"
    assert re.fullmatch(rf"Copied 3 databases, [\d.]+ KiB, to {folder}; each copy was checked.\n", out)
    reader = open_reader("sqlite", folder)
    assert len(reader.calls(limit=999)) == len(daemon.calls(limit=999)) == 84
    reader.close()
    assert call(capsys, "check", "--data-dir", str(folder))[0] == 0


@pytest.mark.usefixtures("databases")
def test_a_backup_replaces_nothing_unless_it_may(capsys: Screen, tmp_path: Path) -> None:
    target = tmp_path / "copy"
    report = call_json(capsys, "backup", str(target))
    assert (report["target"], len(report["databases"])) == (str(target), 3)
    assert {one["counts"]["calls"] for one in report["databases"]} == {4, 40}
    status, _, err = call(capsys, "backup", str(target))
    assert status == 2
    assert err == f"ullage: {target / 'ullage.db'} exists.\nhint: Name another place, or add --force.\n"
    assert call(capsys, "backup", str(target), "--force")[0] == 0


@pytest.mark.usefixtures("databases")
def test_several_databases_are_not_copied_into_one_file(capsys: Screen, tmp_path: Path) -> None:
    status, _, err = call(capsys, "backup", str(tmp_path / "copy.db"))
    assert status == 2
    assert "Name a folder." in err


@pytest.mark.usefixtures("shared")
def test_the_only_database_is_copied_into_a_file(capsys: Screen, tmp_path: Path) -> None:
    assert call(capsys, "backup", str(tmp_path / "copy.db"))[0] == 0
    assert (tmp_path / "copy.db").stat().st_mode & 0o777 == 0o600


# prune


def test_pruning_says_what_went(capsys: Screen, databases: Path) -> None:
    counted = call_json(capsys, "prune", "--keep-days", "9", "--dry-run")
    assert (counted["dry_run"], counted["keep_days"], counted["keep_calls"]) == (True, 9, None)
    status, out, _ = call(capsys, "prune", "--keep-days", "9")
    assert status == 0
    assert lines(out)[0] == ["database", "calls", "events", "sessions", "artifacts", "given back"]
    assert [row[1:5] for row in lines(out)[1:3]] == [["30", "0", "0", "0"]] * 2
    assert out.splitlines()[-1] == "Removed 60 calls, 0 events, 0 sessions, 0 artifacts; gave 0 B back to the disk."
    assert sum(one["removed"]["calls"] for one in counted["databases"]) == 60
    reader = open_reader("sqlite", databases)
    assert len(reader.calls(limit=999)) == 24
    reader.close()


def test_without_numbers_the_settings_hold(capsys: Screen, databases: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ULLAGE_STORE__KEEP_DAYS", "19")
    _, out, _ = call(capsys, "prune", "--dry-run")
    assert [row[1:4] for row in lines(out)[1:3]] == [["20", "0", "0"]] * 2
    assert out.splitlines()[-1] == "Would remove 40 calls, 0 events, 0 sessions, 0 artifacts."


def test_records_of_artifacts_that_went_are_told_too(capsys: Screen, shared: Path) -> None:
    store = SqliteStore(shared / "ullage.db", clock_ms=lambda: NOW_MS)
    for days in (1, 10, 20):
        store.put_artifact(make_artifact(f"a{days}", days))
    store.close()
    status, out, _ = call(capsys, "prune", "--keep-days", "9")
    assert status == 0
    assert lines(out)[1] == ["shared", "0", "0", "0", "2", "0 B"]
    assert out.splitlines()[-1] == "Removed 0 calls, 0 events, 0 sessions, 2 artifacts; gave 0 B back to the disk."


def test_of_calls_the_newest_stay_and_the_room_is_given_back(capsys: Screen, databases: Path) -> None:
    size = project_file(databases).stat().st_size
    report = call_json(capsys, "prune", "--keep-calls", "3", "--compact")
    assert report["status"] == "ok"
    assert sum(one["removed"]["calls"] for one in report["databases"]) == 1 + 37 + 37
    assert all(one["freed_bytes"] > 0 for one in report["databases"] if one["project"] is not None)
    assert project_file(databases).stat().st_size < size
    assert call(capsys, "check", "--full")[0] == 0


def test_an_emptied_project_is_removed(capsys: Screen, databases: Path) -> None:
    with closing(sqlite3.connect(project_file(databases), isolation_level=None)) as connection:
        connection.execute("DELETE FROM calls")
    status, out, _ = call(capsys, "prune")
    assert status == 0
    assert lines(out)[1][-1] == "removed"
    assert not project_file(databases).exists()


@pytest.mark.usefixtures("daemon")
def test_beside_a_daemon_records_go_but_nothing_is_compacted(capsys: Screen, databases: Path) -> None:
    status, out, err = call(capsys, "prune", "--keep-days", "9", "--compact")
    assert (status, out) == (1, "")
    assert err == f"ullage: The databases in {databases} are in use.\nhint: Stop `ullage serve`, then try again.\n"
    assert call(capsys, "prune", "--keep-days", "9")[1].splitlines()[-1].startswith("Removed 60 calls")


def test_a_database_that_cannot_be_pruned_is_told_and_the_others_are(capsys: Screen, databases: Path) -> None:
    project_file(databases).write_bytes(b"not a database " * 500)
    status, out, _ = call(capsys, "prune", "--keep-days", "9")
    assert status == 1
    assert f"! {project_file(databases).name}: The database {project_file(databases)} is damaged" in out
    assert "Removed 30 calls" in out


# rebuild


@pytest.mark.usefixtures("databases")
def test_where_nothing_is_wrong_nothing_is_rebuilt(capsys: Screen) -> None:
    assert call(capsys, "rebuild") == (0, "Nothing is wrong: no database was rebuilt.\n", "")


def test_a_damaged_database_is_rebuilt_and_the_old_one_kept(capsys: Screen, databases: Path) -> None:
    path = project_file(databases)
    content = bytearray(path.read_bytes())
    leaves = [at for at in range(0, len(content), 4096) if content[at] == 13 and b"conversation" in content[at:][:4096]]
    content[leaves[5] : leaves[5] + 4096] = b"\xff" * 4096
    path.write_bytes(content)
    assert call(capsys, "check")[0] == 1
    status, out, _ = call(capsys, "rebuild")
    assert status == 0
    aside = path.with_name(f"{path.name}.before-rebuild-{NOW_MS}")
    first, _, *rows = out.splitlines()
    assert first == f"Rebuilt /code/shop; the old one is {aside}"
    kept = {row.split()[0]: int(row.split()[1]) for row in rows}
    assert 30 < kept["calls"] < 40
    assert aside.is_file()
    status, out, _ = call(capsys, "check", "--full")
    assert status == 0
    assert f"Moved aside: {aside}, " in out


def test_what_was_moved_aside_can_be_taken_in(capsys: Screen, databases: Path) -> None:
    path = project_file(databases)
    aside = path.with_name(f"{path.name}.corrupt-1")
    path.rename(aside)
    store = open_store("sqlite", databases, lambda: NOW_MS, scope="project")
    store.put_call(make_call("new", 0, "/code/shop"))
    store.close()
    (report,) = call_json(capsys, "rebuild", "--from", str(aside))["databases"]
    assert (report["kept"]["calls"], report["lost"]["calls"]) == (41, 0)
    assert call(capsys, "rebuild", "--from", str(Path(databases) / "nothing.db"))[0] == 2


@pytest.mark.usefixtures("daemon")
def test_nothing_is_rebuilt_beside_a_daemon(capsys: Screen) -> None:
    status, _, err = call(capsys, "rebuild", "--all")
    assert status == 1
    assert "are in use" in err


def test_a_rebuild_that_fails_is_told(capsys: Screen, databases: Path) -> None:
    project_file(databases).write_bytes(b"not a database " * 500)
    status, out, _ = call(capsys, "rebuild")
    assert status == 1
    assert f"! {project_file(databases).name}: Nothing can be read of {project_file(databases)}." in out


# The group


@pytest.mark.parametrize("arguments", [[], ["nonsense"], ["prune", "--keep-days", "-1"], ["check", "more"]])
def test_a_wrong_call_has_status_2(capsys: Screen, arguments: list[str]) -> None:
    assert call(capsys, *arguments)[0] == 2


@pytest.mark.usefixtures("databases")
def test_a_bar_is_shown_where_somebody_looks_and_there_is_much_to_do(
    capsys: Screen, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ullage.cli.db.places.is_terminal", lambda _: True)
    assert call(capsys, "check")[2] == ""
    monkeypatch.setattr("ullage.cli.db.places._BAR_FROM_BYTES", 1)
    assert "checking" in call(capsys, "check")[2]
