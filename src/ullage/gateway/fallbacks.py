"""What we answer ourselves where a provider does not know a route that clients ask for (design: counting, models, hello)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from ullage.core.errors import RequestError
from ullage.engine.binding import REFUSAL
from ullage.engine.encoding import make_decoder

from .errors import error_body
from .listing import empty_page, with_virtual

if TYPE_CHECKING:
    from ullage.engine import Endpoint, Engine, Exchange, Purpose

_UNKNOWN_THERE = frozenset({404, 405, 501})
_REFUSED = 400
_MOST_BYTES = 1024 * 1024
_NOT_LET_IN = frozenset({401, 403})
_OPTIONAL: frozenset[Purpose] = frozenset({"count_tokens", "models", "hello"})

_NOT_COUNTED = RequestError(
    "the provider does not count tokens, and the body cannot be read",
    code="not_counted",
    hint="Clients that count go on with an estimate of their own.",
)


def may_be_replaced(purpose: Purpose, status: int, *, has_names: bool = False, managed: bool = False) -> bool:
    """Whether the status may mean that the provider does not know the route, and the route is one we can answer.

    `has_names`: we have models of our own to list; then a client that its provider does not let in gets those. `managed`: what
    the client counts is not what is sent of it, and may be refused where that is not.
    """
    if has_names and purpose == "models" and status in _NOT_LET_IN:
        return True
    if managed and purpose == "count_tokens" and status == _REFUSED:
        return True
    return status in _UNKNOWN_THERE and purpose in _OPTIONAL


def is_theirs(purpose: Purpose, status: int, body: bytes, coding: str) -> bool:
    """Whether a refusal names what was asked about rather than the route: then it is the provider's answer, not ours to hide. One
    of thinking that a plan would have left out is ours. `body` is its beginning, encoded as `coding` says."""
    if purpose != "count_tokens":
        return False
    try:
        told = b"".join(make_decoder(coding, _MOST_BYTES)(body))
    except ValueError:
        told = body
    return REFUSAL.encode() not in told if status == _REFUSED else b"model" in told.lower()


async def own_answer(endpoint: Endpoint, body: bytes, exchange: Exchange, engine: Engine) -> tuple[int, bytes]:
    """Status and JSON body of our answer."""
    if endpoint.purpose == "count_tokens":
        tokens = await engine.count(exchange, body)
        if tokens is None:
            return 404, error_body(endpoint.dialect, 404, _NOT_COUNTED, exchange.id)
        return 200, msgspec.json.encode(_counted(endpoint, tokens))
    if endpoint.purpose == "models":
        names = await engine.virtual_names(endpoint.dialect, exchange.headers)
        page = msgspec.json.encode(empty_page(endpoint.dialect))
        return 200, with_virtual(page, "", endpoint.dialect, names) or page
    return 200, b"{}"


def _counted(endpoint: Endpoint, tokens: int) -> dict[str, Any]:
    if endpoint.dialect == "gemini":
        return {"totalTokens": tokens}
    if endpoint.dialect == "openai-responses":
        return {"object": "response.input_tokens", "input_tokens": tokens}
    return {"input_tokens": tokens}
