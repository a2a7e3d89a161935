"""How many rows a table has and one digest of them all, so that two databases can be compared."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Sequence

_MODULUS = 2**256


class Tally:
    """Rows in any order: the digest is the sum of the SHA-256 of each, modulo 2**256."""

    def __init__(self, rows: Iterable[Sequence[Any]] = ()) -> None:
        self.rows = 0
        self._sum = 0
        for row in rows:
            self.add(row)

    def add(self, row: Sequence[Any]) -> None:
        """Takes one row in."""
        self.rows += 1
        self._sum = (self._sum + int.from_bytes(_digest(row))) % _MODULUS

    @property
    def digest(self) -> str:
        """64 hexadecimal digits."""
        return f"{self._sum:064x}"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Tally) and (self.rows, self._sum) == (other.rows, other._sum)

    def __hash__(self) -> int:
        return hash((self.rows, self._sum))


def table_names(connection: sqlite3.Connection) -> list[str]:
    """The tables of a database, by name."""
    found = connection.execute(
        "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite~_%' ESCAPE '~'"
    )
    return sorted(name for (name,) in found)


def column_names(connection: sqlite3.Connection, table: str) -> list[str]:
    """The columns of a table, in their order."""
    return [name for (name,) in connection.execute("SELECT name FROM pragma_table_info(?) ORDER BY cid", (table,))]


def count_rows(connection: sqlite3.Connection) -> dict[str, int]:
    """The number of rows of every table."""
    return {table: _count(connection, table) for table in table_names(connection)}


def tally_tables(connection: sqlite3.Connection) -> dict[str, Tally]:
    """A tally of every table, whole rows."""
    return {table: Tally(connection.execute(f'SELECT * FROM "{table}"')) for table in table_names(connection)}  # noqa: S608 - names from the schema


def _count(connection: sqlite3.Connection, table: str) -> int:
    (number,) = connection.execute(f'SELECT count(*) FROM "{table}"').fetchone()  # noqa: S608 - as above
    return int(number)


def _digest(row: Sequence[Any]) -> bytes:
    digest = hashlib.sha256()
    for value in row:
        data = value if isinstance(value, bytes) else repr(value).encode("utf-8", "surrogatepass")
        digest.update(f"{type(value).__name__}{len(data)}:".encode() + data)
    return digest.digest()
