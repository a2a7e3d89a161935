"""What the failure of an answer means: whether another target may mend it, and whether it counts against this one.

Routing specification, section 18. Bodies of all dialects and errors inside streams are read alike. A status comes before what the
words say: they matter where there is none.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal

from msgspec import Struct

from ullage.core.quota import read_refusal
from ullage.core.translation.errors import read_failure

if TYPE_CHECKING:
    from ullage.core.content import Answer

FailureKind = Literal[
    "rate-limit",
    "out-of-credit",
    "usage-limit",
    "server",
    "connection",
    "timeout",
    "auth",
    "not-found",
    "signature",
    "context-length",
    "content-filter",
    "client",
]

UNAVAILABLE = 503
"""The status of what went wrong without one (section 19)."""
TIMEOUT = 504

_FIRST_ERROR, _FIRST_SERVER_ERROR, _BEHIND_ERRORS = 400, 500, 600
_BAD_REQUEST, _UNAUTHORIZED, _FORBIDDEN, _NOT_FOUND, _TOO_MANY = 400, 401, 403, 404, 429
_TIMEOUT_CODE = "upstream_timeout"
# What providers say of thinking that another model has signed, or that does not stand where it stood (complaint C10).
_SIGNATURE = re.compile(
    r"(?:thought|thinking)\W.{0,120}signature|thought_?signature"
    r"|signature.{0,120}\b(?:thought|thinking)"
    r"|thinking`? blocks.{0,120}cannot be modified|bound to a different conversation"  # Anthropic
    r"|encrypted content.{0,120}could not be (?:verified|decrypted)",  # OpenAI
    re.IGNORECASE,
)
_SIGNATURE_TYPES = frozenset({"invalid_encrypted_content"})
_FILTER = re.compile(
    r"content[ _-]?(?:filter|management policy|policy violation)",  # Azure, Anthropic, OpenAI
    re.IGNORECASE,
)


# A model that a provider does not have (OpenAI, Azure, DeepSeek, Mistral, OpenRouter), where it says so with a 400.
_NO_MODEL_TYPES = frozenset({"model_not_found", "invalid_model", "DeploymentNotFound"})
_NO_MODEL = re.compile(
    r"\bmodel\b.{0,100}\b(?:not[ _]found|does not exist|not exist)\b"
    r"|is not a valid model|\bno such model\b|\bunknown model\b|\binvalid model\b",
    re.IGNORECASE,
)
# What a request names beside its model, which another target would not find either, or which is only there.
_OTHER_THING = re.compile(
    r"\b(?:file|response|item|conversation|container|cached ?content|vector store|image|video)s?\b", re.IGNORECASE
)


class Failure(Struct, frozen=True, kw_only=True):
    """An answer that failed, or none.

    `status` is HTTP's, or what the failure amounts to where there was none. `retryable`: another target may do it. `counts`: it
    is held against the target's circuit. `code` is the provider's own word, or ours for a connection; `message` its sentence.
    """

    kind: FailureKind
    status: int
    retryable: bool
    counts: bool
    code: str = ""
    message: str = ""


def classify(status: int, error_type: str | None = None, message: str | None = None) -> Failure:
    """An error answer, or an error inside the stream of one that began well (`status` below 400 then).

    A key that is refused and a model that is not there count, which is ours (section 18 leaves them out): they would be chosen
    for ever, for a target that never answers has no price but its list price.
    """
    code, text = error_type or "", message or ""
    if status < _FIRST_ERROR:
        status = _status_of(code, text)
    if status == _TOO_MANY:
        return Failure(
            kind=_limit_kind(status, code, text) or "rate-limit",
            status=status,
            retryable=True,
            counts=True,
            code=code,
            message=text,
        )
    if status >= _FIRST_SERVER_ERROR:
        return Failure(kind="server", status=status, retryable=True, counts=True, code=code, message=text)
    kind = _client_kind(status, code, text)
    return Failure(
        kind=kind,
        status=status,
        retryable=kind == "signature",
        counts=kind in ("auth", "not-found"),
        code=code,
        message=text,
    )


def connection_failure(code: str, message: str = "") -> Failure:
    """No answer began, or it broke; `code` is that of the `UpstreamError`."""
    late = code == _TIMEOUT_CODE
    return Failure(
        kind="timeout" if late else "connection",
        status=TIMEOUT if late else UNAVAILABLE,
        retryable=True,
        counts=True,
        code=code,
        message=message,
    )


def judge(status: int, answer: Answer, *, spoke: bool, cut: bool = False) -> Failure | None:
    """What was wrong with an answer that is over; `None` where nothing was.

    `spoke` as `AnswerReader` has it; `cut`: the connection broke. An end without the dialect's last event is a failure, and so is
    an answer that says nothing at all, not even why it ends.
    """
    if status >= _FIRST_ERROR or answer.error_type is not None:
        return classify(status, answer.error_type, answer.error_message)
    if cut or not answer.complete:
        return _server("upstream_closed", "the answer ended before it was whole")
    if spoke:
        return None
    if answer.stop_reason == "error":
        return _server(answer.stop_reason_raw or "error", "the model's answer could not be read by its provider")
    silent = answer.stop_reason_raw is None and answer.usage is None and not answer.thinking_chars
    return _server("empty_answer", "the answer was empty") if silent else None


def _server(code: str, message: str) -> Failure:
    return Failure(kind="server", status=UNAVAILABLE, retryable=True, counts=True, code=code, message=message)


def _status_of(code: str, text: str) -> int:
    """The status that an error inside a stream amounts to: the number that it names, else what its word means; 503 for others."""
    if code.isascii() and code.isdecimal() and _FIRST_ERROR <= int(code[:4]) < _BEHIND_ERRORS:
        return int(code[:4])
    found = read_failure({"type": code, "message": text})
    return UNAVAILABLE if found.kind == "server" else found.status


def _client_kind(status: int, code: str, text: str) -> FailureKind:
    if status == _UNAUTHORIZED:
        return "auth"
    if status in (_FORBIDDEN, _NOT_FOUND):
        if _OTHER_THING.search(text) and "model" not in text.lower():
            return "client"
        return "auth" if status == _FORBIDDEN else "not-found"
    if status == _BAD_REQUEST and (code in _NO_MODEL_TYPES or _NO_MODEL.search(text)):
        return "not-found"
    if status == _BAD_REQUEST and (code in _SIGNATURE_TYPES or _SIGNATURE.search(text)):
        return "signature"
    limit = _limit_kind(status, code, text)
    if limit is not None:
        return limit
    if read_failure({"type": code, "message": text}, status).kind == "too_long":
        return "context-length"
    return "content-filter" if _FILTER.search(code) or _FILTER.search(text) else "client"


def _limit_kind(status: int, code: str, text: str) -> Literal["rate-limit", "out-of-credit", "usage-limit"] | None:
    """Whether the provider refuses as a whole, which its quota is told, too (complaint C13)."""
    refusal = read_refusal("", status, (), now_ms=0, error_type=code, error_message=text)
    return None if refusal is None else refusal.kind
