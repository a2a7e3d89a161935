"""A TOML file as a flat list of keys with the line each was written on, which tomllib alone does not tell."""

from __future__ import annotations

import re
import tomllib
from typing import TYPE_CHECKING, Any

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

# A configuration has some dozens of lines; what is larger is not one, and would only cost time to say so.
LARGEST_FILE_BYTES = 1024 * 1024


KeyPath = tuple[str | int, ...]
"""The names that lead to a value; a number is a place in an array of tables."""


class TomlError(Exception):
    """The file cannot be used; `line` is where, if that is known."""

    def __init__(self, message: str, line: int | None = None) -> None:
        super().__init__(message)
        self.line = line


class TomlEntry(Struct, frozen=True):
    """One value: its key in dotted form, the line (from 1) its statement starts on, and the names and places of its key.

    A member of an array of tables has `[]` behind the array's name in the key, and its place (from 0) in the path.
    """

    key: str
    value: Any
    line: int
    path: KeyPath


class Statement(Struct, frozen=True):
    """One header or one key with its value. `start` and `end` are line indexes from 0, `end` not included."""

    start: int
    end: int
    header: bool
    data: dict[str, Any]


def read_toml(path: Path) -> list[TomlEntry]:
    """Every value of a file. Raises `FileNotFoundError` if there is none, `TomlError` if it cannot be read."""
    try:
        if path.stat().st_size > LARGEST_FILE_BYTES:
            raise TomlError(f"is larger than {LARGEST_FILE_BYTES} bytes, so not a configuration")
        text = path.read_bytes().decode("utf-8-sig")
    except FileNotFoundError:
        raise
    except OSError as error:
        raise TomlError(f"cannot be read: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise TomlError("is not UTF-8 text", line=error.object[: error.start].count(b"\n") + 1) from error
    return parse_toml(text)


def parse_toml(text: str) -> list[TomlEntry]:
    """Every value of a text, in the order they are written. Raises `TomlError`."""
    check_toml(text)
    entries: list[TomlEntry] = []
    header: KeyPath = ()
    header_line, filled = 0, True
    members: dict[KeyPath, int] = {}
    for statement in statements(text):
        if not statement.header:
            filled = True
            entries.extend(entry_of(header + path, value, statement.start) for path, value in leaves(statement.data))
            continue
        if not filled:
            entries.append(entry_of(header, {}, header_line))
        header = place_of(statement.data, members)
        header_line, filled = statement.start, False
    if not filled:
        entries.append(entry_of(header, {}, header_line))
    return entries


def entry_of(path: KeyPath, value: Any, line: int) -> TomlEntry:
    key = ""
    for step in path:
        key += "[]" if isinstance(step, int) else f".{step}" if key else step
    return TomlEntry(key=key, value=value, line=line + 1, path=path)


def place_of(header: Any, members: dict[KeyPath, int]) -> KeyPath:
    """The path of a header, given as the data of its statement. A name of an array means the array's last member.

    `members` counts the members of each array so far.
    """
    path: KeyPath = ()
    while isinstance(header, dict) and header:
        ((name, header),) = header.items()
        path += (name,)
        if isinstance(header, list):
            members[path] = members.get(path, 0) + 1
        if path in members:
            path += (members[path] - 1,)
    return path


def check_toml(text: str) -> dict[str, Any]:
    """The parsed text. Raises `TomlError` with the line of the fault."""
    try:
        return tomllib.loads(text)
    except RecursionError as error:
        raise TomlError("is nested too deeply") from error
    except ValueError as error:  # TOMLDecodeError, or a number of thousands of digits
        found = re.search(r"\s*\(at (?:line (\d+), column \d+|end of document)\)", str(error))
        line = None if found is None else int(found[1]) if found[1] else text.count("\n") + 1
        raise TomlError(f"is not TOML: {re.sub(r' *[(]at .*', '', str(error))}", line=line) from error


def statements(text: str) -> Iterator[Statement]:
    """The statements of a text that is known to be TOML: lines are joined until they parse by themselves."""
    lines = text.split("\n")
    start = 0
    for end in range(1, len(lines) + 1):
        data = try_toml("\n".join(lines[start:end]) + "\n")
        if data is None:
            continue
        if data:
            yield Statement(start=start, end=end, header=lines[start].lstrip().startswith("["), data=data)
        start = end


def try_toml(text: str) -> dict[str, Any] | None:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return None


def flatten(table: dict[str, Any]) -> list[tuple[str, Any]]:
    """The leaves of nested tables under dotted keys."""
    return [(".".join(map(str, path)), value) for path, value in leaves(table)]


def leaves(table: dict[str, Any], prefix: KeyPath = ()) -> Iterator[tuple[KeyPath, Any]]:
    """The leaves of nested tables under their paths. An empty table is a leaf."""
    for name, value in table.items():
        path = (*prefix, name)
        if isinstance(value, dict) and value:
            yield from leaves(value, path)
        else:
            yield path, value
