"""Numbers as the page writes them: whole, with thousands apart, `~` before an estimate."""

from __future__ import annotations

from typing import Any

from ullage.core.accounting.formats import compact_number

MINUS = "−"
NONE = "–"


def tokens(value: int | None, *, exact: bool = True) -> str:
    """`~12,345`; a dash where nothing is known."""
    if value is None:
        return NONE
    return f"{'' if exact else '~'}{value:,}".replace("-", MINUS)


def signed(value: int | None) -> str:
    """`+1,234`."""
    if value is None:
        return NONE
    return f"{value:+,}".replace("-", MINUS)


def short(value: int) -> str:
    """`12.3k`, for labels in pictures."""
    return compact_number(value).replace("-", MINUS)


def percent(share: float | None, *, exact: bool = True) -> str:
    """A share from 0 to 1 with one decimal."""
    if share is None:
        return NONE
    return f"{'' if exact else '~'}{100 * share:.1f}%".replace("-", MINUS)


def ratio(value: float | None) -> str:
    """`1.205`; the data in the page has all decimals."""
    return NONE if value is None else f"{value:.3f}"


def is_exact(section: dict[str, Any]) -> bool:
    """Whether the provider said the number itself."""
    return bool(section.get("method") == "usage")


def duration(seconds: int | None) -> str:
    """`12 s`, `15 min`, `3 h`."""
    if seconds is None:
        return NONE
    if seconds < 120:
        return f"{seconds} s"
    return f"{seconds // 60} min" if seconds < 7_200 else f"{seconds // 3_600} h"
