"""What can go wrong with an answer on purpose."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct


class Fault(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How an answer fails. Times are milliseconds, sizes bytes of the body as it goes over the wire."""

    status: int | None = None
    message: str | None = None
    retry_after_s: float | None = None
    delay_ms: float = 0
    encoding: Literal["gzip", "deflate"] | None = None
