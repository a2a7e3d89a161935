"""What the store keeps of learning, as the core's calibration takes it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ullage.core.calibration import Pair, Sample

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .base import SampleRecord


def to_sample(record: SampleRecord) -> Sample:
    """What `ratio-v1` needs of a record."""
    return Sample(
        id=record.id,
        created_ms=record.created_ms,
        estimated=record.estimated,
        input_fresh=record.input_fresh,
        cache_read=record.cache_read,
        cache_write=record.cache_write,
    )


def to_pairs(records: Iterable[SampleRecord]) -> list[Pair]:
    """What `growth-v1` learns from: the pairs of calls among them."""
    return [Pair(**record.pair) for record in records if record.pair is not None]
