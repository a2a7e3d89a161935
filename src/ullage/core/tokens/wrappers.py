"""The planner's wrapper arithmetic over messages in Pi's shape (planner specification, section 6).

These guesses at what surrounds a text are fixed constants of `chars-v1` and `o200k-base-v1`: changing one makes a new version.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from .json_text import compact_json, stable_json

if TYPE_CHECKING:
    from .estimators import Estimator

MESSAGE_TOKENS = 8
BLOCK_TOKENS = 4
IMAGE_TOKENS = 1024
SYSTEM_TOKENS = 8
TOOL_TOKENS = 12

_TEXT_FIELDS = ("summary", "command", "output", "toolName")


def estimate_message(message: object, estimator: Estimator) -> int:
    """Tokens of one message as decoded JSON in Pi's shape; anything else than an object counts as its JSON."""
    if not isinstance(message, Mapping):
        return MESSAGE_TOKENS + estimator.text(compact_json(message))
    role = message.get("role")
    fields = (message.get(field) for field in _TEXT_FIELDS)
    return (
        MESSAGE_TOKENS
        + (estimator.text(role) if isinstance(role, str) else 0)
        + (_content(message["content"], estimator) if "content" in message else 0)
        + sum(estimator.text(field) for field in fields if isinstance(field, str))
    )


def estimate_system(text: str, estimator: Estimator) -> int:
    """Tokens of a system prompt; an empty one costs nothing."""
    return estimator.text(text) + SYSTEM_TOKENS if text else 0


def estimate_tool(name: str, description: str, parameters: object, estimator: Estimator) -> int:
    """Tokens of one tool definition."""
    definition = {"name": name, "description": description, "parameters": parameters}
    return estimator.text(stable_json(definition)) + TOOL_TOKENS


def estimate_call(name: str, arguments_json: str, estimator: Estimator) -> int:
    """Tokens of one tool call, its arguments as JSON text."""
    return estimator.text(name + arguments_json) + BLOCK_TOKENS


def _content(content: object, estimator: Estimator) -> int:
    if isinstance(content, str):
        return estimator.text(content)
    if isinstance(content, list):
        return sum(_block(block, estimator) for block in content)
    return estimator.text(compact_json(content))


def _block(block: object, estimator: Estimator) -> int:
    if not isinstance(block, Mapping):
        return estimator.text(compact_json(block))
    match block.get("type"):
        case "image":
            return IMAGE_TOKENS + BLOCK_TOKENS
        case "text":
            return estimator.text(_text(block, "text")) + BLOCK_TOKENS
        case "thinking":
            return estimator.text(_text(block, "thinking")) + BLOCK_TOKENS
        case "toolCall":
            return estimate_call(_text(block, "name"), compact_json(block.get("arguments", {})), estimator)
        case _:
            return estimator.text(compact_json(block)) + BLOCK_TOKENS


def _text(block: Mapping[str, Any], key: str) -> str:
    value = block.get(key)
    return value if isinstance(value, str) else ""
