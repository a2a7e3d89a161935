"""How much of what was sent came from the provider's cache (planner specification, section 10.1). Observed only."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from .ratio import is_valid, newest
from .rounding import round_ratio

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .ratio import Bounds, Sample


class CacheShares(Struct, frozen=True, kw_only=True):
    """Prompt tokens of the valid samples of a window, in disjoint parts; both shares are of `total`, 0 where that is 0."""

    input_fresh: int
    cache_read: int
    cache_write: int
    total: int
    read_share: float
    write_share: float


def share_cache(samples: Iterable[Sample], bounds: Bounds) -> CacheShares:
    """Adds up the window that calibration looks at."""
    valid = [sample for sample in newest(samples, bounds.window) if is_valid(sample)]
    read = sum(sample.cache_read for sample in valid)
    written = sum(sample.cache_write for sample in valid)
    total = sum(sample.prompt for sample in valid)
    return CacheShares(
        input_fresh=total - read - written,
        cache_read=read,
        cache_write=written,
        total=total,
        read_share=round_ratio(read / total) if total else 0.0,
        write_share=round_ratio(written / total) if total else 0.0,
    )
