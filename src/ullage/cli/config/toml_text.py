"""Values, and the tables that users name, as TOML writes them."""

from __future__ import annotations

import itertools
import math
import re
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import msgspec

from ullage.settings import TABLES
from ullage.settings.toml_file import KeyPath, Statement, leaves, place_of, statements, try_toml

if TYPE_CHECKING:
    from collections.abc import Iterator

    from msgspec import Struct

    from ullage.settings import Settings

_BARE = re.compile(r"[A-Za-z0-9_-]+")


def members(settings: Settings) -> Iterator[tuple[str, str, Struct]]:
    """Every member of a table: its key among the sources, its header, its fields."""
    for table in TABLES:
        content: dict[str, Struct] | tuple[Struct, ...] = attrgetter(table)(settings)
        if isinstance(content, dict):
            for name, member in content.items():
                yield f"{table}.{name}", f"[{table}.{toml_key(name)}]", member
        else:
            for number, member in enumerate(content):
                yield f"{table}[{number}]", f"[[{table}]]", member


def field_lines(member: Struct) -> list[str]:
    """The fields of a member that say something, one a line."""
    fields: dict[str, Any] = msgspec.to_builtins(member)
    return [f"{name} = {text}" for name, value in fields.items() if (text := _field(name, value))]


def insert_lines(text: str, section: str, added: list[str]) -> str | None:
    """A text of TOML with lines behind the header of a section; `None` if it has no such header.

    Without a name it is the top of the file, which any text has.
    """
    if not section:
        return _insert_at_top(text, added)
    path = tuple(section.split("."))
    for statement in statements(text):
        if statement.header and place_of(statement.data, {}) == path:
            lines = text.split("\n")
            return "\n".join([*lines[: statement.end], *added, *lines[statement.end :]])
    return None


def _insert_at_top(text: str, added: list[str]) -> str:
    """Behind the last key before all headers; without any, before everything."""
    lines = text.split("\n")
    top = itertools.takewhile(lambda statement: not statement.header, statements(text))
    ends = [statement.end for statement in top]
    return "\n".join([*lines[: ends[-1]], *added, *lines[ends[-1] :]] if ends else [*added, "", *lines])


def set_line(text: str, section: str, name: str, value: Any) -> str:
    """A text of TOML with this value for a key of a section: in the place of its old one, else behind the section's header, else
    in a section of its own at the end. What else stands in the text stays as it is."""
    line, lines = f"{name} = {toml_value(value)}", text.split("\n")
    found = _find_statement(text, section, name)
    if found is not None:
        statement, at_top = found
        dotted = f"{section}.{line}" if at_top and section else line
        dotted += _remark("\n".join(lines[statement.start : statement.end]), statement)
        return "\n".join([*lines[: statement.start], dotted, *lines[statement.end :]])
    longer = insert_lines(text, section, [line])
    if longer is not None:
        return longer
    block = f"[{section}]\n{line}\n"
    return f"{text.rstrip()}\n\n{block}" if text.strip() else block


def drop_line(text: str, section: str, name: str) -> str:
    """A text of TOML without a key of a section; what else stands in it stays as it is, remarks of the key's line alone go."""
    lines, found = text.split("\n"), _find_statement(text, section, name)
    if found is None:
        return text
    return "\n".join([*lines[: found[0].start], *lines[found[0].end :]])


def _remark(written: str, statement: Statement) -> str:
    """The remark behind a statement, with the blanks before it; a `#` within its value begins none."""
    for found in re.finditer(r"[ \t]*#", written):
        if try_toml(written[: found.start()]) == statement.data:
            return written[found.start() :]
    return ""


def _find_statement(text: str, section: str, name: str) -> tuple[Statement, bool] | None:
    """The statement that sets a key of a section, and whether it stands before all headers."""
    path = (*(section.split(".") if section else ()), name)
    place: KeyPath = ()
    for statement in statements(text):
        if statement.header:
            place = place_of(statement.data, {})
        elif any(place + found == path for found, _ in leaves(statement.data)):
            return statement, not place
    return None


def toml_key(name: str) -> str:
    return name if _BARE.fullmatch(name) else toml_value(name)


def toml_value(value: Any) -> str:
    """A value as TOML writes it. Strings have the same form as in JSON, but that it escapes one more character."""
    match value:
        case dict():
            return "{ " + ", ".join(f"{toml_key(name)} = {toml_value(one)}" for name, one in value.items()) + " }"
        case list() | tuple():
            return "[" + ", ".join(map(toml_value, value)) + "]"
        case float() if not math.isfinite(value):  # which JSON has no word for
            return str(value)
        case _:
            return msgspec.json.encode(value).decode().replace("\x7f", "\\u007f")


def _field(name: str, value: Any) -> str:
    """The value of a field; nothing where nothing is set. A template with a null in it, which TOML lacks, is JSON in a text."""
    if name == "match":
        value = {part: pattern for part, pattern in value.items() if pattern is not None}
    if value is None or value == {}:
        return ""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return toml_value(msgspec.json.encode(value).decode()) if _holds_null(value) else toml_value(value)


def _holds_null(value: Any) -> bool:
    match value:
        case dict():
            return any(map(_holds_null, value.values()))
        case list():
            return any(map(_holds_null, value))
        case _:
            return value is None
