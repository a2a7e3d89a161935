"""What a check says: one thing looked at, and the next step."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Iterable

Status = Literal["ok", "warn", "fail"]


class Check(Struct, frozen=True, kw_only=True):
    """What was found of one thing. `next` is what to do about it, or with it."""

    id: str
    title: str
    status: Status
    detail: str
    next: str = ""


def worst(checks: Iterable[Check]) -> Status:
    found = {check.status for check in checks}
    return "fail" if "fail" in found else "warn" if "warn" in found else "ok"
