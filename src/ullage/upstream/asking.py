"""One short question to a provider with a JSON answer: what goes wrong is told in our words, and never with a key in it."""

from __future__ import annotations

import itertools
import re
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from ullage.core.errors import UpstreamError
from ullage.core.wire import read_answer

from .keys import request_headers

if TYPE_CHECKING:
    from ullage.core.wire import Dialect
    from ullage.settings.credentials import Credential

    from .client import UpstreamClient, UpstreamResponse

# No answer to a count or to a generation of one token comes near this.
_ANSWER_LIMIT_BYTES = 4 * 1024 * 1024
_MESSAGE_CHARS = 240

# What a key looks like in the error of a provider that repeats it, perhaps cut or starred (planner specification, section 23.3).
_KEYS = re.compile(r"(?:\b(?:sk|pk|rk|xai|gsk|AIza|ya29)[-_.A-Za-z0-9*]{6,}|(?i:bearer)\s+\S+)")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]+")

# A piece of a key of this length is not shown either.
_PIECE_CHARS = 6
_OK = 200
# Status, code, what happened, what to do. {key} is where the key came from.
_ANSWERS: dict[int, tuple[str, str, str]] = {
    400: ("upstream_rejected", "rejects the request", "The request must be one that the provider itself would take."),
    401: (
        "upstream_unauthorized",
        "does not accept {key}",
        "Set a key of the provider's platform: a subscription's login does not do.",
    ),
    403: (
        "upstream_unauthorized",
        "does not allow this with {key}",
        "The key lacks a permission, or the address is not the provider's.",
    ),
    404: (
        "upstream_unknown",
        "does not know this endpoint or this model",
        "Check the model's name; `ullage probe` works without a count endpoint.",
    ),
    413: ("upstream_rejected", "finds the request too large", "Count a shorter request."),
    429: (
        "upstream_limited",
        "asks to wait: too many requests",
        "Run it again later: what was counted so far is kept.",
    ),
}


class Target:
    """Where a question goes: a root, the dialect spoken there and the key, if one is sent."""

    __slots__ = ("credential", "dialect", "host", "root")

    def __init__(self, root: str, dialect: Dialect, credential: Credential | None) -> None:
        self.root = root
        self.dialect = dialect
        self.credential = credential
        self.host = urlsplit(root).netloc


async def ask(client: UpstreamClient, target: Target, path: str, body: bytes) -> bytes:
    """The body of the answer. Raises `UpstreamError`: `upstream_rejected`, `upstream_unauthorized`, `upstream_unknown`,
    `upstream_limited`, `upstream_failed`, or what the transport says; with its status where an answer began.
    """
    response = await client.open("POST", target.root + path, request_headers(target.dialect, target.credential), body)
    try:
        answer = await _read(response, target.host)
    except UpstreamError as error:
        error.status = response.status
        response.abort()
        raise
    except BaseException:
        response.abort()
        raise
    response.release()
    if response.status == _OK:
        return answer
    raise _problem(response, answer, target)


def scrub(text: str, credential: Credential | None) -> str:
    """A provider's words, short, on one line, without the key and without anything that looks like one."""
    if credential is not None:
        text = _without_pieces(text, credential.reveal())
    text = _CONTROL.sub(" ", _KEYS.sub("[key]", text)).strip()
    return text if len(text) <= _MESSAGE_CHARS else text[: _MESSAGE_CHARS - 1] + "…"


def _without_pieces(text: str, key: str) -> str:
    """The text without the key and without any piece of it: providers like to repeat the ends of a key they refuse."""
    size = min(_PIECE_CHARS, len(key))
    pieces = {key[at : at + size] for at in range(len(key) - size + 1)} if size else set()
    hidden = bytearray(len(text))
    for at in range(len(text) - size + 1):
        if text[at : at + size] in pieces:
            hidden[at : at + size] = b"\x01" * size
    runs = itertools.groupby(zip(text, hidden, strict=True), key=lambda pair: pair[1])
    return "".join("[key]" if is_hidden else "".join(letter for letter, _ in run) for is_hidden, run in runs)


async def _read(response: UpstreamResponse, host: str) -> bytes:
    chunks: list[bytes] = []
    size = 0
    while chunk := await response.read():
        size += len(chunk)
        if size > _ANSWER_LIMIT_BYTES:
            raise UpstreamError(
                f"{host} sends an answer that is far too long.",
                hint="Is this the provider's address?",
                code="upstream_failed",
            )
        chunks.append(chunk)
    return b"".join(chunks)


def _problem(response: UpstreamResponse, body: bytes, target: Target) -> UpstreamError:
    key = repr(target.credential) if target.credential is not None else "a request without a key"
    fallback = ("upstream_failed", f"answers with status {response.status}", "Run it again later.")
    code, what, hint = _ANSWERS.get(response.status, fallback)
    said = scrub(read_answer(body, target.dialect).error_message or "", target.credential)
    waits = next((value for name, value in response.headers if name.lower() == b"retry-after"), b"")
    if response.status == 429 and waits[:10].isdigit():
        hint = f"It names {int(waits[:10])} s. {hint}"
    words = f": {said}" if said else ""
    error = UpstreamError(f"{target.host} {what.format(key=key)} ({response.status}){words}", hint=hint, code=code)
    error.status = response.status
    return error
