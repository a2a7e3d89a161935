"""Lists of models in the three shapes that clients ask for on one path."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .events import encode

if TYPE_CHECKING:
    from ullage.core.wire import Dialect

MODELS = ("fake-large", "fake-small")
"""What a fake provider lists when it is not told otherwise."""

_CREATED_S = 1_767_225_600


def _openai(name: str) -> dict[str, Any]:
    return {"id": name, "object": "model", "created": _CREATED_S, "owned_by": "fake"}


def _anthropic(name: str) -> dict[str, Any]:
    return {"type": "model", "id": name, "display_name": name, "created_at": "2026-01-01T00:00:00Z"}


def _gemini(name: str) -> dict[str, Any]:
    return {
        "name": f"models/{name}",
        "version": "001",
        "displayName": name,
        "inputTokenLimit": 1_048_576,
        "outputTokenLimit": 65_536,
        "supportedGenerationMethods": ["generateContent", "countTokens"],
    }


_SHAPES = {"openai-chat": _openai, "openai-responses": _openai, "anthropic": _anthropic, "gemini": _gemini}


def model(dialect: Dialect, name: str) -> bytes:
    """One model; every name exists."""
    return encode(_SHAPES[dialect](name))


def models(dialect: Dialect, names: tuple[str, ...]) -> bytes:
    """All models on one page."""
    rows = [_SHAPES[dialect](name) for name in names]
    if dialect == "gemini":
        return encode({"models": rows})
    if dialect == "anthropic":
        ends = {"first_id": names[0] if names else None, "last_id": names[-1] if names else None}
        return encode({"data": rows, "has_more": False, **ends})
    return encode({"object": "list", "data": rows})
