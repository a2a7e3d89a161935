"""Work on long answers, beside the event loop: all other requests would wait for it."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

_T = TypeVar("_T")

LONG_BYTES = 256 * 1024
"""What is longer is looked at in a thread: many small calls of tools take up to 100 ms a megabyte to translate (measured)."""


async def work_aside(work: Callable[[], _T], size_bytes: int) -> _T:
    """What `work` returns, which takes as long as the bytes are many. Nothing else may touch what it works on until then."""
    return work() if size_bytes <= LONG_BYTES else await asyncio.to_thread(work)
