"""Where a setting came from and what is wrong with one: the records that every layer speaks in."""

from __future__ import annotations

from typing import Any, Literal

from msgspec import Struct

from ullage.core.terminal import safe

SourceKind = Literal["default", "user", "project", "environment", "flag"]
ProblemCode = Literal["unknown_key", "bad_value", "not_allowed", "unreadable", "conflict"]


class Source(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The place a value was read from. `line` counts from 1; `flag` is spelled as on the command line."""

    kind: SourceKind
    file: str | None = None
    line: int | None = None
    variable: str | None = None
    flag: str | None = None

    def __str__(self) -> str:
        if self.file is not None:
            return f"{self.file}:{self.line}" if self.line is not None else self.file
        if self.variable is not None:
            return f"${self.variable}"
        return self.flag or self.kind


class Choice(Struct, frozen=True):
    """The value that stands for a setting, and where it came from."""

    value: Any
    source: Source


class Problem(Struct, frozen=True, kw_only=True):
    """One thing that was asked for and could not be used; the rest of its layer holds.

    `blocking` marks what has no safe stand-in: with the default in its place, traffic would go to another provider or records
    to another folder than the user asked for, so a daemon must not start with it.
    """

    code: ProblemCode
    key: str | None
    source: Source
    message: str
    hint: str = ""
    blocking: bool = False

    def __str__(self) -> str:
        # Keys come from files that anyone may have written.
        return safe(f"{self.source}: {self.message} {self.hint}".rstrip())
