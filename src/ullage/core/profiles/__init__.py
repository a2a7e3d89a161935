"""What is known of models: families, framing, tools, pictures, reasoning, growth as rows; limits and prices from outside."""

from .choosing import Provenance
from .facts import Layer, ModelFacts, Prices, PriceTier
from .families import FAMILIES, UNKNOWN_FAMILY, find_family
from .images import image_tokens
from .intervals import CONTENT_KINDS, ContentKind, Interval, find_interval
from .overrides import ModelOverride
from .profile import ModelProfile, narrow_profile, resolve_profile
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
    "Layer",
    "ModelFacts",
    "ModelOverride",
    "ModelProfile",
    "PriceTier",
    "Prices",
    "Provenance",
    "Retention",
    "SchemaRule",
    "SealedRule",
    "ToolRule",
    "find_family",
    "find_interval",
    "image_tokens",
    "narrow_profile",
    "reasoning_retention",
    "resolve_profile",
]
