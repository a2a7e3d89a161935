"""What providers reported of their own models, kept by provider: in memory, and in a small file for each."""

from __future__ import annotations

import contextlib
from datetime import UTC, datetime
from typing import TYPE_CHECKING
from urllib.parse import quote

import msgspec
from msgspec import Struct

from ullage.core.profiles import ModelFacts

from .files import FORMAT, REPORTED_FOLDER, read_bytes, write_bytes
from .reported import MOST_MODELS

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

MOST_PROVIDERS = 64
"""Providers that are remembered; past that the one that was heard of longest ago is forgotten."""

LONGEST_NAME = 200
"""Characters of a provider's name."""


class Reported(Struct, frozen=True, kw_only=True):
    """What one provider said last of each model, and when it last said anything new."""

    format: int = FORMAT
    provider: str
    said_ms: int
    models: dict[str, ModelFacts]

    @property
    def as_of(self) -> str:
        """The day of it."""
        return datetime.fromtimestamp(self.said_ms / 1000, tz=UTC).date().isoformat()


_DECODER = msgspec.json.Decoder(Reported)


def merge(old: Reported | None, provider: str, models: Mapping[str, ModelFacts], now_ms: int) -> Reported:
    """What is known after another answer: lists come in pages, so what an answer leaves out is kept."""
    known = {**(old.models if old else {}), **models}
    return Reported(provider=provider, said_ms=now_ms, models=dict(list(known.items())[-MOST_MODELS:]))


def newest(*several: Mapping[str, Reported]) -> dict[str, Reported]:
    """Of each provider what it said last."""
    found: dict[str, Reported] = {}
    for known in several:
        for provider, reported in known.items():
            if provider not in found or found[provider].said_ms <= reported.said_ms:
                found[provider] = reported
    return found


def load_reported(cache_dir: Path) -> dict[str, Reported]:
    """All that was written down; files that cannot be read are passed over."""
    found = {}
    with contextlib.suppress(OSError):
        for path in sorted((cache_dir / REPORTED_FOLDER).glob("*.json"))[:MOST_PROVIDERS]:
            with contextlib.suppress(msgspec.DecodeError):
                reported = _DECODER.decode(read_bytes(path) or b"")
                if reported.format == FORMAT:
                    found[reported.provider] = reported
    return found


def save_reported(cache_dir: Path, reported: Reported) -> None:
    """Writes one provider's file. Raises `OSError`."""
    write_bytes(_path(cache_dir, reported.provider), msgspec.json.encode(reported))


def forget_oldest(cache_dir: Path, known: dict[str, Reported]) -> dict[str, Reported]:
    """The providers without those that are too many; their files go as well."""
    kept = dict(sorted(known.items(), key=lambda item: item[1].said_ms)[-MOST_PROVIDERS:])
    for provider in known.keys() - kept.keys():
        with contextlib.suppress(OSError):
            _path(cache_dir, provider).unlink()
    return kept


def _path(cache_dir: Path, provider: str) -> Path:
    return cache_dir / REPORTED_FOLDER / f"{quote(provider, safe='')}.json"
