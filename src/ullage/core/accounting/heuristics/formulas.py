"""The formulas for OpenAI's declaration of a tool, by name (accounting specification, section 5)."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct
from msgspec.structs import replace

from ullage.core.accounting.amounts import round_half_up
from ullage.core.accounting.tool_formulas import (
    RENDER_BLOCK,
    SUMMARY_BLOCK,
    SUMMARY_DIVISOR,
    payload_tokens,
    piece_tokens,
    render_tokens,
    summary_tokens,
)
from ullage.core.accounting.tool_render import render_tool
from ullage.core.accounting.tool_shapes import NO_DESCRIPTION, brackets_size, tool_payload
from ullage.core.content import ToolSpec

_PAYLOAD = "openai-responses"


class Formula(Struct, frozen=True, kw_only=True):
    """`text` is what the size shown is of, `tokens` one tool alone, `block` comes once with the first tool.

    `brackets` and `comma` are the characters around and between the texts of all tools together.
    """

    label: str
    text: Callable[[ToolSpec], str]
    tokens: Callable[[ToolSpec], int]
    block: int
    brackets: int = 0
    comma: int = 0


def _payload(spec: ToolSpec) -> str:
    return tool_payload(spec, _PAYLOAD)


def _render(spec: ToolSpec) -> str:
    return render_tool(spec.name, spec.description, spec.parameters)


def _described(count: Callable[[ToolSpec], float]) -> Callable[[ToolSpec], int]:
    """The count of a tool whose empty description is replaced first, as everything that is counted has it."""

    def tokens(spec: ToolSpec) -> int:
        return round_half_up(count(described(spec)))

    return tokens


def described(spec: ToolSpec) -> ToolSpec:
    """The tool with words in the place of an empty description."""
    return spec if spec.description else replace(spec, description=NO_DESCRIPTION)


_BRACKETS = brackets_size(_PAYLOAD)

FORMULAS = {
    "openai-tools-v1": Formula(
        label=f"OpenAI formula, schema text ÷ {SUMMARY_DIVISOR:g}",
        text=_payload,
        tokens=_described(summary_tokens),
        block=SUMMARY_BLOCK,
        brackets=_BRACKETS,
        comma=1,
    ),
    "openai-tools-v2": Formula(
        label="OpenAI payload size",
        text=_payload,
        tokens=_described(payload_tokens),
        block=RENDER_BLOCK,
        brackets=_BRACKETS,
        comma=1,
    ),
    "openai-tools-v3": Formula(
        label="OpenAI render",
        text=lambda spec: _render(described(spec)),
        tokens=_described(render_tokens),
        block=RENDER_BLOCK,
    ),
    "openai-tools-v3-pieces": Formula(
        label="OpenAI render by pieces",
        text=lambda spec: _render(described(spec)),
        tokens=_described(piece_tokens),
        block=RENDER_BLOCK,
    ),
}
"""The seed's summary, the payload's size, and the declaration by the vocabulary or without one."""
