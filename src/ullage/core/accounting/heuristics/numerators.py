"""What is counted of a tool definition: a payload that is divided, or OpenAI's declaration by a formula of its own.

Sections 3 and 5 of the accounting specification. A numerator is chosen by name; one that nobody knows is the Responses payload,
and says so.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Protocol

from ullage.core.accounting.tool_shapes import NO_DESCRIPTION, SHAPE_LABELS, brackets_size, find_shape, tool_payload
from ullage.core.tokens import compact_json

from .formulas import FORMULAS
from .templates import fill_template, read_template

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ullage.core.content import ToolSpec
    from ullage.core.profiles.heuristics import ToolShape

    from .formulas import Formula

_RESPONSES = "openai-responses"


class Numerator(Protocol):
    """Counts tools one by one and together. `key` is everything that changes its numbers, `method` its name on a screen."""

    @property
    def key(self) -> str: ...

    @property
    def method(self) -> str: ...

    @property
    def denominator(self) -> float | None:
        """Characters in a token; `None` for a formula."""
        ...

    def text(self, spec: ToolSpec) -> str:
        """What is shown as the size of one tool."""
        ...

    def tokens(self, spec: ToolSpec) -> int:
        """One tool alone."""
        ...

    def together(self, chars: Sequence[int], tokens: Sequence[int]) -> tuple[int, int]:
        """Characters and tokens of all tools in one request, from what each has alone. No tools are nothing."""
        ...


class Payload:
    """The JSON of a definition, divided. Together they are a JSON array, or Gemini's object."""

    def __init__(self, name: str, label: str, denominator: float, template: object = None) -> None:
        self.denominator = denominator
        self._name = name
        self._template = template
        self._brackets = brackets_size(name)
        self.method = f"{label} ÷ {denominator:g}"
        self.key = f"{self.method}/{name}/{compact_json(template)}"

    def text(self, spec: ToolSpec) -> str:
        if spec.kind == "custom":
            return _custom_text(spec)
        if self._template is None:
            return tool_payload(spec, self._name)
        return compact_json(fill_template(self._template, spec, spec.description or NO_DESCRIPTION))

    def tokens(self, spec: ToolSpec) -> int:
        return self._divided(len(self.text(spec)))

    def together(self, chars: Sequence[int], tokens: Sequence[int]) -> tuple[int, int]:
        if not chars:
            return 0, 0
        size = sum(chars) + len(chars) - 1 + self._brackets
        return size, self._divided(size)

    def _divided(self, chars: int) -> int:
        return math.ceil(chars / self.denominator)


class Declaration:
    """OpenAI's own writing of a tool, by a formula that says what the tokens are; a block once."""

    denominator = None

    def __init__(self, name: str, formula: Formula) -> None:
        self._formula = formula
        self.method = formula.label
        self.key = f"{formula.label}/{name}"

    def text(self, spec: ToolSpec) -> str:
        return self._formula.text(spec)

    def tokens(self, spec: ToolSpec) -> int:
        return self._formula.tokens(spec)

    def together(self, chars: Sequence[int], tokens: Sequence[int]) -> tuple[int, int]:
        if not chars:
            return 0, 0
        formula = self._formula
        size = sum(chars) + formula.brackets + formula.comma * (len(chars) - 1)
        return size, sum(tokens) + formula.block


def _custom_text(spec: ToolSpec) -> str:
    """A tool with a grammar has no schema, so no shape of its own either."""
    return compact_json({"name": spec.name, "description": spec.description or NO_DESCRIPTION, "format": spec.format})


def find_numerator(
    name: str, denominator: float, shapes: Mapping[str, ToolShape], *, cookbook: str = "openai-tools-v3"
) -> Numerator:
    """The numerator of that name: a user's shape, OpenAI's formulas, a built-in shape.

    `cookbook` is the formula that `openai-cookbook` stands for. A shape that names another is followed; a circle ends at the
    Responses payload.
    """
    seen: set[str] = set()
    label = None
    while name in shapes and name not in seen:
        seen.add(name)
        shape = shapes[name]
        denominator = shape.denominator or denominator
        label = label or shape.label
        template = read_template(shape.template)
        if template is not None:
            return Payload(name, label or f"{name} payload", denominator, template)
        name = shape.shape or _RESPONSES
    return _built_in(name, label, denominator, cookbook)


def _built_in(name: str, label: str | None, denominator: float, cookbook: str) -> Numerator:
    formula = FORMULAS.get(cookbook if name == "openai-cookbook" else name)
    if formula is not None:
        return Declaration(name, formula)
    known = find_shape(name)
    if known is None:
        return Payload(_RESPONSES, label or f"unknown shape {name}, Responses payload", denominator)
    return Payload(known, label or f"{SHAPE_LABELS[known]} payload", denominator)
