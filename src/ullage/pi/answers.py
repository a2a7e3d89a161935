"""An answer as Pi has read it, in the words of the protocol that its request was put into: usage, stop reason, error."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from ullage.core.wire.answers.usage import count

from .messages import write_answer

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ullage.core.wire import Dialect

_STOPS = {"stop": ("end_turn", "stop"), "length": ("max_tokens", "length"), "toolUse": ("tool_use", "tool_calls")}
FAILED = "error"
ABORTED = "aborted"


def write_body(message: Mapping[str, Any], dialect: Dialect) -> bytes:
    """The body of an answer that is not streamed."""
    if message.get("stopReason") == FAILED:
        error = {"type": "error", "message": str(message.get("errorMessage") or "")}
        return msgspec.json.encode({"type": "error", "error": error})
    stop = _STOPS.get(str(message.get("stopReason")), _STOPS["stop"])
    head = {"id": message.get("responseId"), "model": message.get("responseModel") or message.get("model")}
    written = write_answer(message, dialect)
    if dialect == "anthropic":
        return msgspec.json.encode(
            {**head, "type": "message", **written, "stop_reason": stop[0], "usage": _anthropic_usage(message)}
        )
    choice = {"index": 0, "message": written, "finish_reason": stop[1]}
    return msgspec.json.encode({**head, "choices": [choice], "usage": _chat_usage(message)})


def _figures(message: Mapping[str, Any]) -> dict[str, int] | None:
    """Pi's disjoint figures; `None` where nothing was reported, which Pi writes as zeros."""
    usage = message.get("usage")
    if not isinstance(usage, dict):
        return None
    names = ("input", "cacheRead", "cacheWrite", "cacheWrite1h", "output", "reasoning")
    figures = {name: count(usage.get(name)) or 0 for name in names}
    return figures if any(figures.values()) else None


def _anthropic_usage(message: Mapping[str, Any]) -> dict[str, Any] | None:
    figures = _figures(message)
    if figures is None:
        return None
    usage: dict[str, Any] = {
        "input_tokens": figures["input"],
        "cache_read_input_tokens": figures["cacheRead"],
        "cache_creation_input_tokens": figures["cacheWrite"],
        "output_tokens": figures["output"],
        "output_tokens_details": {"thinking_tokens": figures["reasoning"]},
    }
    if figures["cacheWrite1h"]:
        usage["cache_creation"] = {
            "ephemeral_1h_input_tokens": figures["cacheWrite1h"],
            "ephemeral_5m_input_tokens": max(0, figures["cacheWrite"] - figures["cacheWrite1h"]),
        }
    return usage


def _chat_usage(message: Mapping[str, Any]) -> dict[str, Any] | None:
    figures = _figures(message)
    if figures is None:
        return None
    prompt = figures["input"] + figures["cacheRead"] + figures["cacheWrite"]
    return {
        "prompt_tokens": prompt,
        "completion_tokens": figures["output"],
        "total_tokens": prompt + figures["output"],
        "prompt_tokens_details": {
            "cached_tokens": figures["cacheRead"],
            "cache_write_tokens": figures["cacheWrite"],
        },
        "completion_tokens_details": {"reasoning_tokens": figures["reasoning"]},
    }
