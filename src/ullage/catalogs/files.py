"""Our own files in the cache folder: small, private, replaced whole or not at all."""

from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path

import msgspec
from msgspec import Raw, Struct

from ullage.core.profiles import ModelFacts

FORMAT = 1
"""Version of the files. A file of another version is made anew."""

LITELLM_FILE = "litellm.json"
GENAI_FILE = "genai-prices.json"
REPORTED_FOLDER = "models"

_LARGEST_BYTES = 32 * 1024 * 1024


class CatalogueFile(Struct, frozen=True, kw_only=True):
    """A source as it was distilled: by its own ids of providers, what each says of which model.

    `aliases` are ids that a source prices as another one. `as_of` is the day on which this was known to be the newest, or a
    version, `checked_ms` the moment. `etag` is the server's mark of the version. From `valid_until_ms` on other prices hold.
    """

    format: int = FORMAT
    as_of: str
    checked_ms: int
    etag: str = ""
    valid_until_ms: int | None = None
    providers: dict[str, Raw]
    aliases: dict[str, dict[str, str]] = {}


_DECODER = msgspec.json.Decoder(CatalogueFile)
_ROWS = msgspec.json.Decoder(dict[str, ModelFacts])


class Catalogue:
    """A distilled source. What one of its providers says is decoded when it is asked for the first time."""

    def __init__(self, file: CatalogueFile) -> None:
        self.file = file
        self._rows: dict[str, dict[str, ModelFacts]] = {}

    def rows(self, provider: str) -> dict[str, ModelFacts]:
        """The facts of this provider, by model id; none if the source does not know it, or if they cannot be read."""
        rows = self._rows.get(provider)
        if rows is None:
            rows = self._rows[provider] = self._decode(provider)
        return rows

    def _decode(self, provider: str) -> dict[str, ModelFacts]:
        raw = self.file.providers.get(provider)
        if raw is None:
            return {}
        try:
            return _ROWS.decode(raw)
        except msgspec.DecodeError:
            return {}


def make_file(providers: dict[str, dict[str, ModelFacts]], **about: object) -> CatalogueFile:
    """The rows with what is said about them, ready to be written."""
    return msgspec.convert(
        {"providers": {name: Raw(msgspec.json.encode(rows)) for name, rows in providers.items()}, **about},
        CatalogueFile,
    )


def read_catalogue(path: Path) -> Catalogue | None:
    """The catalogue in this file; `None` where there is none that this version can use."""
    data = read_bytes(path)
    if data is None:
        return None
    try:
        file = _DECODER.decode(data)
    except msgspec.DecodeError:
        return None
    return Catalogue(file) if file.format == FORMAT else None


def read_bytes(path: Path) -> bytes | None:
    """What the file holds; `None` if there is none, or if it cannot be read or is far too large to be ours."""
    try:
        with path.open("rb") as file:
            data = file.read(_LARGEST_BYTES + 1)
    except OSError:
        return None
    return data if len(data) <= _LARGEST_BYTES else None


def write_bytes(path: Path, data: bytes) -> None:
    """Puts the file in place at once, 0600 in a folder of 0700. Raises `OSError`."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
        Path(name).replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            Path(name).unlink()
        raise
