"""Files of `NAME=value` lines."""

from __future__ import annotations

import re
from typing import Any

from .base import Key, Value, newline_of, shown, with_line


class Dotenv:
    """Keys have one part. Of several lines with one name the last counts, as readers of such files have it."""

    name = "dotenv"

    def find(self, text: str, key: Key) -> str | None:
        found = last_line(text, key[0])
        return found["source"].strip() if found else None

    def depth(self, text: str, key: Key) -> int:
        return 0 if self.find(text, key) is None else 1

    def put(self, text: str, key: Key, source: str) -> str:
        found = last_line(text, key[0])
        if found is None:
            return with_line(text, f"{key[0]}={source}")
        return text[: found.start("source")] + source + text[found.end("source") :]

    def remove(self, text: str, key: Key, keep: int) -> str:
        found = last_line(text, key[0])
        return text if found is None else text[: found.start()] + text[found.end() :].removeprefix(newline_of(text))

    def is_empty(self, text: str) -> bool:
        return not text.strip()

    def quote(self, value: Value) -> str:
        return shown(value)

    def value(self, source: str) -> Any:
        quoted = re.fullmatch(r"(['\"])(.*)\1(?:\s+#.*)?", source)
        return quoted[2] if quoted else re.sub(r"\s+#.*", "", source)


def last_line(text: str, name: str) -> re.Match[str] | None:
    """The last line that sets a name; `source` is what stands behind the equals sign."""
    pattern = rf"^[ \t]*(?:export[ \t]+)?{re.escape(name)}[ \t]*=(?P<source>[^\r\n]*)"
    return next(reversed([*re.finditer(pattern, text, re.MULTILINE)]), None)
