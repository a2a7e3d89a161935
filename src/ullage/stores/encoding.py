"""Records to bytes and back. A record that cannot be written as it is loses the offending characters, never the caller's time."""

from __future__ import annotations

import zlib
from typing import Any, TypeVar

import msgspec

from ullage.core.spend import SpendAttempt, SpendTotal

from .base import ArtifactRecord, CallRecord, EventRecord, MutationRecord, PrefixRecord, SampleRecord, SessionRecord
from .route_records import AttemptRecord, FeedbackRecord, OutcomeRecord, RouteOverride, TallyRecord

Record = TypeVar(
    "Record",
    SessionRecord,
    CallRecord,
    EventRecord,
    SampleRecord,
    PrefixRecord,
    MutationRecord,
    ArtifactRecord,
    FeedbackRecord,
    OutcomeRecord,
    TallyRecord,
    RouteOverride,
    AttemptRecord,
    SpendAttempt,
    SpendTotal,
)

COMPRESS_FROM_BYTES = 1024
"""Shorter records are kept as plain JSON: there is little to win and they stay readable in any SQLite tool."""

_PLAIN_START = b"{"
_encoder = msgspec.json.Encoder()


def encode(record: Record) -> tuple[Record, bytes]:
    """The record as JSON, and the record that these bytes mean.

    Usually that is `record` itself. Text with lone surrogates (legal in JSON, not in UTF-8) gets replacement characters, and
    values that JSON does not know are written as their `repr`.
    """
    try:
        return record, _encoder.encode(record)
    except (UnicodeEncodeError, TypeError, OverflowError):
        clean = msgspec.convert(_clean(msgspec.structs.asdict(record)), type(record))
        return clean, _encoder.encode(clean)


def pack(payload: bytes) -> bytes:
    """What goes into the database for an encoded record: JSON, or zlib's form of it, told apart by the first byte."""
    return payload if len(payload) < COMPRESS_FROM_BYTES else zlib.compress(payload, 1)


def unpack(packed: bytes) -> bytes:
    """The encoded record again. Raises `zlib.error` for bytes that `pack` did not make."""
    return packed if packed.startswith(_PLAIN_START) else zlib.decompress(packed)


def decode(payload: bytes, kind: type[Record]) -> Record:
    """Raises `msgspec.MsgspecError` for what is not such a record. Fields that this version does not know are left out."""
    return msgspec.json.decode(payload, type=kind)


def _clean(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, msgspec.Struct):
        return _clean(msgspec.structs.asdict(value))
    if isinstance(value, dict):
        return {_clean(str(key)): _clean(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_clean(entry) for entry in value]
    if value is None or isinstance(value, bool | int | float):
        return value
    return _clean(repr(value))
