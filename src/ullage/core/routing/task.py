"""What a prompt asks of a model, read from the prompt alone (routing specification, sections 1 and 4)."""

from __future__ import annotations

from msgspec import Struct

KINDS = (
    "debug",
    "refactor",
    "review",
    "test",
    "plan",
    "architecture",
    "ops",
    "research",
    "explain",
    "code-edit",
    "generate",
)
"""Kinds of tasks, in the order in which a profile names them (section 4.1)."""
MIXED = "mixed"
"""Follows the kinds of a task with several of them, and stands alone where none was found."""


class Demand(Struct, frozen=True, kw_only=True):
    """How much a task asks of each ability of a model, 0 to 1."""

    coding: float = 0.0
    reasoning: float = 0.15
    tool_use: float = 0.0
    instruction_following: float = 0.3
    context: float = 0.0
    vision: float = 0.0


class Semantic(Struct, frozen=True, kw_only=True):
    """How much of a task is work of each sort, 0 to 1."""

    debugging: float = 0.0
    planning: float = 0.0
    architecture: float = 0.0
    review: float = 0.0
    generation: float = 0.0
    explanation: float = 0.0


class Term(Struct, frozen=True):
    """One summand of a complexity, and what it is for."""

    name: str
    value: float


class TaskProfile(Struct, frozen=True, kw_only=True):
    """What a task asks for. Figures are 0 to 1; context and output are tokens of the local estimate.

    `terms` sum to `complexity` before it is cut to 1. `inherited` counts the prompts since the one that this profile was read
    from, where they said no more than "go on".
    """

    kinds: tuple[str, ...]
    complexity: float
    demand: Demand
    semantic: Semantic
    risk: float
    latency_sensitivity: float
    cost_sensitivity: float
    confidence: float
    requires_vision: bool = False
    required_context_tokens: int = 1024
    required_output_tokens: int = 2048
    minimum_tier: str | None = None
    terms: tuple[Term, ...] = ()
    inherited: int = 0
