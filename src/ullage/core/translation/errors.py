"""Errors of providers in the words of each dialect, before and inside a stream."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import msgspec

from ullage.core.wire.jsontext import BOM, decode

from .answers.events import Failure, FailureKind

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ullage.core.wire import Dialect

_MESSAGE_LIMIT_CHARS = 2_000
_BY_STATUS: Mapping[int, FailureKind] = {
    400: "invalid",
    401: "auth",
    402: "rate_limit",
    403: "permission",
    404: "not_found",
    408: "timeout",
    413: "too_large",
    429: "rate_limit",
    503: "overloaded",
    504: "timeout",
    529: "overloaded",
}
# Words of all dialects, in lower case, for errors inside a stream, which have no status.
_BY_WORD: Mapping[str, FailureKind] = {
    "invalid_request_error": "invalid",
    "invalid_prompt": "invalid",
    "invalid_argument": "invalid",
    "failed_precondition": "invalid",
    "authentication_error": "auth",
    "invalid_api_key": "auth",
    "unauthenticated": "auth",
    "permission_error": "permission",
    "permission_denied": "permission",
    "not_found_error": "not_found",
    "not_found": "not_found",
    "request_too_large": "too_large",
    "context_length_exceeded": "too_long",
    "rate_limit_error": "rate_limit",
    "rate_limit_exceeded": "rate_limit",
    "insufficient_quota": "rate_limit",
    "billing_error": "rate_limit",
    "resource_exhausted": "rate_limit",
    "timeout_error": "timeout",
    "deadline_exceeded": "timeout",
    "overloaded_error": "overloaded",
    "server_is_overloaded": "overloaded",
    "unavailable": "overloaded",
}
_STATUS: Mapping[FailureKind, int] = {
    "invalid": 400,
    "too_long": 400,
    "auth": 401,
    "permission": 403,
    "not_found": 404,
    "too_large": 413,
    "rate_limit": 429,
    "timeout": 504,
    "overloaded": 503,
    "server": 502,
}
_ANTHROPIC: Mapping[FailureKind, str] = {
    "invalid": "invalid_request_error",
    "too_long": "invalid_request_error",
    "auth": "authentication_error",
    "permission": "permission_error",
    "not_found": "not_found_error",
    "too_large": "request_too_large",
    "rate_limit": "rate_limit_error",
    "timeout": "timeout_error",
    "overloaded": "overloaded_error",
    "server": "api_error",
}
_OPENAI: Mapping[FailureKind, tuple[str, str | None]] = {
    "invalid": ("invalid_request_error", None),
    "too_long": ("invalid_request_error", "context_length_exceeded"),
    "auth": ("invalid_request_error", "invalid_api_key"),
    "permission": ("invalid_request_error", None),
    "not_found": ("invalid_request_error", "not_found"),
    "too_large": ("invalid_request_error", None),
    "rate_limit": ("rate_limit_error", "rate_limit_exceeded"),
    "timeout": ("server_error", None),
    "overloaded": ("server_error", "server_is_overloaded"),
    "server": ("server_error", "server_error"),
}
_GEMINI: Mapping[FailureKind, str] = {
    "invalid": "INVALID_ARGUMENT",
    "too_long": "INVALID_ARGUMENT",
    "auth": "UNAUTHENTICATED",
    "permission": "PERMISSION_DENIED",
    "not_found": "NOT_FOUND",
    "too_large": "INVALID_ARGUMENT",
    "rate_limit": "RESOURCE_EXHAUSTED",
    "timeout": "DEADLINE_EXCEEDED",
    "overloaded": "UNAVAILABLE",
    "server": "INTERNAL",
}
# Clients compact when they know that the prompt is too long: Codex by the code, Claude Code and Pi by the words.
_TOO_LONG = re.compile(
    r"prompt is too long|maximum context length|context[ _-]?(?:window|length|size)|input token count.*exceeds|too many tokens",
    re.IGNORECASE,
)
_ANTHROPIC_TOO_LONG = "prompt is too long"


def read_failure(error: Any, status: int = 0) -> Failure:
    """The failure in an error object of any dialect, a text, or nothing. Without a `status` its words tell the kind."""
    found = error if isinstance(error, dict) else {}
    message = found.get("message") if found else error
    text = (
        message[:_MESSAGE_LIMIT_CHARS]
        if isinstance(message, str) and message
        else "The provider failed without a word."
    )
    words = [word for key in ("code", "status", "type") if isinstance(word := found.get(key), str) and word]
    number = found.get("code")
    if not status and isinstance(number, int) and 400 <= number < 600:
        status = number
    kind = _kind(words, status, text)
    return Failure(kind=kind, message=text, status=status or _STATUS[kind], code=words[0] if words else "")


def _kind(words: list[str], status: int, text: str) -> FailureKind:
    by_word = next((_BY_WORD[word.lower()] for word in words if word.lower() in _BY_WORD), None)
    kind = _BY_STATUS.get(status) or by_word or ("invalid" if 400 <= status < 500 else "server")
    if by_word == "too_long" or (kind in ("invalid", "too_large") and _TOO_LONG.search(text)):
        return "too_long"
    return kind


def read_error_body(status: int, body: bytes) -> Failure:
    """The failure in the body of an error answer: of any dialect, of some proxy, or no JSON at all."""
    value = decode(body.removeprefix(BOM).strip())
    if isinstance(value, list) and value:
        value = value[0]
    if isinstance(value, dict):
        problem = value.get("error") or value.get("detail") or value
        return read_failure(problem, status)
    text = value if isinstance(value, str) and not value.startswith("<") else ""
    return read_failure(text.strip() or f"The provider answered with status {status} and no message.", status)


def write_error(failure: Failure, dialect: Dialect) -> bytes:
    """The body of an error answer."""
    return msgspec.json.encode(error_value(failure, dialect))


def error_value(failure: Failure, dialect: Dialect) -> dict[str, Any]:
    """The same, not yet encoded."""
    match dialect:
        case "anthropic":
            message = failure.message
            if failure.kind == "too_long" and _ANTHROPIC_TOO_LONG not in message.lower():
                message = f"{_ANTHROPIC_TOO_LONG}: {message}"
            return {"type": "error", "error": {"type": _ANTHROPIC[failure.kind], "message": message}}
        case "gemini":
            word = _GEMINI[failure.kind]
            return {"error": {"code": failure.status, "message": failure.message, "status": word}}
        case "openai-chat" | "openai-responses":
            kind, code = openai_words(failure)
            return {"error": {"message": failure.message, "type": kind, "param": None, "code": code}}


def openai_words(failure: Failure) -> tuple[str, str | None]:
    """OpenAI's type and code of a failure; of its own codes that of an empty account stays, which no repeat mends."""
    kind, code = _OPENAI[failure.kind]
    return kind, failure.code if failure.code == "insufficient_quota" else code
