"""What the store keeps of learning, as the core's calibration takes it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

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
    """What `growth-v1` learns from: the pairs of calls among them that can be read.

    Another version may have kept more of a pair, which is passed over, or other things, which are no pair: learning is never a
    reason to fail.
    """
    found = (_to_pair(record.pair) for record in records if record.pair is not None)
    return [pair for pair in found if pair is not None]


def _to_pair(plain: dict[str, Any]) -> Pair | None:
    known = {name: plain[name] for name in Pair.__struct_fields__ if name in plain}
    try:
        return msgspec.convert(msgspec.to_builtins(Pair(**known)), Pair)
    except (TypeError, msgspec.ValidationError):
        return None
