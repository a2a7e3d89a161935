"""`chars-v1` and `o200k-base-v1`: the planner's wrappers over the nouns of a conversation (planner specification, section 6).

A noun counts as the messages in Pi's shape that it stands for: one for each tool result, one for the rest. A text that came as a
plain string counts as one block, so that a message weighs the same in every dialect.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ullage.core.tokens import compact_json, estimate_tool
from ullage.core.tokens.wrappers import BLOCK_TOKENS, IMAGE_TOKENS, MESSAGE_TOKENS, SYSTEM_TOKENS

from .amounts import Amount, within
from .rules import NothingHidden

if TYPE_CHECKING:
    from ullage.core.content import Media, Role, ToolSpec
    from ullage.core.tokens import Estimator

    from .options import Options

# The reference's errors on ordinary requests (accounting specification, section 21: seed-style baselines).
_ERROR = 0.4


class WrapperRule(NothingHidden):
    """The wrapper arithmetic around one text estimator."""

    def __init__(self, estimator: Estimator) -> None:
        self._estimator = estimator

    @property
    def tools_method(self) -> str:
        return self._estimator.name

    def prose(self, text: str) -> Amount:
        return self._amount(self._estimator.text(text))

    def speech(self, text: str) -> Amount:
        return self.prose(text)

    def dense(self, text: str) -> Amount:
        return self.prose(text)

    def call(self, name: str, arguments: str) -> Amount:
        return self.prose(name + arguments)

    def result(self, text: str, name: str | None = None) -> Amount:
        return self.prose(text)

    def tool(self, spec: ToolSpec) -> Amount:
        if spec.kind == "custom":
            return self.prose(compact_json({"name": spec.name, "description": spec.description, "format": spec.format}))
        return self._amount(estimate_tool(spec.name, spec.description, spec.parameters, self._estimator))

    def media(self, media: Media) -> Amount:
        return self._amount(IMAGE_TOKENS)

    def schema(self, options: Options) -> Amount:
        return self.prose(compact_json(options.schema))

    def message_frame(self, role: Role, blocks: int) -> int:
        return MESSAGE_TOKENS + self._estimator.text(role) + BLOCK_TOKENS * blocks

    def system_frame(self) -> int:
        return SYSTEM_TOKENS

    def name_frame(self, name: str, role: Role) -> int:
        return 0

    def call_frame(self, name: str | None) -> int:
        return 0  # a call is a block of its message

    def result_frame(self, name: str | None, blocks: int) -> int:
        return (
            MESSAGE_TOKENS
            + self._estimator.text("toolResult")
            + self._estimator.text(name or "")
            + BLOCK_TOKENS * blocks
        )

    def opening(self) -> int:
        return 0

    def _amount(self, tokens: int) -> Amount:
        return within(tokens, _ERROR, self._estimator.name)
