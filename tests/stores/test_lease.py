"""Who may use the databases: stores together, or a command alone."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from typing import TYPE_CHECKING

import pytest

from ullage.core.errors import StoreError
from ullage.stores.alone import beside_others
from ullage.stores.lease import InUseError, Lease

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from conftest import Records

    from ullage.stores import Store


@pytest.fixture
def leases(database: Path) -> Iterator[tuple[Lease, Lease]]:
    """Two of them on one database."""
    pair = (Lease(database), Lease(database))
    yield pair
    for lease in pair:
        lease.release()


def test_stores_share_it(leases: tuple[Lease, Lease]) -> None:
    for lease in leases:
        lease.share()
        lease.share()


def test_a_command_has_it_alone(leases: tuple[Lease, Lease]) -> None:
    first, second = leases
    first.take_alone()
    for attempt in (second.share, second.take_alone):
        with pytest.raises(InUseError):
            attempt()
    first.release()
    first.release()
    second.share()
    with pytest.raises(InUseError, match="in use"):
        first.take_alone()


def test_whoever_is_alone_looks_at_what_was_left(database: Path) -> None:
    looked: list[str] = []
    first = Lease(database, recover=lambda: looked.append("first"))
    second = Lease(database, recover=lambda: looked.append("second"))
    first.share()
    second.share()
    assert looked == ["first"]
    first.release()
    second.release()
    second.take_alone()
    assert looked == ["first", "second"]
    second.release()


def test_it_is_kept_by_nobody_when_looking_at_what_was_left_fails(leases: tuple[Lease, Lease], database: Path) -> None:
    def fail() -> None:
        raise OSError("no")

    with pytest.raises(OSError, match="no"):
        Lease(database, recover=fail).share()
    leases[0].take_alone()


def test_its_file_is_private_and_holds_nothing(leases: tuple[Lease, Lease]) -> None:
    leases[0].share()
    status = leases[0].path.stat()
    assert (status.st_mode & 0o777, status.st_size) == (0o600, 0)


def test_it_ends_with_its_process(leases: tuple[Lease, Lease], database: Path) -> None:
    script = (
        "import os, signal, sys; from pathlib import Path; from ullage.stores.lease import Lease\n"
        "Lease(Path(sys.argv[1])).take_alone(); os.kill(os.getpid(), signal.SIGKILL)"
    )
    ended = subprocess.run([sys.executable, "-c", script, str(database)], check=False)
    assert ended.returncode == -signal.SIGKILL
    leases[0].take_alone()


def test_records_wait_while_a_command_works_and_none_is_lost(
    open_projects: Callable[..., Store], records: Records, database: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ullage.stores.writer.OPEN_WAIT_S", 0.1)
    command = Lease(database)
    command.take_alone()
    store = open_projects()
    store.put_call(records.call("shared"))
    store.put_call(records.call("own", project="/code/a"))
    assert not store.flush(0.2)
    assert not database.exists()
    assert any("`ullage db` is working on it" in problem for problem in store.problems())
    command.release()
    assert store.flush()
    assert {call.id for call in store.calls()} == {"shared", "own"}
    assert store.problems() == ()


def test_a_store_gives_it_back_when_it_is_closed(open_projects: Callable[..., Store], database: Path) -> None:
    store = open_projects()
    with pytest.raises(InUseError):
        Lease(database).take_alone()
    store.close()
    lease = Lease(database)
    lease.take_alone()
    lease.release()


def test_closing_in_a_child_leaves_it_with_the_parent(leases: tuple[Lease, Lease]) -> None:
    leases[0].share()
    child = os.fork() if hasattr(os, "fork") else pytest.skip("there are no forks here")
    if child == 0:
        leases[0].forget_in_child()
        os._exit(0)
    os.waitpid(child, 0)
    with pytest.raises(InUseError):
        leases[1].take_alone()


def test_pruning_waits_a_moment_for_a_daemon_that_starts_and_not_for_another_command(database: Path) -> None:
    command = Lease(database)
    command.take_alone()
    with pytest.raises(StoreError, match="Another `ullage db` is working"), beside_others(database):
        pass
    timer = threading.Timer(0.1, command.release)
    timer.start()
    with beside_others(database):
        pass
    timer.join()
