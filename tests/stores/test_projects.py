"""Each project's records in a file of its own, read together with those of all others."""

from __future__ import annotations

import hashlib
import multiprocessing
import os
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from ullage.core.errors import StoreError
from ullage.stores import CallRecord, EventRecord, SessionRecord, SqliteStore, open_reader, open_store
from ullage.stores import open_projects as open_projects_module
from ullage.stores.lease import InUseError, Lease
from ullage.stores.merging import MOST_READERS
from ullage.stores.open_projects import MOST_OPEN
from ullage.stores.places import find_root, list_projects, project_path, projects_folder
from ullage.stores.writer import DAY_MS

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import Clock, Records

    from ullage.stores import Store

    Opening = Callable[..., Store]

forks = pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")


@pytest.fixture
def folder(database: Path) -> Path:
    return projects_folder(database)


def wait_until(condition: Callable[[], object], timeout_s: float = 30.0) -> None:
    deadline = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.005)


def rows(path: Path, table: str = "calls") -> list[str]:
    connection = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    try:
        return [key for (key,) in connection.execute(f"SELECT id FROM {table} ORDER BY id")]
    finally:
        connection.close()


def written_at(path: Path, time_ms: int) -> None:
    """Makes a file look as if it was last written to then."""
    for ending in ("", "-wal"):
        file = path.with_name(path.name + ending)
        if file.exists():
            os.utime(file, ns=(time_ms * 1_000_000, time_ms * 1_000_000))


# Which file a record goes to


def test_a_project_has_a_file_named_by_a_hash_of_its_folder(
    open_projects: Opening, records: Records, folder: Path
) -> None:
    """Planner specification, section 29.1."""
    store = open_projects()
    store.put_session(records.session(project="/code/shop"))
    store.put_call(records.call(project="/code/shop"))
    store.put_event(records.event(project="/code/shop"))
    assert store.flush()
    name = hashlib.sha256(b"/code/shop").hexdigest()[:32]
    assert [file.path for file in list_projects(folder)] == [folder / f"{name}.db"]
    only = SqliteStore(folder / f"{name}.db", clock_ms=lambda: 0)
    assert (len(only.sessions()), len(only.calls()), len(only.events())) == (1, 1, 1)
    only.close()


def test_the_file_of_a_project_is_private_and_says_which_project_it_is(
    open_projects: Opening, records: Records, folder: Path
) -> None:
    store = open_projects()
    store.put_call(records.call(project="/code/shop"))
    assert store.flush()
    store.close()
    path = project_path(folder, "/code/shop")
    assert (path.stat().st_mode & 0o777, folder.stat().st_mode & 0o777) == (0o600, 0o700)
    only = SqliteStore(path, clock_ms=lambda: 0)
    assert only.calls()[0].project == "/code/shop"
    only.close()


def test_what_is_learned_is_shared(open_projects: Opening, records: Records, database: Path, folder: Path) -> None:
    store = open_projects()
    store.put_call(records.call(project="/code/shop"))
    store.put_sample(records.sample())
    store.put_prefix(records.prefix())
    assert store.flush()
    assert (len(store.samples("anthropic", "claude-x", "wire-v1")), len(store.prefixes())) == (1, 1)
    assert store.sample_keys() == [("anthropic", "claude-x", "wire-v1")]
    store.close()
    assert rows(database, "samples") == ["c1"]
    assert rows(project_path(folder, "/code/shop"), "samples") == []


def test_records_without_a_project_go_to_the_shared_file(
    open_projects: Opening, records: Records, database: Path, folder: Path
) -> None:
    store = open_projects()
    store.put_call(records.call())
    assert store.flush()
    assert rows(database) == ["c1"]
    assert list_projects(folder) == []


def test_with_the_scope_of_the_user_there_is_one_file_and_older_projects_are_still_read(
    open_projects: Opening, records: Records, database: Path, folder: Path
) -> None:
    store = open_projects()
    store.put_call(records.call("old", project="/code/shop"))
    assert store.flush()
    store.close()
    store = open_projects(scope="user")
    store.put_call(records.call("new", project="/code/shop", created_ms=records.call().created_ms + 1))
    assert store.flush()
    assert [call.id for call in store.calls()] == ["new", "old"]
    assert rows(database) == ["new"]
    assert len(list_projects(folder)) == 1


def test_folders_that_are_no_project(tmp_path: Path) -> None:
    """Planner specification, R27: the home folder and the root of the file system are too broad."""
    home = tmp_path / "home" / "ada"
    (home / "code").mkdir(parents=True)
    (tmp_path / "to_home").symlink_to(home)
    no_projects = [
        "",
        None,
        "code",
        "./code",
        "/",
        "//",
        str(home),
        f"{home}/",
        f"{home}/code/..",
        str(tmp_path / "to_home"),
    ]
    assert {find_root(path, home) for path in [*no_projects, str(home.parent), "/code/\0", "a\0b"]} == {None}
    assert find_root(str(home / "code"), home) == str(home / "code")
    assert find_root("/code/gone", None) == "/code/gone"


def test_the_ways_to_one_folder_lead_to_one_file(
    open_projects: Opening, records: Records, tmp_path: Path, folder: Path
) -> None:
    (tmp_path / "shop").mkdir()
    (tmp_path / "link").symlink_to("shop")
    store = open_projects()
    for number, way in enumerate(("shop", "shop/", "shop/../shop", "link")):
        store.put_call(records.call(f"c{number}", project=f"{tmp_path}/{way}"))
    assert store.flush()
    assert len(list_projects(folder)) == 1
    assert {call.project for call in store.calls()} == {str(tmp_path / "shop")}


def test_a_link_in_a_circle_is_no_project(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    assert find_root(str(tmp_path / "a"), None) in (None, str(tmp_path / "a"))


def test_a_database_of_another_name_has_projects_of_its_own(tmp_path: Path) -> None:
    assert projects_folder(tmp_path / "ullage.db") == tmp_path / "projects"
    assert projects_folder(tmp_path / "team.db") == tmp_path / "team-projects"


# Reading many files as one


def test_records_of_all_projects_come_newest_first(open_projects: Opening, records: Records) -> None:
    store = open_projects(clock_ms=lambda: 0)
    for number in range(12):
        project = (None, "/code/a", "/code/b", "/code/c")[number % 4]
        store.put_session(records.session(f"s{number:02}", last_ms=number, project=project))
        store.put_call(records.call(f"c{number:02}", session="s1", created_ms=number, project=project))
        store.put_event(records.event(created_ms=number, project=project, details={"n": number}))
    assert store.flush()
    newest = [f"{number:02}" for number in reversed(range(12))]
    assert [session.id[1:] for session in store.sessions()] == newest
    assert [session.id[1:] for session in store.sessions(limit=3)] == newest[:3]
    assert [call.id[1:] for call in store.calls(limit=5)] == newest[:5]
    assert [event.details["n"] for event in store.events(limit=4)] == [11, 10, 9, 8]
    assert [call.id for call in store.calls("s1", limit=99)] == [f"c{number}" for number in newest]


def test_one_record_is_found_wherever_it_lies(open_projects: Opening, records: Records) -> None:
    store = open_projects()
    for name, project in (("aa1", None), ("aa2", "/code/a"), ("ab1", "/code/b")):
        store.put_session(records.session(name, project=project))
        store.put_call(records.call(name, session=name, project=project))
    assert store.flush()
    for name in ("aa1", "aa2", "ab1"):
        assert store.find_session(name) is not None
        assert store.find_call(name) is not None
        assert [call.id for call in store.calls(name)] == [name]
    assert store.session_ids("aa") == store.call_ids("aa") == ["aa1", "aa2"]
    assert store.call_ids("", limit=2) == ["aa1", "aa2"]
    assert (store.find_session("x"), store.find_call("x"), store.calls("x")) == (None, None, [])


def test_a_session_that_changes_its_project_keeps_its_records_where_they_are(
    open_projects: Opening, records: Records, folder: Path
) -> None:
    store = open_projects(clock_ms=lambda: 0)
    store.put_call(records.call("c1", created_ms=1, project="/code/a"))
    store.put_session(records.session(started_ms=1, last_ms=1, calls=1, project="/code/a"))
    store.put_call(records.call("c2", created_ms=2, project="/code/b"))
    store.put_session(records.session(started_ms=1, last_ms=2, calls=2, project="/code/b"))
    store.put_event(records.event(created_ms=2, session="s1", project="/code/b"))
    assert store.flush()
    assert [session.calls for session in store.sessions()] == [2]
    found = store.find_session("s1")
    assert found is not None and found.project == "/code/b"
    assert [call.id for call in store.calls("s1")] == ["c2", "c1"]
    assert len(store.events("s1")) == 1
    assert rows(project_path(folder, "/code/a")) == ["c1"]
    assert rows(project_path(folder, "/code/b")) == ["c2"]


@pytest.fixture
def many(database: Path, records: Records, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Twenty projects of one session with two calls each, last written to on twenty days; the names of files that are read."""
    now_ms = records.call().created_ms
    store = open_store("sqlite", database.parent, lambda: now_ms, scope="project", keep_days=999)
    for number in range(20):
        fields: dict[str, Any] = {"project": f"/code/{number}"}
        time_ms = now_ms - number * 10 * DAY_MS
        store.put_session(records.session(f"s{number}", started_ms=time_ms, last_ms=time_ms, **fields))
        for call in range(2):
            store.put_call(records.call(f"c{number}-{call}", session=f"s{number}", created_ms=time_ms, **fields))
    assert store.flush()
    store.close()
    folder = projects_folder(database)
    for number in range(20):
        written_at(project_path(folder, f"/code/{number}"), now_ms - number * 10 * DAY_MS)
    opened: list[str] = []
    whole = sqlite3.connect

    def connect(name: str, *arguments: Any, **options: Any) -> sqlite3.Connection:
        if "projects" in name:
            opened.append(name)
        return whole(name, *arguments, **options)

    monkeypatch.setattr("sqlite3.connect", connect)
    return opened


def test_no_file_is_opened_that_cannot_hold_what_is_asked_for(many: list[str], database: Path) -> None:
    reader = open_reader("sqlite", database.parent)
    assert [session.id for session in reader.sessions(limit=1)] == ["s0"]
    assert len(many) == 1
    assert [session.id for session in reader.sessions(limit=3)] == ["s0", "s1", "s2"]
    assert len(many) == 3
    assert [call.id for call in reader.calls("s1")] == ["c1-1", "c1-0"]
    assert reader.find_call("c2-1") is not None
    assert len({name.partition("?")[0] for name in many}) == 3
    reader.close()


def test_a_session_that_is_nowhere_is_looked_for_in_every_file_but_once(many: list[str], database: Path) -> None:
    reader = open_reader("sqlite", database.parent)
    assert reader.find_session("new") is None
    looked_at = len(many)
    assert looked_at == 20
    assert (reader.find_session("newer"), reader.calls("newest"), reader.events("newest")) == (None, [], [])
    assert len(many) == looked_at
    reader.close()


def test_a_file_that_changed_is_looked_into_again(many: list[str], database: Path, records: Records) -> None:
    reader = open_reader("sqlite", database.parent)
    assert reader.find_session("new") is None
    other = SqliteStore(project_path(projects_folder(database), "/code/7"), clock_ms=lambda: 0, keep_days=10**6)
    other.put_session(records.session("new", project="/code/7"))
    assert other.flush()
    assert reader.find_session("new") is not None
    other.close()
    assert reader.find_session("new") is not None
    reader.close()


def test_reading_many_files_keeps_few_open(many: list[str], database: Path) -> None:
    def count() -> int:
        return sum("projects" in str(link.readlink()) for link in Path("/proc/self/fd").iterdir() if link.is_symlink())

    if not Path("/proc/self/fd").is_dir():
        pytest.skip("open files cannot be counted here")
    reader = open_reader("sqlite", database.parent)
    assert len(reader.sessions(limit=99)) == 20
    # Each connection has the file, its log and the index of the log.
    assert count() <= 3 * MOST_READERS
    reader.close()
    assert count() == 0


def test_threads_may_read_many_files_at_once(many: list[str], database: Path) -> None:
    reader = open_reader("sqlite", database.parent)
    found: list[int] = []

    def read() -> None:
        found.extend(len(reader.calls(limit=99)) for _ in range(5))

    threads = [threading.Thread(target=read) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(found) == {40}
    reader.close()
    with pytest.raises(StoreError, match="closed"):
        reader.calls()


# Few open, nothing lost


def test_many_projects_at_once_keep_few_stores_open_and_lose_nothing(
    open_projects: Opening, records: Records, folder: Path
) -> None:
    before = threading.active_count()
    store = open_projects(clock_ms=lambda: 0)
    most = 0
    for number in range(300):
        store.put_call(records.call(f"c{number}", created_ms=number, project=f"/code/{number % 30}"))
        most = max(most, threading.active_count() - before)
        time.sleep(0.001)
    assert store.flush(20)
    assert most <= MOST_OPEN + 3  # the shared one, the one that opens them, one that is just leaving
    assert len(store.calls(limit=999)) == 300
    assert len(list_projects(folder)) == 30
    store.close()
    assert threading.active_count() == before
    assert store.problems() == ()


def test_a_put_never_waits_for_a_file_to_be_opened(
    open_projects: Opening, records: Records, monkeypatch: pytest.MonkeyPatch
) -> None:
    go_on = threading.Event()
    whole = SqliteStore.__init__

    def slowly(store: SqliteStore, path: Path, **options: Any) -> None:
        if "projects" in str(path):
            go_on.wait(30)
        whole(store, path, **options)

    store = open_projects()
    monkeypatch.setattr(SqliteStore, "__init__", slowly)
    call = records.call(project="/code/a", usage={"input_fresh": 1})
    store.put_call(call)
    assert call.usage is not None
    call.usage["input_fresh"] = 2  # it was copied when it was put
    assert not store.flush(0.05)
    go_on.set()
    assert store.flush()
    assert [call.usage for call in store.calls()] == [{"input_fresh": 1}]


def test_what_waits_for_files_is_bounded_and_what_is_dropped_is_counted(
    open_projects: Opening, records: Records, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(open_projects_module, "MOST_WAITING", 3)
    go_on = threading.Event()
    whole = SqliteStore.__init__

    def slowly(store: SqliteStore, path: Path, **options: Any) -> None:
        if "projects" in str(path):
            go_on.wait(30)
        whole(store, path, **options)

    store = open_projects()
    monkeypatch.setattr(SqliteStore, "__init__", slowly)
    for number in range(5):
        store.put_call(records.call(f"c{number}", project="/code/a"))
    assert store.problems() == ("2 records lost: too many were waiting for the files of their projects.",)
    go_on.set()
    assert store.flush()
    assert len(store.calls()) == 3


def test_closing_writes_what_waits_in_every_project(open_projects: Opening, records: Records) -> None:
    store = open_projects(clock_ms=lambda: 0)
    for number in range(20):
        store.put_call(records.call(f"c{number}", created_ms=number, project=f"/code/{number}"))
    store.close()
    assert store.problems() == ()
    assert len(open_projects(clock_ms=lambda: 0).calls(limit=99)) == 20


def test_a_put_after_closing_is_counted(open_projects: Opening, records: Records) -> None:
    store = open_projects()
    store.close()
    store.put_call(records.call(project="/code/a"))
    assert store.problems() == ("1 record lost: the stores of their projects were closed.",)


def test_a_locked_project_keeps_no_other_from_being_written(
    open_projects: Opening, records: Records, folder: Path
) -> None:
    store = open_projects()
    store.put_call(records.call("first", project="/code/a"))
    assert store.flush()
    other = sqlite3.connect(project_path(folder, "/code/a"), isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    store.put_call(records.call("waits", project="/code/a"))
    store.put_call(records.call("goes on", project="/code/b"))
    store.put_call(records.call("goes on, too"))
    wait_until(lambda: {"goes on", "goes on, too"} <= {call.id for call in store.calls()})
    assert "waits" not in {call.id for call in store.calls()}
    other.execute("ROLLBACK")
    other.close()
    assert store.flush()
    assert len(store.calls()) == 4


def test_a_project_that_cannot_be_used_costs_its_own_records_alone(
    open_projects: Opening, records: Records, folder: Path
) -> None:
    store = open_projects()
    for name in ("a", "b"):
        store.put_call(records.call(name, project=f"/code/{name}"))
    assert store.flush()
    store.close()
    other = sqlite3.connect(project_path(folder, "/code/a"))
    other.execute("UPDATE schema_migrations SET version = 997 + version")
    other.commit()
    other.close()
    store = open_projects()
    assert [call.id for call in store.calls()] == ["b"]
    assert [problem.partition(": ")[2].split(";")[0] for problem in store.problems()] == [
        "The database has version 998"
    ]
    store.put_call(records.call("c", project="/code/a"))
    assert store.flush()
    assert any("Nothing of a project is kept after this run." in problem for problem in store.problems())
    assert {call.id for call in store.calls()} == {"b", "c"}


def test_a_damaged_project_is_moved_aside_once_it_is_written_to(
    open_projects: Opening, records: Records, folder: Path, clock: Clock
) -> None:
    store = open_projects()
    store.put_call(records.call("a", project="/code/a"))
    assert store.flush()
    store.close()
    path = project_path(folder, "/code/a")
    path.write_bytes(b"not a database " * 500)
    store = open_projects()
    assert store.calls() == []
    store.put_call(records.call("new", project="/code/a"))
    assert store.flush()
    assert [call.id for call in store.calls()] == ["new"]
    assert path.with_name(f"{path.name}.corrupt-{clock.now_ms}").exists()
    assert len(list_projects(folder)) == 1


def test_damage_that_a_read_meets_in_an_open_project_is_repaired(
    open_projects: Opening, records: Records, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ullage.stores.writer.prune_portion", lambda *_: 0)
    store = open_projects()
    for number in range(400):
        store.put_call(records.call(f"c{number}", path=os.urandom(1000).hex(), project="/code/a"))
    assert store.flush()
    store.close()
    store = open_projects()
    store.put_session(records.session(project="/code/a"))
    assert store.flush()
    path = project_path(folder, "/code/a")
    with path.open("r+b") as file:
        file.seek(12 * 4096)
        file.write(b"\xff" * (path.stat().st_size - 12 * 4096))
    assert len(store.calls(limit=999)) == 0
    wait_until(lambda: any("was damaged: it was moved to" in problem for problem in store.problems()))


def make_older(path: Path) -> None:
    """The first version of the tables, as it was before there were samples and prefixes."""
    connection = sqlite3.connect(path)
    connection.executescript(
        "DROP TABLE samples; DROP TABLE prefixes; DROP TABLE mutations; DROP TABLE artifacts;"
        "DROP TABLE spend_attempts; DROP TABLE spend_totals; DROP TABLE routing;"
        "DROP INDEX calls_by_task; ALTER TABLE calls DROP COLUMN task;"
        "DELETE FROM schema_migrations WHERE version > 1; PRAGMA journal_mode = DELETE;"
    )
    connection.close()


def test_a_project_of_an_older_version_is_brought_up_to_date_when_it_is_read(
    open_projects: Opening, records: Records, database: Path, folder: Path
) -> None:
    store = open_projects()
    store.put_call(records.call(project="/code/a"))
    store.close()
    make_older(project_path(folder, "/code/a"))
    reader = open_reader("sqlite", database.parent)
    assert reader.calls() == []
    assert "Start `ullage serve` once" in reader.problems()[0]
    reader.close()
    assert len(open_projects().calls()) == 1


def test_projects_that_are_not_in_use_are_brought_up_to_date_and_pruned_too(
    open_projects: Opening, records: Records, folder: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ullage.stores.sweep.FIRST_S", 0.0)
    store = open_projects()
    for number in range(3):
        store.put_call(records.call(f"c{number}", project=f"/code/{number}"))
    store.close()
    make_older(project_path(folder, "/code/0"))
    clock.now_ms += 91 * DAY_MS
    store = open_projects()
    wait_until(lambda: not any(rows(file.path) for file in list_projects(folder)))
    store.close()
    assert rows(project_path(folder, "/code/0"), "samples") == []


# Processes


def test_a_killed_process_loses_no_written_record(database: Path, open_projects: Opening) -> None:
    script = (
        "import os, signal, sys; from pathlib import Path; from ullage.stores import *\n"
        "store = open_store('sqlite', Path(sys.argv[1]), lambda: 0, keep_days=9**6, scope='project')\n"
        "for n in range(90): store.put_event(EventRecord(created_ms=n, kind='branch', project=f'/code/{n % 9}'))\n"
        "assert store.flush(); os.kill(os.getpid(), signal.SIGKILL)"
    )
    ended = subprocess.run([sys.executable, "-c", script, str(database.parent)], check=False)
    assert ended.returncode == -signal.SIGKILL
    assert len(open_projects(keep_days=9**6).events(limit=999)) == 90


@forks
def test_eight_processes_that_write_to_the_same_projects_lose_nothing(
    open_projects: Opening, records: Records, database: Path
) -> None:
    """Planner specification, R57."""
    context = multiprocessing.get_context("fork")
    workers = [context.Process(target=put_calls, args=(database.parent, number)) for number in range(8)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert [worker.exitcode for worker in workers] == [0] * 8
    assert len(open_projects(clock_ms=lambda: 0).calls(limit=999)) == 8 * 30


def put_calls(data_dir: Path, worker: int) -> None:
    store = open_store("sqlite", data_dir, lambda: 0, keep_days=9**6, scope="project")
    for number in range(30):
        store.put_call(
            CallRecord(
                id=f"{worker}-{number}",
                session=f"s{worker}",
                created_ms=number,
                dialect="anthropic",
                kind="conversation",
                path="/",
                provider="anthropic",
                model=None,
                outcome="ok",
                project=f"/code/{number % 10}",
            )
        )
    store.close(30)
    assert store.problems() == ()


@forks
def test_in_a_forked_child_the_store_is_closed_and_the_parent_goes_on(
    open_projects: Opening, records: Records, database: Path
) -> None:
    store = open_projects()
    store.put_call(records.call("before", project="/code/a"))
    assert store.flush()
    child = multiprocessing.get_context("fork").Process(target=use_in_child, args=(store, records))
    child.start()
    child.join()
    assert child.exitcode == 0
    with pytest.raises(InUseError):
        Lease(database).take_alone()
    store.put_call(records.call("after", project="/code/a"))
    assert store.flush()
    assert {call.id for call in store.calls()} == {"before", "after"}


def use_in_child(store: Store, records: Records) -> None:
    store.put_call(records.call("child", project="/code/a"))
    assert any("closed" in problem for problem in store.problems())
    with pytest.raises(StoreError, match="closed"):
        store.calls()
    store.close()


# Random commands

PROJECTS = st.sampled_from([None, "/code/a", "/code/b", "/code/c"])


class ProjectMachine(RuleBasedStateMachine):
    """Records with times that only grow, in projects that sessions change: what is read is what one list of each would say."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.time_ms = 0
        self.sessions: dict[str, SessionRecord] = {}
        self.calls: list[CallRecord] = []
        self.events: list[EventRecord] = []
        self.store = self.open()

    def open(self) -> Store:
        return open_store("sqlite", Path(self.folder.name), lambda: 0, scope="project")

    @rule(session=st.sampled_from(["s1", "s2"]), project=PROJECTS, helper=st.booleans())
    def put(self, session: str, project: str | None, helper: bool) -> None:
        self.time_ms += 1
        call = CallRecord(
            id=f"c{self.time_ms:03}",
            session=session,
            created_ms=self.time_ms,
            dialect="anthropic",
            kind="title" if helper else "conversation",
            path="/",
            provider="anthropic",
            model=None,
            outcome="ok",
            project=project,
        )
        known = self.sessions.get(session)
        record = SessionRecord(
            id=session,
            client="pi",
            identity="client",
            started_ms=known.started_ms if known else self.time_ms,
            last_ms=self.time_ms,
            project=project,
        )
        event = EventRecord(created_ms=self.time_ms, kind="branch", session=session, project=project)
        self.store.put_call(call)
        self.store.put_session(record)
        self.store.put_event(event)
        self.sessions[session] = record
        self.calls.insert(0, call)
        self.events.insert(0, event)

    @rule(session=st.sampled_from([None, "s1", "s2"]), limit=st.integers(0, 6))
    def read(self, session: str | None, limit: int) -> None:
        assert self.store.flush()
        newest = sorted(self.sessions.values(), key=lambda record: -record.last_ms)
        assert self.store.sessions(limit=limit) == newest[:limit]
        calls = [call for call in self.calls if session in (None, call.session)]
        assert self.store.calls(session, limit=limit) == calls[:limit]
        titles = [call for call in calls if call.kind == "title"]
        assert self.store.calls(session, kind="title", limit=limit) == titles[:limit]
        events = [event for event in self.events if session in (None, event.session)]
        assert self.store.events(session, limit=limit) == events[:limit]

    @rule(name=st.sampled_from(["s1", "s2", "s3"]), number=st.integers(1, 20))
    def find(self, name: str, number: int) -> None:
        assert self.store.flush()
        assert self.store.find_session(name) == self.sessions.get(name)
        assert self.store.session_ids("s") == sorted(self.sessions)
        wanted = f"c{number:03}"
        assert self.store.find_call(wanted) == next((call for call in self.calls if call.id == wanted), None)
        assert self.store.call_ids("c0", limit=3) == sorted(call.id for call in self.calls)[:3]

    @rule()
    def open_again(self) -> None:
        self.store.close()
        self.store = self.open()

    @invariant()
    def nothing_is_wrong(self) -> None:
        assert self.store.problems() == ()

    def teardown(self) -> None:
        self.store.close()
        self.folder.cleanup()


def test_many_files_are_read_as_if_they_were_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(open_projects_module, "MOST_OPEN", 2)
    run_state_machine_as_test(ProjectMachine, settings=settings(max_examples=15, stateful_step_count=20, deadline=None))
