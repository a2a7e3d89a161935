"""What OpenAI's declaration of a tool costs, by the three formulas that were found one after another (accounting specification,
section 5), and a count of tokens for a text where no vocabulary is at hand."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ullage.core.tokens import compact_json, load_vocabulary

from .field_types import type_text
from .tool_render import render_tool
from .tool_shapes import tool_payload

if TYPE_CHECKING:
    from ullage.core.content import ToolSpec

SUMMARY_BLOCK = 12
"""Once beside all tools of `summary_tokens` (section 5.1)."""

RENDER_BLOCK = 16
"""Once beside all tools of `payload_tokens` and `render_tokens` (sections 5.2 and 5.3)."""

SUMMARY_DIVISOR = 6.6
"""Characters a token of `summary_tokens`; the first draft had 4 (section 5.1)."""

_TOOL, _PROPERTIES, _PROPERTY, _VALUES, _VALUE = 7, 3, 3, -3, 3
_PIECE_LETTERS = 9

# The classes of the o200k pre-tokenizer, in the order in which it tries them: a word with an optional sign before it, up to three
# digits, a run of signs with the line ends behind it, white space (section 5.3; English endings are pieces of their own there).
_SIGN = r"(?:[^\r\n\w]|_)?"
_UPPER, _LOWER = r"[^\W\d_a-zß-öø-ÿ]", r"[^\W\d_A-ZÀ-ÖØ-Þ]"
_PIECE = re.compile(
    rf"{_SIGN}{_UPPER}*{_LOWER}+|{_SIGN}{_UPPER}+{_LOWER}*|\d{{1,3}}"
    r"| ?(?:[^\s\w]|_)+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)


def summary_tokens(spec: ToolSpec, divisor: float = SUMMARY_DIVISOR) -> int:
    """`openai-tools-v1`: a summary of the schema, its texts by characters (section 5.1). Add `SUMMARY_BLOCK` once."""
    described = _text_tokens(f"{spec.name}:{spec.description.removesuffix('.')}", divisor)
    return _TOOL + described + _properties_tokens(spec.parameters, divisor)


def payload_tokens(spec: ToolSpec) -> float:
    """`openai-tools-v2`: the size of the payload alone (section 5.2). Add `RENDER_BLOCK` once."""
    chars = len(tool_payload(spec, "openai-responses"))
    return max(chars / 8, (chars - 190) / 4.5)


def render_tokens(spec: ToolSpec) -> int:
    """`openai-tools-v3`: the declaration, counted by o200k_base (section 5.3). Add `RENDER_BLOCK` once."""
    return load_vocabulary("o200k_base").count(render_tool(spec.name, spec.description, spec.parameters))


def piece_tokens(spec: ToolSpec) -> int:
    """`openai-tools-v3` without a vocabulary: the pieces of the declaration (section 5.3). Add `RENDER_BLOCK` once."""
    return count_pieces(render_tool(spec.name, spec.description, spec.parameters))


def count_pieces(text: str) -> int:
    """Tokens of a text by the pieces that o200k's pre-tokenizer cuts it into: one for each nine characters of a piece begun."""
    return sum(1 + (len(piece) - 1) // _PIECE_LETTERS for piece in _PIECE.findall(text))


def _properties_tokens(schema: Any, divisor: float) -> int:
    properties = schema.get("properties") if isinstance(schema, Mapping) else None
    if not isinstance(properties, Mapping) or not properties:
        return 0
    return _PROPERTIES + sum(_property_tokens(name, member, divisor) for name, member in properties.items())


def _property_tokens(name: str, schema: Any, divisor: float) -> int:
    facts = schema if isinstance(schema, Mapping) else {}
    description = facts.get("description")
    described = description.removesuffix(".") if isinstance(description, str) else ""
    own = _PROPERTY + _values_tokens(facts.get("enum"), divisor)
    own += _text_tokens(f"{name}:{type_text(facts)}:{described}", divisor)
    return own + _properties_tokens(facts, divisor) + _properties_tokens(facts.get("items"), divisor)


def _values_tokens(values: Any, divisor: float) -> int:
    if not isinstance(values, list) or not values:
        return 0
    return _VALUES + sum(_VALUE + _text_tokens(_value_text(value), divisor) for value in values)


def _text_tokens(text: str, divisor: float) -> int:
    return math.ceil(len(text) / divisor)


def _value_text(value: Any) -> str:
    return value if isinstance(value, str) else compact_json(value)
