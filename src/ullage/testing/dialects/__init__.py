"""The four API dialects as a provider speaks them: requests read, answers written, JSON and server-sent events."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import anthropic, gemini, openai_chat, openai_responses

if TYPE_CHECKING:
    from ullage.core.wire import Dialect
    from ullage.testing.prompt import DialectModule

DIALECT_MODULES: dict[Dialect, DialectModule] = {
    "openai-chat": openai_chat,
    "openai-responses": openai_responses,
    "anthropic": anthropic,
    "gemini": gemini,
}

__all__ = ["DIALECT_MODULES"]
