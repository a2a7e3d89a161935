"""Error answers of our own, in the shape of the client's dialect (docs/reference/http.md).

Every one carries `type: "ullage_error"` with `code`, `message`, `hint` and the request's id, so that a person can tell our
words from the provider's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from ullage.core.errors import UllageError
    from ullage.core.wire import Dialect

_GEMINI_STATUS = {
    400: "INVALID_ARGUMENT",
    402: "RESOURCE_EXHAUSTED",
    404: "NOT_FOUND",
    408: "DEADLINE_EXCEEDED",
    413: "INVALID_ARGUMENT",
    426: "FAILED_PRECONDITION",
    429: "RESOURCE_EXHAUSTED",
    502: "UNAVAILABLE",
    503: "UNAVAILABLE",
    504: "DEADLINE_EXCEEDED",
}


def error_body(dialect: Dialect | None, status: int, error: UllageError, request_id: str) -> bytes:
    """The JSON body of an error answer. Without a dialect (unknown path) the OpenAI shape is used."""
    ours: dict[str, Any] = {
        "type": "ullage_error",
        "code": error.code,
        "message": f"ullage: {error.message}",
        "hint": error.hint,
        "request": request_id,
    }
    if dialect == "anthropic":
        return msgspec.json.encode({"type": "error", "error": ours, "request_id": request_id})
    if dialect == "gemini":
        return msgspec.json.encode({"error": _gemini(ours, status)})
    return msgspec.json.encode({"error": {**ours, "param": None}})


def _gemini(ours: dict[str, Any], status: int) -> dict[str, Any]:
    """Gemini's `code` is the HTTP status, so our code travels as the reason of an error detail."""
    detail = {
        "@type": "type.googleapis.com/google.rpc.ErrorInfo",
        "reason": ours["code"],
        "domain": "ullage",
        "metadata": {"hint": ours["hint"], "request": ours["request"]},
    }
    return {**ours, "code": status, "status": _GEMINI_STATUS.get(status, "UNKNOWN"), "details": [detail]}
