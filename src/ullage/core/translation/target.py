"""Where a translated request goes, with what is known of the model there."""

from __future__ import annotations

from typing import NamedTuple

from msgspec import Struct

from ullage.core.profiles.thinking import ThinkingRule
from ullage.core.wire import Dialect

from .models import is_openai_reasoning


class Kind(NamedTuple):
    """All that a refusal of a request depends on, beside the request."""

    dialect: Dialect
    stops_nowhere: bool
    images: bool | None
    tools: bool | None


class Target(Struct, frozen=True, kw_only=True):
    """A model that speaks a dialect. `None` is not known.

    `provider` is the common name of who serves it, `model` the name that it is known by there. `max_output_tokens` is the longest
    answer it can give. `thinking` is how it is told how much to think; where it is not given, the rule of its name holds
    (`find_thinking_rule`). Without `reasoning` it is given none back, not even its own: what it was made on has changed.
    """

    dialect: Dialect
    model: str
    provider: str = ""
    max_output_tokens: int | None = None
    images: bool | None = None
    tools: bool | None = None
    thinking: ThinkingRule | None = None
    reasoning: bool = True

    @property
    def kind(self) -> Kind:
        """What targets that refuse the same requests have in common."""
        return Kind(self.dialect, is_openai_reasoning(self.model), self.images, self.tools)
