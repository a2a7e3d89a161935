"""Errors and rate-limit headers, which both OpenAI dialects share."""

from __future__ import annotations

from typing import Any

from .events import encode, event

_KINDS = {
    400: ("invalid_request_error", None),
    401: ("invalid_request_error", "invalid_api_key"),
    403: ("invalid_request_error", "unsupported_country_region_territory"),
    404: ("invalid_request_error", "not_found"),
    429: ("rate_limit_error", "rate_limit_exceeded"),
}


def _error(status: int, message: str, code: str | None) -> dict[str, Any]:
    kind, usual = _KINDS.get(status, ("server_error" if status >= 500 else "invalid_request_error", None))
    return {"error": {"message": message, "type": kind, "param": None, "code": code or usual}}


def error(status: int, message: str, code: str | None = None, wait_s: float | None = None) -> bytes:
    """An error body; `code` replaces the usual one of the status, the wait stands in the headers."""
    return encode(_error(status, message, code))


def error_event(status: int, message: str) -> bytes:
    """An error in the middle of a Chat stream: a data line that holds the error body."""
    return event(_error(status, message, None))


def rate_limit_headers(now_s: float, wait_s: float) -> list[tuple[str, str]]:
    """The headers that go with a 429: limits, nothing remaining, and the time until they reset as a duration."""
    reset = f"{round(wait_s * 1000)}ms" if wait_s < 1 else f"{wait_s:g}s"
    headers = [("retry-after-ms", str(round(wait_s * 1000)))]
    for what, limit in (("requests", 500), ("tokens", 200_000)):
        headers += [
            (f"x-ratelimit-limit-{what}", str(limit)),
            (f"x-ratelimit-remaining-{what}", "0"),
            (f"x-ratelimit-reset-{what}", reset),
        ]
    return headers
