"""What the tool calls of a task say of how much work it was (routing specification, section 4.5, no. 5).

Counts alone leave this module: no word of a call or a result does.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import msgspec

from .mistakes import is_edit, read_outcomes
from .task import Evidence

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from ullage.core.content import Message

_PATHS = ("file_path", "filePath", "path", "notebook_path", "target_file", "absolute_path", "filename")
_NEW = ("new_string", "newString", "newText", "new_str", "new_source", "content", "file_text", "insert_text")
_OLD = ("old_string", "oldString", "oldText", "old_str")
_PATCHED = re.compile(r"^\*\*\* (?:Add|Update|Delete) File: (.+)$", re.MULTILINE)
_PATCH_LINE = re.compile(r"^[+-](?![+-]{2} )", re.MULTILINE)
_TAIL_CHARS = 4_000
_MOST_DEPTH = 4
_FAILED = re.compile(
    r"\b(\d{1,6}) (?:tests? )?(?:failed|failing|failures?)\b"  # pytest, Jest, Vitest, Mocha, cargo, dotnet
    r"|\bfailures=(\d{1,6})"  # unittest
    r"|\b(?:Failures|Failed): ?(\d{1,6})",  # JUnit, dotnet
    re.IGNORECASE,
)
_FAILED_LINES = re.compile(r"^\s*(?:--- FAIL:|FAILED |not ok \d)", re.MULTILINE)  # Go, pytest, TAP
_PASSED = re.compile(
    r"\b\d{1,6} (?:tests? )?pass(?:ed|ing)\b|^(?:ok|PASS)\b|\bOK \(|^OK$", re.IGNORECASE | re.MULTILINE
)


def read_evidence(turn: Iterable[Message]) -> Evidence:
    """The calls of a task that have a result, those that failed, files and lines that edits changed, and the tests that failed in
    its newest run of tests."""
    outcomes = read_outcomes(turn)
    files: set[str] = set()
    lines = failing = 0
    for outcome in outcomes:
        if not outcome.is_error and is_edit(outcome):
            touched, changed = _edited(outcome.arguments)
            files |= touched
            lines += changed
        else:
            run = count_failing(outcome.text)
            failing = failing if run is None else run
    return Evidence(
        tool_calls=len(outcomes),
        tool_errors=sum(one.is_error for one in outcomes),
        failing_tests=failing,
        files_touched=len(files),
        changed_lines=lines,
    )


def count_failing(text: str) -> int | None:
    """How many tests failed, by what a runner of tests says at its end; `None` for what is no run of tests."""
    tail = text[-_TAIL_CHARS:]
    counts = [int(next(filter(None, match))) for match in _FAILED.findall(tail)]
    named = len(_FAILED_LINES.findall(tail))
    if counts or named:
        return max((*counts, named))
    return 0 if _PASSED.search(tail) else None


def _edited(arguments: str) -> tuple[set[str], int]:
    """The files that a call writes to, and how many lines of them it puts or takes away."""
    try:
        plain = msgspec.json.decode(arguments)
    except msgspec.DecodeError:
        plain = arguments
    files: set[str] = set()
    lines = 0
    for one in _parts(plain, _MOST_DEPTH):
        if isinstance(one, str):
            patched = _PATCHED.findall(one)
            files.update(patched)
            lines += len(_PATCH_LINE.findall(one)) if patched else 0
        else:
            files.update(found for name in _PATHS if isinstance(found := one.get(name), str))
            lines += max(_lines(one, _NEW), _lines(one, _OLD))
    return files, lines


def _parts(plain: Any, depth: int) -> Iterator[str | Mapping[str, Any]]:
    """All texts and objects of some plain data, to a depth."""
    if isinstance(plain, str):
        yield plain
    elif isinstance(plain, dict):
        yield plain
        plain = list(plain.values())
    if isinstance(plain, list) and depth:
        for one in plain:
            yield from _parts(one, depth - 1)


def _lines(call: Mapping[str, Any], names: tuple[str, ...]) -> int:
    texts = (found for name in names if isinstance(found := call.get(name), str) and found)
    return sum(text.count("\n") + 1 for text in texts)
