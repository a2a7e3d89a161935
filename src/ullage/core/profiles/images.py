"""Tokens of pictures from their size in pixels; nothing is decoded here."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .records import ImageRule

_OPENAI_BOX = 2048
_OPENAI_SHORT_SIDE = 768
_OPENAI_TILE = 512
_GEMINI_SMALL = 384
_GEMINI_CROP_TOKENS = 258
_GEMINI_CROP_MIN, _GEMINI_CROP_MAX = 256, 768


def image_tokens(rule: ImageRule, width: int, height: int, detail: str | None = None) -> int:
    """Tokens of one picture of known size; `detail` as OpenAI spells it."""
    if width <= 0 or height <= 0:
        return rule.unknown
    match rule.kind:
        case "patches":
            patches = _patches(rule, width, height)
            return rule.base + math.ceil(patches * rule.multiplier)
        case "tiles":
            return rule.low if detail == "low" else rule.base + rule.per_tile * _tiles(width, height)
        case "rows":
            columns, rows = _fitted(rule, width, height)
            return rule.base + columns * rows + rows
        case "rounded":
            return rule.base + _rounded(rule, width, height)
        case "squares":
            squares = min(_grid(width, height, rule.unit), rule.cap)
            return rule.base + rule.per_tile * (squares + (squares > 1))
        case "area":
            return rule.base + max(1, round(width * height / rule.unit**2))
        case "crops":
            return _GEMINI_CROP_TOKENS * _crops(width, height)
        case "flat":
            return rule.base
        case "unknown":
            return rule.unknown


def _patches(rule: ImageRule, width: int, height: int) -> int:
    scale = min(1.0, rule.edge / max(width, height)) if rule.edge else 1.0
    count = _grid(width * scale, height * scale, rule.unit)
    while rule.cap and count > rule.cap:
        # Rounding up to whole squares can leave a count just above the cap: shrink a little more each round.
        scale *= max(0.9, math.sqrt(rule.cap / count) * 0.999)
        count = _grid(width * scale, height * scale, rule.unit)
    return count


def _fitted(rule: ImageRule, width: int, height: int) -> tuple[int, int]:
    """Patches across and down, scaled to the longest side that the model takes."""
    scale = min(1.0, rule.edge / max(width, height)) if rule.edge else 1.0
    return math.ceil(width * scale / rule.unit), math.ceil(height * scale / rule.unit)


def _rounded(rule: ImageRule, width: int, height: int) -> int:
    """Patches of a picture whose sides are rounded to whole ones, after scaling into the least and the most pixels."""
    least, most = 4 * rule.unit**2, rule.cap * rule.unit**2
    scale = math.sqrt(least / (width * height)) if width * height < least else 1.0
    scale = math.sqrt(most / (width * height)) if most and width * height > most else scale
    turn = math.ceil if scale > 1 else round
    return max(1, turn(width * scale / rule.unit)) * max(1, turn(height * scale / rule.unit))


def _grid(width: float, height: float, unit: int) -> int:
    return math.ceil(width / unit) * math.ceil(height / unit)


def _tiles(width: int, height: int) -> int:
    scale = min(1.0, _OPENAI_BOX / max(width, height))
    scale *= min(1.0, _OPENAI_SHORT_SIDE / (min(width, height) * scale))
    return _grid(width * scale, height * scale, _OPENAI_TILE)


def _crops(width: int, height: int) -> int:
    if width <= _GEMINI_SMALL and height <= _GEMINI_SMALL:
        return 1
    unit = min(max(math.floor(min(width, height) / 1.5), _GEMINI_CROP_MIN), _GEMINI_CROP_MAX)
    return 1 + _grid(width, height, unit)  # the whole picture once more, small: 3008 x 2000 was counted as 13
