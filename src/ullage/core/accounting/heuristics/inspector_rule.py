"""`inspector-v1` and `inspector-v2`: characters divided by what one token of the model takes on average.

Only what somebody wrote is counted, so nothing stands around it: framing, hidden text and the vendor's tool block are in the gap.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from ullage.core.accounting.amounts import between, exactly, within
from ullage.core.accounting.breakdown import Heuristic
from ullage.core.accounting.rules import NothingHidden
from ullage.core.tokens import compact_json

if TYPE_CHECKING:
    from ullage.core.accounting.amounts import Amount
    from ullage.core.accounting.options import Options
    from ullage.core.content import Media, Role, ToolSpec

    from .numerators import Numerator
    from .resolve import Denominators

# The reference's errors on ordinary requests (accounting specification, section 21: seed-style baselines).
_ERROR = 0.4
IMAGE_CHARS = 4_800
"""What a picture stands for, whatever its size (section 7): known to be wrong, kept for comparison."""

NO_COST = "run by the provider: cost unknown"


class InspectorRule(NothingHidden):
    """Text and session denominator, and a numerator for tools. Brackets, commas and what a formula adds once are known when all
    tools are: see `settle`."""

    def __init__(self, denominators: Denominators, numerator: Numerator) -> None:
        self.denominators = denominators
        self.numerator = numerator
        self.text_method = method_of(denominators.text_denominator)
        self.session_method = method_of(denominators.session_denominator)

    @property
    def family(self) -> str:
        """The label of what counts, for reports: "unknown" where nothing but the fallback does."""
        return self.denominators.label if self.denominators.known else "unknown"

    def described(self) -> Heuristic:
        """The rule for a report."""
        return Heuristic(
            label=self.denominators.label,
            source=self.denominators.source,
            text_denominator=self.denominators.text_denominator,
            session_denominator=self.denominators.session_denominator,
            tool_denominator=self.numerator.denominator,
            tool_numerator=self.denominators.tool_numerator,
            tools=self.numerator.method,
        )

    @property
    def key(self) -> str:
        """Everything that changes a number of this rule."""
        return f"{self.text_method}|{self.session_method}|{self.numerator.key}"

    @property
    def tools_method(self) -> str:
        return self.numerator.method

    def prose(self, text: str) -> Amount:
        return estimated(math.ceil(len(text) / self.denominators.text_denominator), self.text_method)

    def speech(self, text: str) -> Amount:
        return estimated(math.ceil(len(text) / self.denominators.session_denominator), self.session_method)

    def dense(self, text: str) -> Amount:
        return self.speech(text)

    def call(self, name: str, arguments: str) -> Amount:
        return self.speech(name + arguments)

    def result(self, text: str, name: str | None = None) -> Amount:
        return self.speech(text)

    def tool(self, spec: ToolSpec) -> Amount:
        if spec.kind == "hosted":
            return exactly(0, NO_COST)
        return estimated(self.numerator.tokens(spec), self.numerator.method)

    def media(self, media: Media) -> Amount:
        tokens = math.ceil(IMAGE_CHARS / self.denominators.session_denominator)
        return between(0, tokens, tokens * 2, f"picture as {IMAGE_CHARS} ch")

    def schema(self, options: Options) -> Amount:
        return self.prose(compact_json(options.schema))

    def message_frame(self, role: Role, blocks: int) -> int:
        return 0

    def system_frame(self) -> int:
        return 0

    def name_frame(self, name: str, role: Role) -> int:
        return 0

    def call_frame(self, name: str | None) -> int:
        return 0

    def result_frame(self, name: str | None, blocks: int) -> int:
        return 0

    def opening(self) -> int:
        return 0


def method_of(denominator: float) -> str:
    """`ch ÷ 2.6`."""
    return f"ch ÷ {denominator:g}"


def estimated(tokens: int, method: str) -> Amount:
    """Tokens with the bounds of the rule's error."""
    return within(tokens, _ERROR, method)
