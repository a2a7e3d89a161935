"""What is kept, as it is read from a store and written to it."""

from __future__ import annotations

import multiprocessing
import threading
from typing import TYPE_CHECKING

import msgspec
import pytest

from tests.core.evidence.keeping import letters
from ullage.core.errors import StoreError
from ullage.core.evidence.changes import Owner
from ullage.core.evidence.pins import NewPin, PinLimits, add_pin, remove_pin
from ullage.stores import MemoryStore, SqliteStore, open_reader, open_store
from ullage.stores.copying import back_up
from ullage.stores.keeping import Keeper, make_stamp, report_item, write_change
from ullage.stores.maintenance import rebuild

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import Clock, Records

    from ullage.core.evidence.mutations import Item
    from ullage.stores import Store

    Opening = Callable[..., SqliteStore]


def pin(store: Store, text: str, now_ms: int = 1, session: str = "s1") -> Item:
    new = NewPin(text=text, owner=Owner(scope="session", session=session))
    stamp = make_stamp("pin", now_ms)
    return write_change(store, add_pin(Keeper(store).kept(), new, stamp, limits=PinLimits(), count=letters))


def test_what_was_written_is_kept(store: Store) -> None:
    first = pin(store, "Use pnpm.")
    assert Keeper(store).kept().items == {first.id: first}
    write_change(store, remove_pin(Keeper(store).kept(), first.id, make_stamp("pin", 2)))
    assert Keeper(store).kept().active("pin") == []


def test_a_duplicate_writes_nothing(store: Store) -> None:
    first = pin(store, "Use pnpm.")
    version = store.mutation_version()
    assert pin(store, "use PNPM.") == first
    assert store.mutation_version() == version


def test_a_keeper_reads_the_log_only_when_it_has_grown(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    keeper = Keeper(store)
    pin(store, "Use pnpm.")
    reads: list[int] = []
    read = store.mutations
    monkeypatch.setattr(store, "mutations", lambda: reads.append(1) or read())
    assert keeper.kept() is keeper.kept()
    assert len(reads) == 1
    pin(store, "Use vitest.")
    assert len(keeper.kept().items) == 2


def test_a_keeper_sees_what_another_process_wrote(open_sqlite: Opening) -> None:
    here, there = open_sqlite(), open_sqlite()
    keeper = Keeper(here)
    assert keeper.kept().items == {}
    pin(there, "Use pnpm.")
    assert [item.text for item in keeper.kept().items.values()] == ["Use pnpm."]


def test_what_was_last_known_is_there_when_the_store_is_not(open_sqlite: Opening, database: Path) -> None:
    store = open_sqlite()
    keeper = Keeper(store)
    pin(store, "Use pnpm.")
    keeper.kept()
    store.close()
    with pytest.raises(StoreError):
        keeper.kept()
    assert len(keeper.last.items) == 1


def test_many_threads_may_ask_and_write_at_once(store: Store) -> None:
    keeper = Keeper(store)
    threads = [threading.Thread(target=pin, args=(store, f"pin {number}")) for number in range(8)]
    for thread in threads:
        thread.start()
        keeper.kept()
    for thread in threads:
        thread.join()
    assert {item.text for item in keeper.kept().items.values()} == {f"pin {number}" for number in range(8)}


def test_what_may_not_have_been_written_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    store = MemoryStore(problems=("The disk is full.",))
    monkeypatch.setattr(store, "flush", lambda: False)
    with pytest.raises(StoreError) as refusal:
        pin(store, "Use pnpm.")
    assert (refusal.value.code, refusal.value.hint) == ("indeterminate", "The disk is full.")


def test_ids_are_new_and_say_what_they_are() -> None:
    stamps = [make_stamp("pin", 5), make_stamp("pin", 5), make_stamp("memory", 5)]
    assert len({stamp.item for stamp in stamps} | {stamp.mutation for stamp in stamps}) == 6
    assert [stamp.item[:4] for stamp in stamps] == ["pin_", "pin_", "mem_"]


def test_a_report_has_times_as_programs_write_them(store: Store) -> None:
    told = report_item(pin(store, "Use pnpm.", 1_780_000_000_000))
    assert (told["created_at"], told["state"], told["text"]) == ("2026-05-28T20:26:40.000Z", "active", "Use pnpm.")
    msgspec.json.encode(told)


# What only we hold must not be lost (design.md 8)


@pytest.fixture
def filled(open_projects: Callable[..., Store], records: Records, clock: Clock, database: Path) -> list[str]:
    """A database whose records are all older than those it keeps, closed; the texts of its pins."""
    store = open_projects()
    for number in range(30):
        store.put_mutation(records.mutation(f"m{number}", item=f"p{number}", created_ms=clock.now_ms))
    store.put_call(records.call(project="/code/a"))
    assert store.flush()
    store.close()
    clock.now_ms += 9_999 * 24 * 60 * 60 * 1000
    return [f"p{number}" for number in range(30)]


def kept_at(folder: Path) -> list[str]:
    reader = open_reader("sqlite", folder)
    try:
        return sorted(Keeper(reader).kept().items, key=lambda name: int(name[1:]))
    finally:
        reader.close()


def test_what_is_kept_is_never_too_old(filled: list[str], clock: Clock, database: Path) -> None:
    store = open_store("sqlite", database.parent, clock, keep_days=1)
    store.flush()
    store.close()
    assert kept_at(database.parent) == filled


def test_what_is_kept_is_in_a_backup(filled: list[str], database: Path, tmp_path: Path) -> None:
    back_up(database, tmp_path / "copy", force=False, progress=lambda _: None)
    assert kept_at(tmp_path / "copy") == filled


def test_what_is_kept_survives_a_rebuild(filled: list[str], database: Path) -> None:
    results = rebuild(database, now_ms=1, everything=True, also=None, progress=lambda _: None)
    assert [result.kept["mutations"] for result in results] == [30, 0]
    assert kept_at(database.parent) == filled


def test_what_is_kept_is_in_the_shared_database_whatever_the_project(
    open_projects: Callable[..., Store], records: Records, database: Path
) -> None:
    store = open_projects()
    store.put_mutation(records.mutation(scope="project", project="/code/a"))
    assert store.flush()
    store.close()
    assert not (database.parent / "projects").exists()
    assert kept_at(database.parent) == ["p1"]


def keep_many(database: Path, writer: int) -> None:
    store = SqliteStore(database, clock_ms=lambda: 0)
    for number in range(20):
        pin(store, f"pin {number} of {writer}", number, f"s{writer}")
    store.close(30)
    assert store.problems() == ()


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_four_processes_that_pin_into_one_log_lose_nothing(open_sqlite: Opening, database: Path) -> None:
    context = multiprocessing.get_context("fork")
    processes = [context.Process(target=keep_many, args=(database, writer)) for writer in range(4)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(60)
    assert [process.exitcode for process in processes] == [0] * 4
    texts = {item.text for item in Keeper(open_sqlite()).kept().active("pin")}
    assert texts == {f"pin {number} of {writer}" for number in range(20) for writer in range(4)}


def test_a_change_waits_for_the_disk_and_records_that_can_be_had_again_do_not(
    open_sqlite: Opening, records: Records
) -> None:
    """A power cut must not take back what a person was told is kept."""
    from ullage.stores.files import open_for_writing

    statements: list[str] = []

    def connect(path: Path, now_ms: int) -> object:
        connection = open_for_writing(path, now_ms)
        connection.set_trace_callback(statements.append)
        return connection

    store = open_sqlite(connect=connect)
    levels = []
    for put in (lambda: store.put_call(records.call()), lambda: store.put_mutation(records.mutation())):
        statements.clear()
        put()
        assert store.flush()
        levels.append([statement for statement in statements if "synchronous" in statement])
    assert levels == [["PRAGMA synchronous = NORMAL"], ["PRAGMA synchronous = FULL"]]
