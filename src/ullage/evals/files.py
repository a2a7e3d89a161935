"""Which files an evaluation takes: recordings below the given paths, each content once."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from ullage.core.errors import CallError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

SMALLEST_BYTES = 1024
"""Files up to this size are passed over: they hold no conversation (accounting specification, section 16.1)."""

_SUFFIXES = (".json", ".jsonl")


class Skipped(Struct, frozen=True, kw_only=True):
    """A file that was not evaluated, and why, in a sentence without its final stop."""

    path: str
    reason: str


class Found(Struct, frozen=True, kw_only=True):
    """Files to read, in the order of their names, and those passed over. Small files are not worth a mention."""

    paths: tuple[Path, ...]
    skipped: tuple[Skipped, ...] = ()


def find_files(roots: Iterable[Path]) -> Found:
    """The files among `roots` and the recordings in the folders among them. Raises `CallError` if one of them is not there."""
    paths: list[Path] = []
    skipped: list[Skipped] = []
    known: dict[str, Path] = {}
    for path in _candidates(roots):
        try:
            if path.stat().st_size <= SMALLEST_BYTES:
                continue
            with path.open("rb") as file:
                content = hashlib.file_digest(file, "sha256").hexdigest()
        except OSError as error:
            skipped.append(Skipped(path=str(path), reason=f"cannot be read: {error.strerror or error}"))
            continue
        first = known.setdefault(content, path)
        if first == path:
            paths.append(path)
        else:
            skipped.append(Skipped(path=str(path), reason=f"same content as {first}"))
    return Found(paths=tuple(paths), skipped=tuple(skipped))


def _candidates(roots: Iterable[Path]) -> Iterator[Path]:
    """Every file once, whatever ways lead to it."""
    seen: set[Path] = set()
    for root in roots:
        if not root.exists():
            raise CallError(f"{root} is not there.", hint="Give files or folders of recorded sessions.")
        below = sorted(path for path in root.rglob("*") if path.suffix in _SUFFIXES) if root.is_dir() else [root]
        for path in below:
            if path.is_file() and path.resolve() not in seen:
                seen.add(path.resolve())
                yield path
