"""Upkeep of all databases: what a check finds, copies, removing, compacting, rebuilding, and a crash in the midst of it."""

from __future__ import annotations

import multiprocessing
import os
import shutil
import signal
import sqlite3
import threading
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ullage.core.errors import CallError, StoreError
from ullage.stores import open_reader, open_store, swap
from ullage.stores.copying import back_up
from ullage.stores.inspection import inspect_database
from ullage.stores.maintenance import check, prune, rebuild
from ullage.stores.migrations import MIGRATIONS
from ullage.stores.places import list_projects, project_path, projects_folder
from ullage.stores.pruning import Limits
from ullage.stores.tally import Tally, table_names, tally_tables
from ullage.stores.writer import DAY_MS

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import Records

    from ullage.stores import Store
    from ullage.stores.inspection import Inspection
    from ullage.stores.maintenance import Health

    Opening = Callable[..., Store]

NOW_MS = 1_780_000_000_000
NEWEST = MIGRATIONS[-1]

forks = pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")


def ignore(_: int) -> None:
    """No one looks at the progress."""


def fill(store: Store, records: Records, *, calls: int = 200) -> None:
    """Calls of a kilobyte, a day apart from the newest on, in turn without a project and in two; sessions, events, samples."""
    for number in range(calls):
        project = (None, "/code/a", "/code/b")[number % 3]
        time_ms = NOW_MS - number * DAY_MS
        path = os.urandom(1000).hex()
        store.put_call(records.call(f"c{number:03}", created_ms=time_ms, path=path, project=project))
        store.put_event(records.event(created_ms=time_ms, project=project))
        store.put_session(records.session(f"s{number:03}", last_ms=time_ms, project=project))
    for number in range(50):
        store.put_sample(records.sample(f"c{number}", created_ms=NOW_MS - number))
    store.put_prefix(records.prefix())
    assert store.flush(20)


@pytest.fixture
def main(open_projects: Opening, records: Records, database: Path) -> Path:
    """Three filled databases that nobody has open."""
    store = open_projects(keep_days=9999)
    fill(store, records)
    store.close()
    return database


@pytest.fixture
def sparse(main: Path) -> Path:
    """A database whose first million rows of calls are gone."""
    execute(main, "UPDATE calls SET seq = seq + 1000000")
    return main


@pytest.fixture
def project(main: Path) -> Path:
    """The database of one project."""
    return project_path(projects_folder(main), "/code/a")


def look(main: Path, *, full: bool = False) -> Health:
    return check(main, full=full, progress=ignore)


def of(health: Health, path: Path) -> Inspection:
    return next(one for one in health.databases if one.path == str(path))


def codes(inspection: Inspection) -> list[tuple[str, str]]:
    return [(finding.level, finding.code) for finding in inspection.findings]


def execute(path: Path, sql: str) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute(sql)


def tallies(path: Path) -> dict[str, Tally]:
    with closing(sqlite3.connect(path)) as connection:
        return tally_tables(connection)


def filled(counts: dict[str, int]) -> dict[str, int]:
    """Of all tables those that hold something."""
    return {table: number for table, number in counts.items() if number}


def files(folder: Path) -> list[str]:
    """The names of all files below a folder but the logs that readers leave."""
    return sorted(
        file.name for file in folder.rglob("*") if file.is_file() and not file.name.endswith(("-wal", "-shm"))
    )


def overwrite(path: Path, begin: int, content: bytes) -> None:
    with path.open("r+b") as file:
        file.seek(begin)
        file.write(content)


def rows_begin(path: Path) -> int:
    """The byte behind the pages with which the tables and indexes begin: those that follow hold rows of the first that grew."""
    with closing(sqlite3.connect(path)) as connection:
        (last,) = connection.execute("SELECT max(rootpage) FROM sqlite_schema").fetchone()
    return int(last) * 4096


def damage_calls(path: Path) -> None:
    """Overwrites a page with rows of calls: a leaf (13) that holds their kind."""
    content = path.read_bytes()
    pages = range(0, len(content), 4096)
    leaves = [at for at in pages if content[at] == 13 and b"conversation" in content[at : at + 4096]]
    overwrite(path, leaves[len(leaves) // 2], b"\xff" * 4096)


# Checking


def test_sound_databases_are_told_with_what_they_hold(main: Path, project: Path) -> None:
    health = look(main, full=True)
    assert health.status == "ok"
    assert [one.project for one in health.databases] == [
        None,
        *sorted(["/code/a", "/code/b"], key=lambda root: project_path(main, root)),
    ]
    shared, own = of(health, main), of(health, project)
    assert filled(shared.counts) == {"sessions": 67, "calls": 67, "events": 67, "samples": 50, "prefixes": 1}
    assert filled(own.counts) == {"sessions": 67, "calls": 67, "events": 67}
    assert (shared.newest_ms, own.newest_ms) == (NOW_MS, NOW_MS - DAY_MS)
    assert (shared.version, shared.mode, shared.checksum) == (NEWEST.number, "0600", NEWEST.checksum)
    assert own.size_bytes == project.stat().st_size
    assert (health.aside, health.recovered) == ((), ())


def test_without_a_database_there_is_nothing_to_check(database: Path) -> None:
    with pytest.raises(StoreError, match="No database yet") as refusal:
        look(database)
    assert refusal.value.code == "no_database"
    assert not database.parent.exists()


def test_a_database_in_use_is_checked_as_it_is(open_projects: Opening, records: Records, database: Path) -> None:
    store = open_projects(keep_days=9999)
    fill(store, records, calls=3)
    health = look(database)
    assert (health.status, len(health.databases)) == ("ok", 3)
    assert of(health, database).log_bytes > 0


def test_what_a_person_should_know_is_a_warning(main: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Planner specification, section 29.4."""
    monkeypatch.setattr("ullage.stores.inspection.LARGE_BYTES", main.stat().st_size)
    monkeypatch.setattr("ullage.stores.inspection.MANIFEST_BYTES", 20_000)
    execute(main, "DELETE FROM calls WHERE seq > 20")
    health = look(main)
    assert codes(of(health, main)) == [("warn", "large"), ("warn", "reusable"), ("warn", "manifests")]
    assert health.status == "warn"


def test_a_quarter_that_holds_nothing_is_the_least_that_is_told(main: Path) -> None:
    execute(main, "DELETE FROM calls WHERE seq > 60")
    assert codes(of(look(main), main)) == []


def test_files_that_others_can_read_are_wrong(main: Path, project: Path) -> None:
    project.chmod(0o640)
    health = look(main)
    assert health.status == "fail"
    (finding,) = of(health, project).findings
    assert (finding.code, finding.hint) == ("permissions", f"Run `chmod 600 '{project}'`.")


def test_a_damaged_database_keeps_the_others_from_nothing(main: Path, project: Path) -> None:
    project.write_bytes(b"not a database " * 5000)
    health = look(main)
    assert [of(health, path).status for path in (main, project)] == ["ok", "fail"]
    assert codes(of(health, project)) == [("fail", "store_damaged")]
    assert of(health, project).findings[0].hint == "Run `ullage db rebuild`."


def test_damage_inside_is_found(main: Path, project: Path) -> None:
    damage_calls(project)
    (finding,) = of(look(main), project).findings
    assert (finding.level, finding.code) == ("fail", "store_damaged")
    assert "damage" in finding.message


def test_a_record_that_cannot_be_read_is_found_when_everything_is_read(main: Path, project: Path) -> None:
    execute(project, "UPDATE calls SET record = x'7b00' WHERE id = 'c001'")
    assert look(main).status == "ok"
    health = look(main, full=True)
    assert codes(of(health, project)) == [("fail", "unreadable_records")]
    assert of(health, project).findings[0].message == "1 of the calls cannot be read."


def test_an_index_that_misses_a_row_is_found_when_everything_is_read(main: Path, project: Path) -> None:
    execute(project, "CREATE TABLE copy AS SELECT * FROM sqlite_schema")
    with closing(sqlite3.connect(project)) as connection:
        connection.execute("PRAGMA writable_schema = ON")
        connection.execute(
            "UPDATE sqlite_schema SET sql = 'CREATE INDEX calls_by_kind ON calls (session)' WHERE name = 'calls_by_kind'"
        )
        connection.commit()
    assert look(main, full=True).status == "fail"


@pytest.mark.parametrize(
    ("sql", "found"),
    [
        ("DELETE FROM schema_migrations WHERE version > 1", ("warn", "older_database")),
        (f"UPDATE schema_migrations SET version = 999 WHERE version = {NEWEST.number}", ("fail", "newer_database")),
        ("UPDATE schema_migrations SET checksum = 'x'", ("fail", "changed_migration")),
        ("PRAGMA application_id = 7", ("fail", "foreign_database")),
    ],
)
def test_tables_of_another_version_are_told(main: Path, project: Path, sql: str, found: tuple[str, str]) -> None:
    execute(project, sql)
    assert codes(of(look(main), project)) == [found]


def test_what_was_moved_aside_is_told(main: Path, project: Path) -> None:
    for path in (main, project):
        path.with_name(f"{path.name}.corrupt-1").write_bytes(b"x" * 10)
        path.with_name(f"{path.name}.corrupt-1-wal").write_bytes(b"x" * 7)
        path.with_name(f"{path.name}.corrupt-1-shm").write_bytes(b"x" * 5)
    main.with_name(f"{main.name}.corrupt-2").write_bytes(b"x" * 10)
    # An index is made anew from the log; what was written last is in the log.
    assert [(Path(aside.path).name, aside.size_bytes) for aside in look(main).aside] == [
        ("ullage.db.corrupt-1", 17),
        ("ullage.db.corrupt-2", 10),
        (f"{project.name}.corrupt-1", 17),
    ]


# Copying


def test_a_backup_is_the_data_folder_anew(main: Path, tmp_path: Path) -> None:
    target = tmp_path / "copy"
    copies = back_up(main, target, force=False, progress=ignore)
    assert files(target) == sorted(["ullage.db", *(file.path.name for file in list_projects(projects_folder(main)))])
    for copy in copies:
        assert tallies(copy.path) == tallies(copy.source)
        assert (copy.path.stat().st_mode & 0o777, copy.size_bytes) == (0o600, copy.path.stat().st_size)
    reader = open_reader("sqlite", target)
    assert len(reader.calls(limit=999)) == 200
    reader.close()


def test_the_progress_is_in_bytes(main: Path, tmp_path: Path) -> None:
    seen: list[int] = []
    copies = back_up(main, tmp_path / "copy", force=False, progress=seen.append)
    assert sum(seen) == sum(copy.size_bytes for copy in copies)


def test_a_backup_goes_on_while_a_daemon_writes_and_is_of_one_moment(
    open_projects: Opening, records: Records, database: Path, tmp_path: Path
) -> None:
    store = open_projects(keep_days=9999)
    fill(store, records)
    over = threading.Event()

    def write() -> None:
        number = 0
        while not over.is_set():
            number += 1
            # A call and its event are written together: in one moment there are as many of one as of the other.
            store.put_call(records.call(f"n{number}", session="n"))
            store.put_event(records.event(session="n"))
            assert store.flush()

    writer = threading.Thread(target=write)
    writer.start()
    try:
        for number in range(5):
            target = tmp_path / f"copy{number}"
            back_up(database, target, force=False, progress=ignore)
            reader = open_reader("sqlite", target)
            assert abs(len(reader.calls("n", limit=99_999)) - len(reader.events("n", limit=99_999))) <= 1
            reader.close()
            assert look(target / "ullage.db", full=True).status == "ok"
    finally:
        over.set()
        writer.join()


def test_an_earlier_backup_is_replaced_only_if_that_is_asked_for(main: Path, project: Path, tmp_path: Path) -> None:
    target = tmp_path / "copy"
    back_up(main, target, force=False, progress=ignore)
    (target / "notes.txt").write_text("mine")
    gone = target / "projects" / f"{'0' * 32}.db"
    gone.write_bytes(b"of a project that is gone")
    before = (target / "ullage.db").stat().st_ino
    with pytest.raises(CallError, match="exists"):
        back_up(main, target, force=False, progress=ignore)
    assert (target / "ullage.db").stat().st_ino == before
    execute(project, "DELETE FROM calls")
    back_up(main, target, force=True, progress=ignore)
    assert tallies(target / "projects" / project.name) == tallies(project)
    assert (target / "notes.txt").exists()
    assert not gone.exists()


def test_a_copy_that_fails_leaves_an_earlier_backup_as_it_was(main: Path, project: Path, tmp_path: Path) -> None:
    target = tmp_path / "copy"
    back_up(main, target, force=False, progress=ignore)
    before = {file: file.read_bytes() for file in target.rglob("*.db")}
    damage_calls(project)
    with pytest.raises(StoreError, match=r"is not sound|is damaged"):
        back_up(main, target, force=True, progress=ignore)
    assert {file: file.read_bytes() for file in target.rglob("*.db")} == before
    assert not list(target.rglob("*.partial*"))


def test_one_database_may_be_copied_into_a_file(open_projects: Opening, records: Records, tmp_path: Path) -> None:
    store = open_projects()
    store.put_call(records.call())
    assert store.flush()
    database = tmp_path / "data" / "ullage.db"
    (copy,) = back_up(database, tmp_path / "copy.db", force=False, progress=ignore)
    assert copy.path == tmp_path / "copy.db"
    store.put_call(records.call(project="/code/a"))
    assert store.flush()
    with pytest.raises(CallError, match="There are 2 databases"):
        back_up(database, tmp_path / "other.db", force=False, progress=ignore)


def test_the_databases_are_never_copied_onto_themselves(main: Path) -> None:
    with pytest.raises(CallError, match="is where the databases are"):
        back_up(main, main.parent, force=True, progress=ignore)
    assert look(main).status == "ok"


# Removing


def prune_now(main: Path, limits: Limits, *, dry_run: bool = False, compact: bool = False) -> dict[str, dict[str, int]]:
    results = prune(main, limits, now_ms=NOW_MS, dry_run=dry_run, compact=compact, progress=ignore)
    assert [result.error for result in results] == [None] * len(results)
    return {result.project or "shared": result.removed for result in results}


@pytest.mark.parametrize("limits", [Limits(NOW_MS - 30 * DAY_MS), Limits(0, 20), Limits(NOW_MS - 30 * DAY_MS, 5)])
def test_what_a_dry_run_counts_is_what_goes(main: Path, limits: Limits) -> None:
    before = {path: path.read_bytes() for path in main.parent.rglob("*.db")}
    counted = prune_now(main, limits, dry_run=True)
    assert {path: path.read_bytes() for path in main.parent.rglob("*.db")} == before
    assert prune_now(main, limits) == counted
    assert prune_now(main, limits, dry_run=True) == {
        name: dict.fromkeys(removed, 0) for name, removed in counted.items()
    }


def test_what_is_old_goes_and_what_was_learned_stays(main: Path) -> None:
    samples = tallies(main)["samples"]
    removed = prune_now(main, Limits(NOW_MS - 30 * DAY_MS))
    # Of days 0 to 30, one in three is the shared one's.
    assert removed["shared"] == {"calls": 56, "events": 56, "sessions": 56, "artifacts": 0}
    assert tallies(main)["samples"] == samples
    reader = open_reader("sqlite", main.parent)
    assert [call.id for call in reader.calls(limit=999)] == [f"c{number:03}" for number in range(31)]
    reader.close()


def test_of_calls_the_newest_stay(main: Path) -> None:
    prune_now(main, Limits(0, 2))
    reader = open_reader("sqlite", main.parent)
    assert [call.id for call in reader.calls(limit=999)] == [f"c{number:03}" for number in range(6)]
    assert len(reader.sessions(limit=999)) == 200
    reader.close()


def test_pruning_goes_on_while_a_daemon_writes(open_projects: Opening, records: Records, database: Path) -> None:
    store = open_projects(keep_days=9999)
    fill(store, records)
    prune_now(database, Limits(NOW_MS - 30 * DAY_MS))
    assert len(store.calls(limit=999)) == 31
    store.put_call(records.call("more", project="/code/a"))
    assert store.flush()
    assert len(store.calls(limit=999)) == 32


def test_a_project_without_records_is_removed_while_nobody_uses_it(
    open_projects: Opening, records: Records, database: Path
) -> None:
    store = open_projects(keep_days=9999)
    fill(store, records, calls=6)
    (result, *_) = prune(database, Limits(NOW_MS + 1), now_ms=NOW_MS, dry_run=False, compact=False, progress=ignore)
    assert result.path == str(database)
    assert len(list_projects(projects_folder(database))) == 2
    store.close()
    results = prune(database, Limits(NOW_MS + 1), now_ms=NOW_MS, dry_run=False, compact=False, progress=ignore)
    assert [result.deleted for result in results] == [False, True, True]
    assert files(database.parent) == ["ullage.db", "ullage.db.lock"]
    assert tallies(database)["samples"].rows == 50


def test_a_database_of_another_version_is_not_changed_by_pruning(main: Path, project: Path) -> None:
    execute(project, "DELETE FROM schema_migrations WHERE version > 1")
    results = prune(main, Limits(NOW_MS), now_ms=NOW_MS, dry_run=False, compact=False, progress=ignore)
    (error,) = [result.error for result in results if result.error is not None]
    assert "has version 1" in error
    assert tallies(project)["calls"].rows == 67
    assert tallies(main)["calls"].rows == 1


# Compacting


def test_compacting_gives_the_room_back_and_changes_no_row(main: Path, project: Path) -> None:
    prune_now(main, Limits(0, 10))
    before = {path: (path.stat().st_size, tallies(path)) for path in (main, project)}
    results = prune(main, Limits(0, 10), now_ms=NOW_MS, dry_run=False, compact=True, progress=ignore)
    for path, (size, rows) in before.items():
        assert path.stat().st_size < size * 0.65
        assert tallies(path) == rows
    assert sum(result.freed_bytes for result in results) == sum(
        size - path.stat().st_size for path, (size, _) in before.items()
    ) + next(result.freed_bytes for result in results if result.project == "/code/b")
    assert look(main, full=True).status == "ok"
    assert not [name for name in files(main.parent) if "candidate" in name or "upkeep" in name]
    assert {file.stat().st_mode & 0o777 for file in main.parent.rglob("*.db")} == {0o600}


def test_nothing_is_compacted_while_a_daemon_runs(open_projects: Opening, records: Records, database: Path) -> None:
    store = open_projects(keep_days=9999)
    fill(store, records)
    with pytest.raises(StoreError, match="are in use") as refusal:
        prune_now(database, Limits(NOW_MS), compact=True)
    assert refusal.value.code == "in_use"
    assert len(store.calls(limit=999)) == 200


def test_a_database_that_somebody_reads_is_left_as_it_is(
    main: Path, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ullage.stores.files.BUSY_TIMEOUT_S", 0.05)
    monkeypatch.setattr("ullage.stores.files._connect.__kwdefaults__", {"uri": False, "busy_timeout_s": 0.05})
    execute(project, "DELETE FROM calls")
    with closing(sqlite3.connect(project)) as reading:
        reading.execute("BEGIN")
        reading.execute("SELECT count(*) FROM calls").fetchone()
        results = prune(main, Limits(0), now_ms=NOW_MS, dry_run=False, compact=True, progress=ignore)
    (error,) = [result.error for result in results if result.error is not None]
    assert "is locked by another process" in error
    assert look(main).status != "fail"


def test_nothing_is_compacted_without_room(main: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Planner specification, section 29.4: three times the size, and on top the larger of 256 MiB and a tenth."""
    size = main.stat().st_size
    enough = 3 * size + 256 * 1024**2
    usage = shutil.disk_usage(main.parent)
    monkeypatch.setattr("shutil.disk_usage", lambda _: usage._replace(free=enough - 1))
    results = prune(main, Limits(0), now_ms=NOW_MS, dry_run=False, compact=True, progress=ignore)
    assert "MiB are needed" in (results[0].error or "")
    monkeypatch.setattr("shutil.disk_usage", lambda _: usage._replace(free=enough))
    results = prune(main, Limits(0), now_ms=NOW_MS, dry_run=False, compact=True, progress=ignore)
    assert results[0].error is None


def test_a_copy_that_differs_never_takes_the_place_of_the_database(main: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    execute(main, "DELETE FROM calls")
    before = tallies(main)
    monkeypatch.setattr("ullage.stores.compaction.tally_tables", lambda _: {"samples": Tally([os.urandom(4)])})
    results = prune(main, Limits(0), now_ms=NOW_MS, dry_run=False, compact=True, progress=ignore)
    assert "differs from it. Nothing was changed." in (results[0].error or "")
    assert tallies(main) == before
    assert "ullage.db.candidate" not in files(main.parent)


# Rebuilding


def rebuild_now(main: Path, *, everything: bool = False, also: Path | None = None) -> list[Any]:
    return rebuild(main, now_ms=NOW_MS, everything=everything, also=also, progress=ignore)


def test_where_nothing_is_wrong_nothing_is_rebuilt(main: Path) -> None:
    assert rebuild_now(main) == []
    assert look(main).aside == ()


def test_a_sound_database_is_rebuilt_to_the_row(main: Path, project: Path) -> None:
    before = {path: rows_of(path) for path in (main, project)}
    results = rebuild_now(main, everything=True)
    assert [sum(result.lost.values()) for result in results] == [0, 0, 0]
    for path, rows in before.items():
        assert rows_of(path) == rows
    health = look(main, full=True)
    assert (health.status, len(health.aside)) == ("ok", 3)
    for aside in health.aside:
        assert tallies(Path(aside.path))["calls"].rows in (66, 67)


@pytest.mark.parametrize("where", ["a page of calls", "inner pages gone", "cut short"])
def test_of_a_damaged_database_what_can_be_read_is_kept_and_the_rest_counted(
    main: Path, records: Records, where: str
) -> None:
    content = main.read_bytes()
    if where == "a page of calls":
        damage_calls(main)
    elif where == "inner pages gone":
        overwrite(main, rows_begin(main) + 4096, b"\xff" * (len(content) - rows_begin(main) - 4096))
    else:
        main.write_bytes(content[: rows_begin(main) + 6 * 4096])
    before = main.read_bytes()
    (result,) = rebuild_now(main)
    assert result.error is None
    assert 0 < result.kept["calls"] < 67
    assert result.lost["calls"] is None or result.kept["calls"] + result.lost["calls"] >= 67
    assert Path(result.aside).read_bytes() == before
    assert look(main, full=True).status == "ok"
    store = open_store("sqlite", main.parent, lambda: NOW_MS, keep_days=9999)
    store.put_call(records.call("new"))
    assert store.flush()
    store.close()
    assert store.problems() == ()


@pytest.mark.parametrize("damaged", ["none", "sessions", "calls_by_created", "all indexes"])
def test_rows_far_from_the_first_are_found(sparse: Path, damaged: str) -> None:
    with closing(sqlite3.connect(sparse)) as connection:
        pages = dict(connection.execute("SELECT name, rootpage FROM sqlite_schema WHERE tbl_name = 'calls'"))
        pages |= dict(connection.execute("SELECT name, rootpage FROM sqlite_schema WHERE name = 'sessions'"))
    for name in [name for name in pages if name != "calls"] if damaged == "all indexes" else [damaged]:
        if name in pages:
            overwrite(sparse, (pages[name] - 1) * 4096, b"\xff" * 4096)
    (result, *_) = rebuild_now(sparse, everything=True)
    assert (result.kept["calls"], result.lost["calls"]) == (67, None if damaged == "all indexes" else 0)


def test_samples_survive_damage_elsewhere(main: Path) -> None:
    with closing(sqlite3.connect(main)) as connection:
        (root,) = connection.execute("SELECT rootpage FROM sqlite_schema WHERE name = 'events'").fetchone()
    samples = tallies(main)["samples"]
    overwrite(main, (root - 1) * 4096, b"\xff" * 4096)
    (result,) = rebuild_now(main)
    assert (result.kept["samples"], result.lost["samples"], result.lost["events"]) == (50, 0, 67)
    assert tallies(main)["samples"] == samples


@given(data=st.data())
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_whatever_is_damaged_what_is_kept_is_as_it_was_and_the_rest_is_counted(
    main: Path, tmp_path: Path, data: st.DataObject
) -> None:
    content = bytearray(main.read_bytes())
    begin = data.draw(st.integers(4096, len(content) - 1))
    how = data.draw(st.sampled_from([b"\xff", b"\x00", b"\x0d", None]))
    if how is None:
        del content[begin:]
    else:
        end = min(len(content), begin + data.draw(st.integers(1, 40_000)))
        content[begin:end] = how * (end - begin)
    damaged = tmp_path / "damaged" / "ullage.db"
    shutil.rmtree(damaged.parent, ignore_errors=True)
    damaged.parent.mkdir()
    damaged.write_bytes(content)
    (result,) = rebuild_now(damaged, everything=True)
    if result.error is not None:
        assert "Nothing can be read of" in result.error
        assert damaged.read_bytes() == content
        return
    assert look(damaged, full=True).status != "fail"
    for table, kept in result.kept.items():
        if table in ("calls", "samples"):
            lost, whole = result.lost[table], {"calls": 67, "samples": 50}[table]
            assert kept <= whole
            assert lost is None or kept + lost >= whole
            assert records_in(damaged, table) <= records_in(main, table)


def records_in(path: Path, table: str) -> set[bytes]:
    with closing(sqlite3.connect(path)) as connection:
        return {packed for (packed,) in connection.execute(f"SELECT record FROM {table}")}


def test_a_database_of_which_nothing_can_be_read_is_left(main: Path, project: Path) -> None:
    project.write_bytes(b"not a database " * 5000)
    before = project.read_bytes()
    (result,) = rebuild_now(main)
    assert "Nothing can be read of" in result.error
    assert project.read_bytes() == before
    assert not [name for name in files(main.parent) if "candidate" in name or "upkeep" in name]


def test_records_that_cannot_be_read_are_left_out(main: Path, project: Path) -> None:
    execute(project, "UPDATE calls SET record = x'00ff' WHERE id IN ('c001', 'c004')")
    execute(project, "UPDATE sessions SET id = CAST(x'ff' AS TEXT) WHERE id = 's001'")
    assert rebuild_now(main) == []  # only reading everything tells
    results = rebuild_now(main, everything=True)
    (result,) = [result for result in results if result.project == "/code/a"]
    assert (result.kept["calls"], result.lost["calls"]) == (65, 2)
    assert (result.kept["sessions"], result.lost["sessions"]) == (66, 1)


def test_an_older_database_is_rebuilt_with_the_newest_tables(main: Path, project: Path) -> None:
    with closing(sqlite3.connect(project, isolation_level=None)) as connection:
        for table in set(table_names(connection)) - {"sessions", "calls", "events", "schema_migrations"}:
            connection.execute(f"DROP TABLE {table}")
        connection.execute("DELETE FROM schema_migrations WHERE version > 1")
    (result,) = rebuild_now(main)
    assert (result.kept["calls"], result.lost["calls"]) == (67, 0)
    assert inspect_database(project).version == NEWEST.number


@pytest.mark.parametrize(
    ("sql", "said"),
    [
        (
            f"UPDATE schema_migrations SET version = 999, name = 'm999_more' WHERE version = {NEWEST.number}",
            "has version 999",
        ),
        ("PRAGMA application_id = 7", "is no database of ullage"),
    ],
)
def test_what_is_not_ours_or_newer_is_never_rebuilt(main: Path, project: Path, sql: str, said: str) -> None:
    execute(project, sql)
    results = rebuild_now(main, everything=True)
    (error,) = [result.error for result in results if result.error is not None]
    assert said in error


def test_what_a_killed_daemon_left_in_the_log_is_rebuilt_too(
    open_projects: Opening, records: Records, database: Path, tmp_path: Path
) -> None:
    store = open_projects(keep_days=9999)
    fill(store, records, calls=9)
    copy = tmp_path / "copy"
    copy.mkdir()
    for file in database.parent.glob("ullage.db*"):
        if not file.name.endswith(".lock"):
            (copy / file.name).write_bytes(file.read_bytes())
    assert (copy / "ullage.db-wal").stat().st_size
    (result,) = rebuild_now(copy / "ullage.db", everything=True)
    assert (result.kept["calls"], result.lost["calls"]) == (3, 0)
    assert tallies(Path(result.aside))["calls"].rows == 3


def test_what_a_database_that_was_moved_aside_still_holds_can_be_taken_in(main: Path, records: Records) -> None:
    aside = main.with_name(f"{main.name}.corrupt-1")
    main.rename(aside)
    execute(aside, "UPDATE calls SET record = x'00ff' WHERE id = 'c000'")
    store = open_store("sqlite", main.parent, lambda: NOW_MS, keep_days=9999)
    store.put_call(records.call("c003", outcome="newer"))
    store.put_call(records.call("new"))
    assert store.flush()
    store.close()
    for _ in range(2):  # taking it in again changes nothing
        (result,) = rebuild_now(main, also=aside)
        assert (result.kept["calls"], result.lost["calls"]) == (67, 1)
        assert (result.kept["samples"], result.kept["events"]) == (50, 67)
    reader = open_reader("sqlite", main.parent)
    call = reader.find_call("c003")
    assert call is not None and call.outcome == "newer"
    reader.close()


@pytest.mark.parametrize("name", ["ullage.db", "other.db", "ullage.db.corrupt-9"])
def test_only_a_copy_of_a_database_can_be_taken_in(main: Path, name: str) -> None:
    (main.parent / "other.db").write_bytes(b"")
    with pytest.raises(CallError):
        rebuild_now(main, also=main.parent / name)


def test_nothing_is_rebuilt_while_a_daemon_runs(open_projects: Opening, records: Records, database: Path) -> None:
    store = open_projects()
    store.put_call(records.call())
    with pytest.raises(StoreError, match="are in use"):
        rebuild_now(database, everything=True)


# A crash at any step

STEPS = ("_write_journal", "_replace", "_unlink", "_sync", "_sync_folder", "_mark", "_keep")


def upkeep(main: Path, action: str) -> None:
    if action == "compact":
        prune(main, Limits(0), now_ms=NOW_MS, dry_run=False, compact=True, progress=ignore)
    else:
        rebuild(main, now_ms=NOW_MS, everything=True, also=None, progress=ignore)


def crash(main: Path, action: str, at: int) -> None:
    """In a process of its own: is killed before its step number `at`; ends well if there are fewer."""
    count = 0

    def watched(whole: Callable[..., Any]) -> Callable[..., Any]:
        def step(*arguments: Any, **options: Any) -> Any:
            nonlocal count
            count += 1
            if count == at:
                os.kill(os.getpid(), signal.SIGKILL)
            return whole(*arguments, **options)

        return step

    for name in STEPS:
        setattr(swap, name, watched(getattr(swap, name)))
    upkeep(main, action)


@pytest.mark.slow
@forks
@pytest.mark.parametrize("action", ["compact", "rebuild"])
def test_a_crash_at_any_step_loses_nothing_and_the_next_start_is_clean(
    open_projects: Opening, records: Records, database: Path, tmp_path: Path, action: str
) -> None:
    store = open_projects(scope="user", keep_days=9999)
    fill(store, records, calls=60)
    store.close()
    execute(database, "DELETE FROM calls WHERE seq > 30")
    rows = rows_of(database)
    whole, crashed = tmp_path / "whole", tmp_path / "crashed"
    shutil.copytree(database.parent, whole)
    steps = 0
    while True:
        steps += 1
        shutil.rmtree(crashed, ignore_errors=True)
        shutil.copytree(whole, crashed)
        child = multiprocessing.get_context("fork").Process(target=crash, args=(crashed / "ullage.db", action, steps))
        child.start()
        child.join()
        if child.exitcode == 0:
            break
        assert child.exitcode == -signal.SIGKILL
        start_daemon(crashed, tmp_path / "started", rows)
        assert look(crashed / "ullage.db", full=True).status != "fail"
        assert_clean(crashed, rows)
    assert steps > 20


def start_daemon(crashed: Path, folder: Path, rows: dict[str, Tally]) -> None:
    """In a copy of what a crash left."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(crashed, folder)
    store = open_store("sqlite", folder, lambda: NOW_MS, keep_days=9999)
    assert (len(store.calls(limit=99)), len(store.samples("anthropic", "claude-x", "wire-v1"))) == (30, 50)
    store.close()
    assert store.problems() == ()
    assert_clean(folder, rows)


def assert_clean(folder: Path, rows: dict[str, Tally]) -> None:
    assert rows_of(folder / "ullage.db") == rows
    assert [name for name in files(folder) if "before-rebuild" not in name] == ["ullage.db", "ullage.db.lock"]


def rows_of(path: Path) -> dict[str, Tally]:
    return {table: tally for table, tally in tallies(path).items() if table != "schema_migrations"}


def test_a_database_that_was_written_to_after_a_crash_is_not_replaced(main: Path) -> None:
    candidate = swap.candidate_path(main)
    candidate.write_bytes(b"an older state")
    swap._write_journal(main, swap.Journal(state="swapping", aside="ullage.db.aside", mark=swap._mark(main)))
    swap._keep(main, "ullage.db.aside")
    execute(main, "DELETE FROM calls")
    assert look(main).recovered == (f"The interrupted upkeep of {main} was undone: the database was written to since.",)
    assert tallies(main)["calls"].rows == 0
    assert not candidate.exists()
    assert not (main.parent / "ullage.db.aside").exists()


def test_where_a_file_cannot_have_two_names_it_is_copied(main: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(1, "not here")

    monkeypatch.setattr("os.link", refuse)
    before = main.read_bytes()
    (result, *_) = rebuild_now(main, everything=True)
    assert Path(result.aside).read_bytes() == before
    assert Path(result.aside).stat().st_mode & 0o777 == 0o600


def test_an_upkeep_that_goes_on_is_not_taken_for_one_that_was_interrupted(main: Path) -> None:
    from ullage.stores.alone import alone_with

    with alone_with(main), swap.replacing(main) as candidate:
        assert codes(of(look(main), main)) == [("warn", "in_use")]
        candidate.write_bytes(main.read_bytes())
    assert look(main).status == "ok"
