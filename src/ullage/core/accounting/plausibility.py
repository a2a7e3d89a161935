"""Whether a provider's count can be true: a count endpoint behind a proxy may answer 1 to anything (accounting specification,
sections 19, item 28, and 22, item 7).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from .inline_tools import inline_tools
from .tool_shapes import tool_payload

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ullage.core.content import Context, Part, Role, ToolSpec

# Accounting specification, section 22, item 7: tokens per character between 1/20 and 1.
_CHARS_PER_TOKEN_MOST = 20

# What vendors add unseen, once: 679 tokens around a message (Grok 4) are the most that the recorded requests of section 23 show,
# and 804 with the first tool the most in section 7.
_HIDDEN_TOKENS = 700
_HIDDEN_TOKENS_WITH_TOOLS = 850
# Roles and markers around a message, a call, a result or a tool: 14 at the most in section 6, 11 around a result.
_FRAME_TOKENS = 20


class Bounds(Struct, frozen=True, kw_only=True):
    """The counts that can be true.

    `most` is `None` where parts of unknown cost are sent: pictures, hidden reasoning, hosted tools. `chars` are the code points
    that certainly count.
    """

    least: int
    most: int | None
    chars: int

    def refusal(self, tokens: int) -> str | None:
        """Why a count cannot be true; `None` if it can."""
        if tokens < self.least:
            return (
                f"a count of {tokens:,} is too low for {self.chars:,} characters: {self.least:,} tokens are the least"
            )
        if self.most is not None and tokens > self.most:
            return f"a count of {tokens:,} is too high for {self.chars:,} characters: {self.most:,} tokens are the most"
        return None


def plausible_bounds(context: Context, dialect: str) -> Bounds:
    """The bounds for a request of this content.

    Least is a token for 20 characters of what certainly counts: earlier thinking may be stripped, by some hosts with the text
    around it, and deferred tools are not loaded. Most is a token a character, in UTF-8 bytes since no tokenizer needs more than
    one for each, and what vendors add unseen.
    """
    parts = [part for message in context.messages for part in _flat(message.parts)]
    tools = [*context.tools, *(spec for part in parts for spec in inline_tools(part))]
    sure = [*context.system]
    unsure = [spec.wire.decode("utf-8", "replace") for spec in tools if not _is_loaded(spec)]
    for message in context.messages:
        for part in _flat(message.parts):
            (unsure if _may_vanish(part, message.role) else sure).append(part.text)
    sure += [tool_payload(spec, dialect, placeholder=False) for spec in tools if _is_loaded(spec)]
    chars = sum(map(len, sure))
    frames = len(context.system) + len(context.messages) + len(parts) + len(tools)
    hidden = _HIDDEN_TOKENS + (_HIDDEN_TOKENS_WITH_TOOLS if tools else 0) + _FRAME_TOKENS * frames
    return Bounds(
        least=max(1, chars // _CHARS_PER_TOKEN_MOST),
        most=None if _has_unknown(parts, tools) else _bytes((*sure, *unsure)) + hidden,
        chars=chars,
    )


def _flat(parts: Iterable[Part]) -> Iterator[Part]:
    for part in parts:
        yield part
        yield from _flat(part.parts)


def _may_vanish(part: Part, role: Role) -> bool:
    """Whether a provider may leave the text out. What defines tools inside the conversation is counted as tools."""
    return part.kind == "thinking" or (part.kind == "text" and role == "assistant") or bool(inline_tools(part))


def _is_loaded(spec: ToolSpec) -> bool:
    """Whether the definition certainly counts in the shape of its payload."""
    return spec.kind == "function" and not spec.deferred and spec.active


def _has_unknown(parts: Iterable[Part], tools: Iterable[ToolSpec]) -> bool:
    return any(part.media is not None or part.sealed_chars for part in parts) or any(
        spec.kind == "hosted" for spec in tools
    )


def _bytes(texts: Iterable[str]) -> int:
    return sum(len(text.encode("utf-8", "replace")) for text in texts)
