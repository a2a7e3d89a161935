"""What can be told of a tool's output without understanding it: whether it is text, the lines that speak of failure, the paths.

What is quoted of it is redacted before it is cut, so that no credential escapes by losing an end.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from ullage.core.tokens.estimators import utf16_units

from .excerpts import cut_before, cut_behind, head, lower_in_place, tail

if TYPE_CHECKING:
    from collections.abc import Iterator

Redact = Callable[[str], str]
"""Puts placeholders in place of credentials. The same text gives the same result."""

SAMPLE_CHARS = 8_192
BINARY_SHARE = 0.05
"""An output is binary if one of its samples (head, middle, tail) holds a NUL, or control characters in more than this share."""

ERROR_LINES = 16
ERROR_LEAD_CHARS = 300
ERROR_LINE_CHARS = 800
"""How many different lines that speak of failure are quoted, how far before its word a quote begins, and how long it is."""

ERROR_LINES_COUNTED = 10_000
"""Ours: a log of a million errors is not worth a second."""

PATHS_FOUND = 24
PATH_CHARS = 160

REDACTION_MARGIN = 8_192
"""What is redacted together with a quote on either side of it. Longer than any known credential: a private key of 8,192 bits."""

PATH_SCAN_CHARS = 100_000
"""Paths are looked for in so much of the beginning and of the end: what an output is about stands there. Ours."""

_CONTROLS = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_FAILURES = re.compile(r"(?:error|failed|failure|exception|fatal|panic|warn(?:ing)?|traceback)(?![a-z0-9_])")
_PATH_WORDS = re.compile(r"[^\s\"'`()\[\]{}<>,;|=*?]+")
_FILE_NAME = re.compile(r"[^.]\.[A-Za-z][A-Za-z0-9]{0,9}\Z")


class ErrorLines(NamedTuple):
    """How many lines speak of failure (of very many only the first 10,000), and quotes of the first different ones."""

    total: int
    quotes: tuple[str, ...]


def is_binary(text: str) -> bool:
    """Whether an output is data for machines (planner specification, section 20.3)."""
    middle = max(0, (len(text) - SAMPLE_CHARS) // 2)
    samples = (text[:SAMPLE_CHARS], text[middle : middle + SAMPLE_CHARS], text[-SAMPLE_CHARS:])
    return any("\0" in sample or len(_CONTROLS.findall(sample)) > BINARY_SHARE * len(sample) for sample in samples)


def quote_start(text: str, chars: int, redact: Redact) -> str:
    """The beginning, redacted, in at most so many characters."""
    return head(redact(text[: cut_before(text, min(len(text), chars + REDACTION_MARGIN))]), chars)


def quote_end(text: str, chars: int, redact: Redact) -> str:
    """The end, redacted, in at most so many characters."""
    return tail(redact(text[cut_behind(text, max(0, len(text) - chars - REDACTION_MARGIN)) :]), chars)


def find_error_lines(text: str, chars: int, redact: Redact) -> ErrorLines:
    """The lines with a word of failure; of those that differ the first 16, redacted, in at most `chars` characters together."""
    quotes: dict[str, None] = {}
    seen: set[str] = set()
    total = 0
    for start, end, word in islice(_failing_lines(text), ERROR_LINES_COUNTED):
        total += 1
        line = text[max(start, word - ERROR_LEAD_CHARS) : min(end, word + ERROR_LINE_CHARS)]
        if chars <= 0 or len(quotes) >= ERROR_LINES or line in seen:
            continue
        seen.add(line)
        quote = head(_quote_line(text, start, end, word, redact), chars)
        if quote and quote not in quotes:
            quotes[quote] = None
            chars -= utf16_units(quote)
    return ErrorLines(total, tuple(quotes))


def find_paths(text: str, redact: Redact) -> tuple[str, ...]:
    """The first 24 different paths of files that its beginning and end name; none is longer than 160 characters."""
    found: dict[str, None] = {}
    for piece in (text[:PATH_SCAN_CHARS], text[max(PATH_SCAN_CHARS, len(text) - PATH_SCAN_CHARS) :]):
        for word in _PATH_WORDS.finditer(piece):
            path = _path_in(word[0])
            if path is not None and path not in found and redact(path) == path:
                found[path] = None
                if len(found) == PATHS_FOUND:
                    return tuple(found)
    return tuple(found)


def _failing_lines(text: str) -> Iterator[tuple[int, int, int]]:
    """Start and end of each such line, and where its word is."""
    lowered = lower_in_place(text)
    position = 0
    while (word := _find_failure(text, lowered, position)) is not None:
        start = text.rfind("\n", 0, word) + 1
        end = text.find("\n", word)
        position = end if end >= 0 else len(text)
        yield start, position, word


def _find_failure(text: str, lowered: str, position: int) -> int | None:
    """Where the next word of failure begins: a word of its own, or the last of several that are written as one (`TypeError`)."""
    for match in _FAILURES.finditer(lowered, position):
        index = match.start()
        before = text[index - 1] if index else " "
        if not (before.isalnum() or before == "_") or (before.islower() and text[index].isupper()):
            return index
    return None


def _quote_line(text: str, start: int, end: int, word: int, redact: Redact) -> str:
    """A line, from a little before its word on."""
    first = max(start, word - ERROR_LEAD_CHARS - REDACTION_MARGIN)
    line = redact(
        text[cut_behind(text, first) : cut_before(text, min(end, word + ERROR_LINE_CHARS + REDACTION_MARGIN))]
    )
    word = _find_failure(line, lower_in_place(line), 0) or 0
    return head(line[cut_behind(line, max(0, word - ERROR_LEAD_CHARS)) :], ERROR_LINE_CHARS).strip()


def _path_in(word: str) -> str | None:
    """The path in a word: `src/a.py` of `src/a.py:10:`. Without a folder or an ending it could be anything."""
    path = word.partition(":")[0]
    if "/" not in path or not _FILE_NAME.search(path) or utf16_units(path) > PATH_CHARS:
        return None
    return path
