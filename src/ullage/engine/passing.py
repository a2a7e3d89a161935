"""Requests that are passed on as they came, cost money and are no conversation: what is read of them and of their answers.

Old completions, Codex's own summaries, embeddings, pictures, batches and whatever else is posted to a provider.
"""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct

from ullage.core.wire import AnswerReader

from .encoding import ANSWER_LIMIT_BYTES, REQUEST_LIMIT_BYTES, make_decoder

if TYPE_CHECKING:
    from ullage.core.content import Usage

    from .exchange import Exchange


class Wanted(Struct, frozen=True):
    """What a request says of itself: its model, the tokens that all of its answers may have together, its size in bytes."""

    model: str | None = None
    output_tokens: int | None = None
    size: int = 0


class _Body(Struct, frozen=True):
    """What counts of a body; each of these is missing where another type stands."""

    model: str | None = None
    n: int | None = None
    best_of: int | None = None
    max_tokens: int | None = None
    max_output_tokens: int | None = None


def read_wanted(exchange: Exchange, body: bytes) -> Wanted:
    """What a body says; nothing where it is no JSON object of the usual kind."""
    try:
        decode = make_decoder(exchange.headers.get("content-encoding", ""), REQUEST_LIMIT_BYTES)
        plain = b"".join(decode(body))
    except ValueError:
        return Wanted(model=exchange.endpoint.model, size=len(body))
    try:
        found = msgspec.json.decode(plain, type=_Body)
    except (msgspec.MsgspecError, RecursionError):
        return Wanted(model=exchange.endpoint.model, size=len(plain))
    most = found.max_tokens or found.max_output_tokens
    answers = max(found.n or 1, found.best_of or 1)
    return Wanted(
        model=exchange.endpoint.model or found.model,
        output_tokens=most * answers if most and most > 0 else None,
        size=len(plain),
    )


def read_passed_usage(exchange: Exchange) -> Usage | None:
    """The usage in an answer that came whole; `None` where it has none, or was too long to be kept."""
    if not exchange.kept or exchange.status != HTTPStatus.OK or exchange.outcome != "whole":
        return None
    kind = exchange.answer_headers.get(b"content-type", b"")
    coding = exchange.answer_headers.get(b"content-encoding", b"").decode("latin-1")
    reader = AnswerReader(exchange.dialect, streamed=kind.startswith(b"text/event-stream"))
    try:
        for plain in make_decoder(coding, ANSWER_LIMIT_BYTES)(b"".join(exchange.kept)):
            reader.feed(plain)
    except ValueError:
        return None
    return reader.close().usage
