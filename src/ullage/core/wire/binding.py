"""Thinking that its model takes back only behind what it was made on: who asks for it, and messages without regard to it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from ullage.core.profiles.binding import binds_thinking

from .canonical import canonical_hash
from .foreign import without_thinking
from .jsontext import decode

if TYPE_CHECKING:
    from .conversation import Conversation, Slice

# Nothing else looks like it: types of blocks come with these quotes around them.
_THINKING = b'thinking"'


def refuses_unbound(conversation: Conversation) -> bool:
    """Whether a request may be refused for thinking that lost what it was made on: one to such a model, unless it asks to have it
    left out by the provider (`thinking.block_binding.prefix_mismatch_behavior`)."""
    if conversation.dialect != "anthropic" or not binds_thinking(conversation.model or ""):
        return False
    thinking = decode(conversation.options.get("thinking", b"null"))
    binding = thinking.get("block_binding") if isinstance(thinking, dict) else None
    return not isinstance(binding, dict) or binding.get("prefix_mismatch_behavior") != "drop_block"


def holds_thinking(piece: Slice) -> bool:
    """Whether a message of Anthropic's may hold thinking."""
    return _THINKING in piece.raw


def bare_hash(piece: Slice) -> int:
    """The canonical hash of a message of Anthropic's without its thinking; 0 for one that is thinking alone."""
    raw = without_thinking(piece, "anthropic")
    return canonical_hash(replace(piece, raw=raw), "anthropic") if raw is not None else 0
