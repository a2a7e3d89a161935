"""The user's limits of pins, memory and artifacts, as the core has them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import convert

from ullage.core.evidence.artifacts import ArtifactCaps
from ullage.core.evidence.memory import MemoryLimits
from ullage.core.evidence.pins import PinLimits

if TYPE_CHECKING:
    from .records import Settings


def make_pin_limits(settings: Settings) -> PinLimits:
    """The most that one pin, and that the pins of one owner may have."""
    return PinLimits(chars=settings.memory.pin_chars, tokens=settings.planning.max_pinned_tokens)


def make_memory_limits(settings: Settings) -> MemoryLimits:
    """The most that one claim may have, and that one request gets of them."""
    memory = settings.memory
    return MemoryLimits(
        chars=memory.claim_chars, results=memory.max_results, tokens=settings.planning.max_memory_tokens
    )


def make_artifact_caps(settings: Settings) -> ArtifactCaps:
    """From which size on a result may become an artifact, and how much of one is quoted, kept and searched."""
    return convert(settings.artifacts, ArtifactCaps, from_attributes=True)
