"""What is known of models, as rows: tokenizer family, framing, tools, pictures, reasoning, growth."""

from .families import FAMILIES, UNKNOWN_FAMILY, find_family
from .images import image_tokens
from .records import Family, Framing, Growth, ImageRule, SchemaRule, ToolRule
from .retention import Retention, reasoning_retention

__all__ = [
    "FAMILIES",
    "UNKNOWN_FAMILY",
    "Family",
    "Framing",
    "Growth",
    "ImageRule",
    "Retention",
    "SchemaRule",
    "ToolRule",
    "find_family",
    "image_tokens",
    "reasoning_retention",
]
