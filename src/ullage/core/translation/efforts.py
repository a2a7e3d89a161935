"""How much a model is to think: words of each dialect as an effort (routing specification, section 15)."""

from __future__ import annotations

from typing import Any

from ullage.core.profiles.thinking import level_of_word

from .nouns import Effort


def effort_of_word(word: Any, *, shown: bool = False) -> Effort | None:
    """An effort by OpenAI's, Anthropic's or Gemini's word; `None` where nothing was said that is known."""
    level = level_of_word(word) if isinstance(word, str) else None
    return Effort(level=level, shown=shown) if level is not None else None
