"""Top-level keys of TOML files."""

from __future__ import annotations

import re
import tomllib
from typing import Any

import msgspec

from ullage.settings.toml_file import Statement, TomlError, check_toml, statements

from .base import Key, UnfitError, Value, newline_of

# The text of a statement up to its value, and the value if it is a plain string; a comment may follow.
KEY = re.compile(r"\s*[^=]*=[ \t]*")
STRING = re.compile(r'(?!""")"(?:\\.|[^"\\\n])*"|(?!\'\'\')\'[^\'\n]*\'')


class Toml:
    """Keys have one part and stand before the first table."""

    name = "toml"

    def find(self, text: str, key: Key) -> str | None:
        place = find_value(text, key)
        return None if place is None else text[slice(*place)]

    def depth(self, text: str, key: Key) -> int:
        return 0 if find_value(text, key) is None else 1

    def put(self, text: str, key: Key, source: str) -> str:
        place = find_value(text, key)
        if place is not None:
            return text[: place[0]] + source + text[place[1] :]
        newline = newline_of(text)
        above = [statement.end for statement in top_statements(text)]
        lines = text.split("\n")
        line = f"{key[0]} = {source}{newline}"
        if not above:
            return line + (newline + text if text.strip() else text)
        start = len("\n".join(lines[: above[-1]])) + 1
        if start > len(text):  # the last line has no line end
            return text + newline + line
        return text[:start] + line + text[start:]

    def remove(self, text: str, key: Key, keep: int) -> str:
        for statement in top_statements(text):
            if key[0] in statement.data:
                lines = text.split("\n")
                return "\n".join(lines[: statement.start] + lines[statement.end :])
        return text

    def is_empty(self, text: str) -> bool:
        return not text.strip()

    def quote(self, value: Value) -> str:
        return msgspec.json.encode(value).decode()

    def value(self, source: str) -> Any:
        return tomllib.loads(f"value = {source}")["value"]


def top_statements(text: str) -> list[Statement]:
    """The statements before the first table. Raises `UnfitError` for a text that is not TOML."""
    try:
        check_toml(text)
    except TomlError as error:
        raise UnfitError(str(error), error.line) from error
    found: list[Statement] = []
    for statement in statements(text):
        if statement.header:
            break
        found.append(statement)
    return found


def find_value(text: str, key: Key) -> tuple[int, int] | None:
    """Where the value of a top-level key starts and ends."""
    lines = text.split("\n")
    for statement in top_statements(text):
        if key[0] not in statement.data:
            continue
        start = len("\n".join(lines[: statement.start])) + (1 if statement.start else 0)
        written = "\n".join(lines[statement.start : statement.end])
        name = KEY.match(written)
        if name is None or isinstance(statement.data[key[0]], dict):
            raise UnfitError(f"{key[0]} is a table", statement.start + 1)
        string = STRING.match(written, name.end())
        end = string.end() if string else len(written.rstrip("\r"))
        return start + name.end(), start + end
    return None
