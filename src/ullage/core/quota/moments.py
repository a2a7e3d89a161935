"""Moments and lengths of time as providers write them in headers. All results are milliseconds; `None` is not readable."""

from __future__ import annotations

import re
from calendar import timegm
from email.utils import mktime_tz, parsedate_tz
from math import isfinite

_MOST_CHARS = 64  # of any such value; longer ones are not looked at
_NUMBER = re.compile(r"\d+(?:\.\d+)?|\.\d+", re.ASCII)
_UNITS_MS = {"d": 86_400_000, "h": 3_600_000, "m": 60_000, "s": 1_000, "ms": 1}
_PART = re.compile(r"(\d+(?:\.\d+)?)(ms|d|h|m|s)", re.ASCII)
_DURATION = re.compile(rf"(?:{_PART.pattern})+", re.ASCII)
_RFC_3339 = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)[Tt ](\d\d):(\d\d):(\d\d)(?:\.(\d{1,9}))?(?:[Zz]|([+-])(\d\d):(\d\d))", re.ASCII
)
_EPOCH_MS_FROM = 1e10
"""A moment above this is meant in milliseconds, below it in seconds (routing specification, section 16)."""


def read_number(value: str) -> float | None:
    """A number from 0 on, in plain digits."""
    if len(value) > _MOST_CHARS or not _NUMBER.fullmatch(value):
        return None
    number = float(value)
    return number if isfinite(number) else None


def read_epoch(value: str) -> int | None:
    """Seconds or milliseconds since the epoch."""
    number = read_number(value)
    if number is None:
        return None
    return int(number if number > _EPOCH_MS_FROM else number * 1000)


def read_duration(value: str) -> int | None:
    """A length of time: `6m0s`, `1s`, `250ms`, `1h2m3.5s`."""
    if len(value) > _MOST_CHARS or not _DURATION.fullmatch(value):
        return None
    return int(sum(float(number) * _UNITS_MS[unit] for number, unit in _PART.findall(value)))


def read_rfc_3339(value: str) -> int | None:
    """A moment like `2026-01-31T12:00:00Z`."""
    found = _RFC_3339.fullmatch(value)
    if found is None:
        return None
    year, month, day, hour, minute, second = (int(part) for part in found.group(1, 2, 3, 4, 5, 6))
    milliseconds = int((found[7] or "0").ljust(3, "0")[:3])
    offset = 0
    if found[8]:
        offset = (int(found[9]) * 60 + int(found[10])) * 60 * (-1 if found[8] == "-" else 1)
    try:
        return (timegm((year, month, day, hour, minute, second)) - offset) * 1000 + milliseconds
    except (ValueError, OverflowError):
        return None


def read_http_date(value: str) -> int | None:
    """A moment like `Sun, 06 Nov 1994 08:49:37 GMT`, in any form that HTTP knows."""
    if len(value) > _MOST_CHARS or not value[:1].isalpha():
        return None
    try:
        parts = parsedate_tz(value)
        return None if parts is None else mktime_tz((*parts[:9], parts[9] or 0)) * 1000
    except (ValueError, IndexError, OverflowError, TypeError):
        return None
