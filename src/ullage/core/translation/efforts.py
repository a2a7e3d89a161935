"""How much a model is to think: words and budgets of each dialect to the common levels (routing specification, section 15)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ullage.core.profiles.thinking import THINKING_LEVELS

from .nouns import Effort

if TYPE_CHECKING:
    from ullage.core.profiles.thinking import ThinkingLevel

# Half way between the budgets that `core.profiles.thinking` gives each level.
_MOST_TOKENS: tuple[tuple[int, ThinkingLevel], ...] = (
    (0, "off"),
    (1_536, "minimal"),
    (5_120, "low"),
    (12_288, "medium"),
    (20_480, "high"),
    (28_288, "xhigh"),
)


def effort_of_word(word: Any, *, shown: bool = False) -> Effort | None:
    """An effort by OpenAI's, Anthropic's or Gemini's word; `None` where nothing was said that is known."""
    if not isinstance(word, str):
        return None
    name = "off" if word.lower() == "none" else word.lower()
    level = next((one for one in THINKING_LEVELS if one == name), None)
    return Effort(level=level, shown=shown) if level is not None else None


def level_of_budget(tokens: int) -> ThinkingLevel | None:
    """The level whose own budget is nearest; below zero the model decides, which is no level."""
    if tokens < 0:
        return None
    return next((level for most, level in _MOST_TOKENS if tokens <= most), "max")
