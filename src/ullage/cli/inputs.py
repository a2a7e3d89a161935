"""What commands read: files, pipes and standard input, with faults that say what to do."""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import click

from ullage.core.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator

STDIN = "-"


def standard_input() -> BinaryIO:
    """Raises `InputError` where the caller has closed it."""
    if sys.stdin is None:
        raise InputError("Standard input is closed.", hint="Give the path of a file.", code="no_input")
    return sys.stdin.buffer


def read_input(source: str | None) -> bytes:
    """The bytes of a file; of standard input for `-` and for nothing. Raises `InputError`."""
    return b"".join(lines_of_input(source if source is not None else STDIN))


def lines_of_input(source: str) -> Iterator[bytes]:
    """The lines of a file, or of standard input for `-`. Raises `InputError`."""
    if source == STDIN:
        yield from standard_input()
        return
    path = Path(source)
    try:
        with path.open("rb") as file:
            yield from file
    except IsADirectoryError as error:
        raise InputError(
            f"{path} is a folder.",
            hint=f"Give a file in it; `ullage context {path}` reads a captured request as a whole.",
            code="not_a_file",
        ) from error
    except OSError as error:
        raise InputError(
            f"{path} cannot be read: {error.strerror or error}.",
            hint="Give a file that is there and yours to read, or `-` for standard input.",
            code="not_found" if isinstance(error, FileNotFoundError) else "unreadable",
        ) from error


def keep_stream(stream: BinaryIO) -> Path:
    """Copies what can be read only once to a file that can be read again; it is there until the command ends.

    Raises `OSError` with the copy's name where there is no room for it.
    """
    folder = click.get_current_context().with_resource(tempfile.TemporaryDirectory(prefix="ullage-"))
    copy = Path(folder) / "input"
    try:
        with copy.open("wb") as file:
            shutil.copyfileobj(stream, file)
    except OSError as error:
        error.filename = error.filename or str(copy)
        raise
    return copy
