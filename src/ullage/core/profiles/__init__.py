"""What is known of models, as rows: tokenizer family, framing, tools, pictures, reasoning, growth."""

from .families import FAMILIES, UNKNOWN_FAMILY, find_family
from .images import image_tokens
from .intervals import CONTENT_KINDS, ContentKind, Interval, find_interval
from .records import DeclarationStyle, Family, Framing, Growth, ImageRule, SchemaRule, SealedRule, ToolRule
from .retention import Retention, reasoning_retention

__all__ = [
    "CONTENT_KINDS",
    "FAMILIES",
    "UNKNOWN_FAMILY",
    "ContentKind",
    "DeclarationStyle",
    "Family",
    "Framing",
    "Growth",
    "ImageRule",
    "Interval",
    "Retention",
    "SchemaRule",
    "SealedRule",
    "ToolRule",
    "find_family",
    "find_interval",
    "image_tokens",
    "reasoning_retention",
]
