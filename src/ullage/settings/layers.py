"""The layers that settings come from, each read into the same form; which of their values may be used is not decided here."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from ullage.core.errors import SettingsError

from .catalog import UPSTREAMS, variables
from .provenance import Problem, Source, SourceKind
from .toml_file import KeyPath, TomlEntry, TomlError, flatten, parse_toml, read_toml

if TYPE_CHECKING:
    from collections.abc import Mapping

PREFIX = "ULLAGE_"

# Read elsewhere in this package, and no setting: a switch for a moment does not belong in a file.
SWITCHES = frozenset({"ULLAGE_DEBUG"})

# Flags whose spelling does not follow from the last word of their key.
FLAGS = {"store.url": "--store"}


class Entry(Struct, frozen=True, kw_only=True):
    """One value as it was written. `base` is the folder that a relative path in it starts from; `path` are the names and places
    of its key, where it was written in a file."""

    key: str
    value: Any
    source: Source
    base: Path
    path: KeyPath = ()


class Layer(Struct, frozen=True, kw_only=True):
    """What one place says, in the order it says it, and what kept it from being read."""

    kind: SourceKind
    entries: tuple[Entry, ...] = ()
    problems: tuple[Problem, ...] = ()


def read_file(path: Path, kind: SourceKind, *, required: bool = False) -> Layer:
    """A settings file; one that is not there is an empty layer. Raises `SettingsError` for a required one that is not there."""
    try:
        found = read_toml(path)
    except FileNotFoundError as error:
        if required:
            raise SettingsError(
                f"There is no settings file {path}.",
                hint="Give one that is there; `ullage config show` prints one to begin with.",
            ) from error
        return Layer(kind=kind)
    except TomlError as error:
        return Layer(kind=kind, problems=(unreadable(path, kind, error),))
    return _layer(found, path, kind)


def read_text(text: str, path: Path, kind: SourceKind) -> Layer:
    """What a settings file would say if it held this text."""
    try:
        return _layer(parse_toml(text), path, kind)
    except TomlError as error:
        return Layer(kind=kind, problems=(unreadable(path, kind, error),))


def _layer(found: list[TomlEntry], path: Path, kind: SourceKind) -> Layer:
    entries = (
        Entry(
            key=entry.key,
            value=entry.value,
            source=Source(kind=kind, file=str(path), line=entry.line),
            base=path.parent,
            path=entry.path,
        )
        for entry in found
    )
    return Layer(kind=kind, entries=tuple(entries))


def unreadable(path: Path, kind: SourceKind, error: TomlError) -> Problem:
    return Problem(
        code="unreadable",
        key=None,
        source=Source(kind=kind, file=str(path), line=error.line),
        message=f"The file {error}.",
        hint="Nothing in it is used until it is mended.",
        # A user file may name upstreams, which are not known now; a project file may not.
        blocking=kind == "user",
    )


def read_environment(environ: Mapping[str, str], cwd: Path) -> Layer:
    """Every `ULLAGE_…` variable; an unknown one keeps its name as its key, so that it can be named. Empty ones count as unset."""
    entries = (
        Entry(
            key=variables().get(name, name),
            value=text,
            source=Source(kind="environment", variable=name),
            base=cwd,
        )
        for name, text in sorted(environ.items())
        if name.startswith(PREFIX) and name not in SWITCHES and text
    )
    return Layer(kind="environment", entries=tuple(entries))


def read_flags(flags: Mapping[str, Any], cwd: Path) -> Layer:
    """Flags by dotted key, nested or not; `None` is a flag that was not given."""
    entries = (
        Entry(key=key, value=value, source=Source(kind="flag", flag=flag_name(key)), base=cwd)
        for key, value in flatten(dict(flags))
        if value is not None and value != {}
    )
    return Layer(kind="flag", entries=tuple(entries))


def flag_name(key: str) -> str:
    if key.startswith(f"{UPSTREAMS}."):
        return "--upstream"
    return FLAGS.get(key, "--" + key.rpartition(".")[2].replace("_", "-"))
