"""Lists of models with the names that stand for the router among them (interface specification, section 2)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from ullage.engine.encoding import make_decoder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from ullage.core.wire import Dialect
    from ullage.upstream import UpstreamResponse

MOST_BYTES = 4 * 1024 * 1024
"""A longer list is passed on as it is."""

_WINDOW_TOKENS, _OUTPUT_TOKENS = 1_000_000, 128_000
"""What a virtual model advertises, so that no client refuses a prompt before the router sees it (routing specification, 1)."""


async def read_list(response: UpstreamResponse) -> tuple[bytes, bool]:
    """What the answer holds, and whether that is all of it. A client that leaves takes the provider's connection with it."""
    parts: list[bytes] = []
    size = 0
    try:
        while size <= MOST_BYTES:
            chunk = await response.read()
            if not chunk:
                return b"".join(parts), True
            parts.append(chunk)
            size += len(chunk)
    except BaseException:
        response.abort()
        raise
    return b"".join(parts), False


def with_virtual(listed: bytes, coding: str, dialect: Dialect, names: Iterable[str]) -> bytes | None:
    """The last page of a provider's list with these names at its end; `None` where it is none that we know."""
    try:
        decode = make_decoder(coding, MOST_BYTES)
        page = msgspec.json.decode(b"".join(decode(listed)), type=dict[str, Any])
    except (msgspec.MsgspecError, RecursionError, ValueError):
        return None
    models = page.get(_KEYS[dialect])
    if not isinstance(models, list) or page.get("has_more") or page.get("nextPageToken"):
        return None
    entries = [_ENTRIES[dialect](name) for name in names]
    page[_KEYS[dialect]] = [*models, *entries]
    if dialect == "anthropic" and entries:
        page |= {"first_id": page.get("first_id") or entries[0]["id"], "last_id": entries[-1]["id"]}
    return msgspec.json.encode(page)


def describe(dialect: Dialect, name: str) -> bytes:
    """What is told of one of these names to who asks about it alone."""
    return msgspec.json.encode(_ENTRIES[dialect](name))


def empty_page(dialect: Dialect) -> dict[str, Any]:
    """A list without any model."""
    if dialect == "gemini":
        return {"models": []}
    if dialect == "anthropic":
        return {"data": [], "has_more": False, "first_id": None, "last_id": None}
    return {"object": "list", "data": []}


_KEYS: Mapping[Dialect, str] = {
    "openai-chat": "data",
    "openai-responses": "data",
    "anthropic": "data",
    "gemini": "models",
}


def _openai(name: str) -> dict[str, Any]:
    return {"id": name, "object": "model", "created": 0, "owned_by": "ullage"}


def _anthropic(name: str) -> dict[str, Any]:
    return {"type": "model", "id": name, "display_name": name, "created_at": "1970-01-01T00:00:00Z"}


def _gemini(name: str) -> dict[str, Any]:
    return {
        "name": f"models/{name}",
        "displayName": name,
        "inputTokenLimit": _WINDOW_TOKENS,
        "outputTokenLimit": _OUTPUT_TOKENS,
        "supportedGenerationMethods": ["generateContent", "countTokens"],
    }


_ENTRIES: Mapping[Dialect, Callable[[str], dict[str, Any]]] = {
    "openai-chat": _openai,
    "openai-responses": _openai,
    "anthropic": _anthropic,
    "gemini": _gemini,
}
