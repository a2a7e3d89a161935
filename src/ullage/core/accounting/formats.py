"""Numbers as people read them (accounting specification, section 12)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from .breakdown import Heuristic

Style = Literal["fine", "coarse"]

_K = 1_000
_M = 1_000_000


def compact_number(value: int, style: Style = "fine") -> str:
    """One unit everywhere: thousands with one decimal, millions from 1,000,000; `coarse` drops decimals from 1k on."""
    size = abs(value)
    sign = "-" if value < 0 else ""
    if size >= _M or f"{size / _K:.1f}" == "1000.0":
        return f"{sign}{size / _M:.1f}M"
    if style == "coarse" and size >= _K:
        return f"{sign}{size / _K:.0f}k"
    return f"{sign}{size / _K:.1f}k"


def tokens_text(value: int, *, exact: bool, style: Style = "fine") -> str:
    """`~14.2k` for an estimate, ` 64.3k` for a number of the provider's: the units stand below each other."""
    return f"{' ' if exact else '~'}{compact_number(value, style)}"


def chars_text(chars: int) -> str:
    """`9.2k ch`."""
    return f"{compact_number(chars)} ch"


def heuristic_text(heuristic: Heuristic) -> str:
    """`counts ch ÷ 3.8 · session ÷ 3.5 · tools ÷ 3.3 (label)`: only what differs from the first, and who had the last word."""
    text = heuristic.text_denominator
    parts = [f"counts ch ÷ {text:g}"]
    if heuristic.session_denominator != text:
        parts.append(f"session ÷ {heuristic.session_denominator:g}")
    if heuristic.tool_denominator is None:
        parts.append(f"tools: {heuristic.tools}")
    elif heuristic.tool_denominator != text:
        parts.append(f"tools ÷ {heuristic.tool_denominator:g}")
    told = heuristic.source in (heuristic.label, "fallback", "built-in")
    source = "" if told else f", by {heuristic.source}"
    return f"{' · '.join(parts)} ({heuristic.label}{source})"


def window_text(window: int) -> str:
    """A window as a label: `200k`, `128.5k`, `1M`."""
    text = compact_number(window)
    number, unit = text[:-1], text[-1]
    return f"{number.removesuffix('.0')}{unit}"


def share_text(tokens: int, window: int, *, exact: bool) -> str:
    """The share of the window as a whole percentage; `<1%` for what is there but small."""
    percent = round(100 * tokens / window)
    text = "<1%" if percent == 0 and tokens > 0 else f"{percent}%"
    return f"{'' if exact else '~'}{text} ctx"


def total_share_text(tokens: int, window: int, *, exact: bool) -> str:
    """The total's share with one decimal, and the window beside it: `32.2% / 200k ctx`."""
    return f"{'' if exact else '~'}{100 * tokens / window:.1f}% / {window_text(window)} ctx"
