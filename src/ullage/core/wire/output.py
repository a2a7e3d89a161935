"""How long the answer may be, as a request says."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .jsontext import decode

if TYPE_CHECKING:
    from .conversation import Conversation
    from .options import Path

OUTPUT_NAMES = ("max_tokens", "max_completion_tokens", "max_output_tokens")
CONFIGS = ("generationConfig", "generation_config")
_INNER_NAMES = ("maxOutputTokens", "max_output_tokens")
OUTPUT_MEMBERS = frozenset((*OUTPUT_NAMES, *_INNER_NAMES))


def requested_output(conversation: Conversation) -> int | None:
    """The tokens that a request lets its answer have at most, thinking included; `None` if it does not say."""
    found = (tokens for tokens in _requested(conversation).values() if type(tokens) is int and tokens > 0)
    return max(found, default=None)


def cap_output(conversation: Conversation, most: int | None) -> dict[Path, Any]:
    """The members to set so that no longer answer is asked for than the model can give; none where that is not known."""
    if most is None:
        return {}
    asked = _requested(conversation)
    return {path: most for path, tokens in asked.items() if type(tokens) is int and tokens > most}


def _requested(conversation: Conversation) -> dict[Path, Any]:
    raw = conversation.options
    found: dict[Path, Any] = {(name,): decode(raw[name]) for name in OUTPUT_NAMES if name in raw}
    holder = next((name for name in CONFIGS if name in raw), None)
    config = decode(raw[holder]) if holder is not None else None
    if holder is not None and isinstance(config, dict):
        found |= {(holder, name): config[name] for name in _INNER_NAMES if name in config}
    return found
