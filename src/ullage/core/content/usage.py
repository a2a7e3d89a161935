"""What a provider reported after an answer, in disjoint parts (docs/decisions/0001-disjoint-usage.md)."""

from __future__ import annotations

from typing import Any

from msgspec import Struct


class Usage(Struct, frozen=True, kw_only=True):
    """Token usage of one call.

    The three input parts never overlap: `input_fresh` + `cache_read` + `cache_write` is the whole prompt. `cache_write` covers
    `cache_write_5m` and `cache_write_1h` where the provider splits it by time to live. `reasoning` is a part of `output`.
    `None` means the provider did not report it; zero means it reported zero. `raw` is the payload as it came.
    """

    input_fresh: int | None = None
    cache_read: int | None = None
    cache_write: int | None = None
    cache_write_5m: int | None = None
    cache_write_1h: int | None = None
    output: int | None = None
    reasoning: int | None = None
    raw: dict[str, Any] | None = None

    @property
    def prompt(self) -> int | None:
        """The whole prompt in tokens: fresh, read from cache and written to cache. `None` if nothing was reported."""
        return _sum(self.input_fresh, self.cache_read, self.cache_write)

    @property
    def total(self) -> int | None:
        """Prompt and output together."""
        return _sum(self.prompt, self.output)


def _sum(*numbers: int | None) -> int | None:
    known = [number for number in numbers if number is not None]
    return sum(known) if known else None
