"""Makes a fresh database out of what can be read of a damaged or old one, row by row."""

from __future__ import annotations

import contextlib
import sqlite3
from collections import Counter
from contextlib import closing
from typing import TYPE_CHECKING, Any, NamedTuple

from ullage.core.errors import StoreError

from .alone import need_room
from .files import explain, name_fault, open_for_writing, open_read_only
from .inspection import RECORDS, is_readable
from .migrations import APPLICATION_ID, MIGRATIONS, migrate
from .swap import replacing
from .tally import Tally, column_names, table_names

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

Row = tuple[Any, ...]

_WINDOW = 1_000
"""Rows that are read at once; a window with damage is halved until the damage is found."""

_DEAD_WINDOWS = 20
"""So many windows without a readable row end a stretch of a table whose last row is not known."""


class Salvaged(NamedTuple):
    """Rows of each table that are in the fresh database, and those that could not be read; `None` for a number not known."""

    kept: dict[str, int]
    lost: dict[str, int | None]


def salvage(sources: list[Path], candidate: Path, now_ms: int) -> Salvaged:
    """Fills the empty file `candidate` with what can be read of `sources`; what a row says in an earlier source holds.

    Every table is checked against what was read when it is done. Raises `StoreError` if nothing at all can be read
    (`nothing_readable`), if a source is of another program or made by a newer version, or if the copy is not what was read.
    """
    version = max(_version_of(source) for source in sources)
    with closing(sqlite3.connect(candidate, isolation_level=None)) as target:
        # Nobody reads it until it is whole, and it is thrown away if it does not become so.
        target.execute("PRAGMA journal_mode = OFF")
        target.execute("PRAGMA synchronous = OFF")
        migrate(target, now_ms, [step for step in MIGRATIONS if step.number <= version])
        target.execute("BEGIN")
        done = Salvaged({}, {})
        for table in RECORDS:
            if columns := column_names(target, table):
                _fill(target, table, columns, sources, done)
        target.execute("COMMIT")
    if not any(done.kept.values()) and any(number != 0 for number in done.lost.values()):
        raise StoreError(
            f"Nothing can be read of {sources[0]}.", hint="Put a backup in its place.", code="nothing_readable"
        )
    open_for_writing(candidate, now_ms).close()
    return done


def _version_of(source: Path) -> int:
    """The version of its tables; the newest if that cannot be read."""
    newest = MIGRATIONS[-1].number
    try:
        with closing(_open(source)) as connection:
            (application,) = connection.execute("PRAGMA application_id").fetchone()
            if application != APPLICATION_ID:
                raise StoreError(f"{source} is no database of ullage.", code="foreign_database")
            applied = connection.execute("SELECT version, name FROM schema_migrations").fetchall()
    except sqlite3.Error as error:
        if name_fault(error) in ("damaged", "unusable"):
            return newest
        raise explain(source, error) from error
    # A number without the name that belongs to it is damage.
    version = max((number for number, name in applied if str(name).startswith(f"m{number:03}_")), default=newest)
    if version > newest:
        raise StoreError(
            f"{source} has version {version}; this ullage knows versions up to {newest}.",
            hint="Install the newer ullage again.",
            code="newer_database",
        )
    return version


def _fill(target: sqlite3.Connection, table: str, columns: list[str], sources: list[Path], done: Salvaged) -> None:
    written = Tally()
    lost: list[int | None] = []
    for number, source in enumerate(sources):
        # Of the first source rows keep their place; those of others come after them.
        chosen = columns if number == 0 else columns[1:]
        with closing(_open(source)) as connection:
            lost.append(_take(target, connection, table, chosen, written))
    found = Tally(target.execute(f"SELECT {', '.join(columns[1:])} FROM {table}"))  # noqa: S608 - names of ours
    if found != written:
        raise StoreError(f"The copy of {table} is not what was read.", hint="Nothing was changed.", code="bad_copy")
    done.kept[table] = written.rows
    done.lost[table] = None if None in lost else sum(number or 0 for number in lost)


def _take(
    target: sqlite3.Connection, source: sqlite3.Connection, table: str, columns: list[str], written: Tally
) -> int | None:
    """Takes the rows of one source; how many were lost."""
    try:
        if table not in table_names(source):
            return 0
    except sqlite3.Error:
        return None  # not even what tables there are can be read
    insert, values = _insertion(table, columns)
    record = columns.index("record")
    read = 0
    for row in _rows(source, table, _selection(source, table, columns)):
        with contextlib.suppress(sqlite3.IntegrityError, UnicodeEncodeError):
            is_new = is_readable(table, row[record]) and target.execute(insert, values(row)).rowcount
            read += is_new is not False
            if is_new:
                written.add(row[columns[0] == "seq" :])
    whole = _agreed(_asked(source, table, "count(seq)"))
    return None if whole is None else max(0, whole - read)


def _selection(source: sqlite3.Connection, table: str, columns: list[str]) -> list[str]:
    """What is read for these columns: nothing for one that an older table does not have."""
    there: list[str] = []
    with contextlib.suppress(sqlite3.Error):
        there = column_names(source, table)
    return [name if name in there or not there else f"NULL AS {name}" for name in columns]


def _asked(connection: sqlite3.Connection, table: str, what: str) -> list[int]:
    """The number `what`, as each tree of a table tells it that can: the table itself and its indexes."""
    found = []
    for by in ("NOT INDEXED", *(f"INDEXED BY {name}" for name in _indexes(connection, table))):
        with contextlib.suppress(sqlite3.Error):
            (number,) = connection.execute(f"SELECT {what} FROM {table} {by}").fetchone()  # noqa: S608 - names from the schema
            found.append(number or 0)
    return found


def _agreed(numbers: list[int]) -> int | None:
    """The most that two trees agree on: what damage makes of one, it does not make of another."""
    return max((number for number, trees in Counter(numbers).items() if trees > 1), default=None)


def _indexes(connection: sqlite3.Connection, table: str) -> list[str]:
    return [name for (name,) in connection.execute("SELECT name FROM pragma_index_list(?)", (table,))]


def _insertion(table: str, columns: list[str]) -> tuple[str, Callable[[Row], Row]]:
    """The statement that takes a row in, unless it is there already, and the values that it wants of the row."""
    names, marks = ", ".join(columns), ", ".join("?" * len(columns))
    if columns[0] == "seq":
        return f"INSERT INTO {table} ({names}) VALUES ({marks})", lambda row: row  # noqa: S608 - names of ours
    if table == "events":  # they have no id: one that is there already is known by its time and content
        unless = "WHERE NOT EXISTS (SELECT 1 FROM events WHERE created_ms = ? AND record = ?)"
        return f"INSERT INTO events ({names}) SELECT {marks} {unless}", lambda row: (*row, *row[-2:])
    return f"INSERT OR IGNORE INTO {table} ({names}) VALUES ({marks})", lambda row: row  # noqa: S608 - as above


def _open(source: Path) -> sqlite3.Connection:
    log = source.with_name(f"{source.name}-wal")
    if log.exists() and log.stat().st_size:
        connection = open_read_only(source)
    else:  # nobody writes to it: so SQLite needs no side files, which it would leave behind
        connection = sqlite3.connect(f"{source.absolute().as_uri()}?immutable=1", uri=True, isolation_level=None)
    # Nothing is written: it makes SQLite read what is left of a file that was cut short.
    connection.execute("PRAGMA writable_schema = ON")
    # Bytes that are no text would end the whole read; so they come as text that cannot be written.
    connection.text_factory = lambda data: data.decode("utf-8", "surrogateescape")
    return connection


def _rows(connection: sqlite3.Connection, table: str, columns: list[str]) -> Iterator[Row]:
    """The rows of a table that can be read, in the order of `seq`."""
    first, last = _asked(connection, table, "min(seq)"), _agreed(_asked(connection, table, "max(seq)"))
    done = 0
    for begin in sorted({0, *first}):
        low, dead = max(done, begin - 1), 0
        while dead < _DEAD_WINDOWS if last is None else low < last:
            high = low + _WINDOW if last is None else min(low + _WINDOW, last)
            window = list(_window(connection, table, columns, low + 1, high))
            dead = 0 if window else dead + 1
            done = low = high
            yield from window


def _window(connection: sqlite3.Connection, table: str, columns: list[str], low: int, high: int) -> Iterator[Row]:
    sql = f"SELECT {', '.join(columns)} FROM {table} WHERE seq BETWEEN ? AND ? ORDER BY seq"  # noqa: S608 - names of ours
    try:
        yield from connection.execute(sql, (low, high)).fetchall()
    except sqlite3.Error as error:
        if name_fault(error) == "busy":
            raise
        if low < high:
            middle = (low + high) // 2
            yield from _window(connection, table, columns, low, middle)
            yield from _window(connection, table, columns, middle + 1, high)


def rebuild_database(path: Path, now_ms: int, *, also: Path | None = None) -> tuple[Salvaged, Path]:
    """Puts a fresh database in the place of `path`, of what can be read of it and of `also`. The old one stays under another
    name, which is given back. Nobody else may use it. Raises `StoreError`; then the old one is as it was.
    """
    try:
        need_room(path)
        aside = path.with_name(f"{path.name}.before-rebuild-{now_ms}")
        with replacing(path, aside=aside.name) as candidate:
            done = salvage([path] if also is None else [path, also], candidate, now_ms)
    except (sqlite3.Error, OSError) as error:
        raise explain(path, error) from error
    return done, aside
