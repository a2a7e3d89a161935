"""The plain kind of YAML that tools' own configuration files are: `key: value` lines, and lists of texts below a key."""

from __future__ import annotations

import re
from typing import Any

from .base import Key, UnfitError, Value, newline_of, shown, with_line

# What may stand at the start of a line here: nothing, a comment, a key, an item of a list, more of the line above.
PLAIN_LINE = re.compile(r"\s*$|[ ]*#|---\s*$|[\w\"'][^:]*:(?:\s|$)|[ ]*- |[ ]+\S")
ITEM = re.compile(r"(?P<indent>[ ]*)- +(?P<quote>[\"']?)(?P<name>\w+)=(?P<source>[^\"'\s]*)(?P=quote)\s*(?:#.*)?$")
ITEM_OR_GAP = re.compile(r"\s*$|[ ]*#|[ ]*- ")
SCALAR = r"[ ]*:[ ]+(?P<source>\"[^\"]*\"|'[^']*'|[^\s#\[{|>&*!].*?)\s*(?:\s#.*)?$"


class Yaml:
    """Keys have one part, or two for the `NAME=value` items of a list below a key."""

    name = "yaml"

    def find(self, text: str, key: Key) -> str | None:
        lines = plain_lines(text)
        at = line_of(lines, key)
        return None if at is None else match_line(lines[at], key)["source"]

    def depth(self, text: str, key: Key) -> int:
        lines = plain_lines(text)
        if line_of(lines, key) is not None:
            return len(key)
        return 1 if len(key) > 1 and header_of(lines, key[0]) is not None else 0

    def put(self, text: str, key: Key, source: str) -> str:
        lines = plain_lines(text)
        at = line_of(lines, key)
        if at is not None:
            found = match_line(lines[at], key)
            lines[at] = lines[at][: found.start("source")] + source + lines[at][found.end("source") :]
            return "\n".join(lines)
        if len(key) == 1:
            return with_line(text, f"{key[0]}: {source}")
        header = header_of(lines, key[0])
        if header is None:
            return with_line(text, f"{key[0]}:{newline_of(text)}  - {key[1]}={source}")
        last = max(find_list(lines, key[0]), default=header)
        indent = lines[last][: lines[last].index("-")] if last > header else "  "
        lines.insert(last + 1, f"{indent}- {key[1]}={source}" + newline_of(text)[:-1])
        return "\n".join(lines)

    def remove(self, text: str, key: Key, keep: int) -> str:
        lines = plain_lines(text)
        at = line_of(lines, key)
        if at is None:
            return text
        header = header_of(lines, key[0])
        alone = len(key) > 1 and keep == 0 and find_list(lines, key[0]) == [at]
        del lines[at]
        if alone and header is not None:
            del lines[header]
        return "\n".join(lines)

    def is_empty(self, text: str) -> bool:
        return not text.strip()

    def quote(self, value: Value) -> str:
        return shown(value)

    def value(self, source: str) -> Any:
        return source[1:-1] if source[:1] in ("'", '"') else source


def plain_lines(text: str) -> list[str]:
    """The lines of a text of the plain kind. Raises `UnfitError` for any other."""
    lines = text.split("\n")
    for number, line in enumerate(lines, start=1):
        if not PLAIN_LINE.match(line) or "\t" in line[: len(line) - len(line.lstrip())]:
            raise UnfitError("is not plain YAML of keys and lists", number)
    return lines


def line_of(lines: list[str], key: Key) -> int | None:
    """The line that holds the key's value."""
    if len(key) == 1:
        return next((at for at, line in enumerate(lines) if sets(line, key[0]) and scalar(lines, at, key[0])), None)
    items = find_list(lines, key[0])
    return next((at for at in reversed(items) if (item := ITEM.match(lines[at])) and item["name"] == key[1]), None)


def match_line(line: str, key: Key) -> re.Match[str]:
    """The parts of a line that `line_of` has found."""
    found = ITEM.match(line) if len(key) > 1 else re.match(re.escape(key[0]) + SCALAR, line)
    assert found is not None
    return found


def sets(line: str, name: str) -> bool:
    return re.match(rf"{re.escape(name)}[ ]*:(\s|$)", line) is not None


def scalar(lines: list[str], at: int, name: str) -> bool:
    """Whether a key's value is on its own line. Raises `UnfitError` if it goes on below."""
    below = lines[at + 1] if at + 1 < len(lines) else ""
    if re.match(re.escape(name) + SCALAR, lines[at]) and not (below.startswith(" ") and below.strip()):
        return True
    raise UnfitError(f"{name} is not one plain value", at + 1)


def find_list(lines: list[str], name: str) -> list[int]:
    """The lines of the items of a list below a key; none without the key. Raises `UnfitError` for a list on one line."""
    header = header_of(lines, name)
    if header is None:
        return []
    if not re.match(rf"{re.escape(name)}[ ]*:\s*(?:#.*)?$", lines[header]):
        raise UnfitError(f"{name} is not a list with one item a line", header + 1)
    items: list[int] = []
    for at in range(header + 1, len(lines)):
        if not ITEM_OR_GAP.match(lines[at]):
            break
        if lines[at].lstrip().startswith("- "):
            items.append(at)
    return items


def header_of(lines: list[str], name: str) -> int | None:
    return next((at for at, line in enumerate(lines) if sets(line, name)), None)
