"""How much a model should think about a task (routing specification, section 15)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ullage.core.profiles.thinking import THINKING_LEVELS, ThinkingLevel

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .task import TaskProfile

Level = ThinkingLevel
LEVELS: tuple[Level, ...] = THINKING_LEVELS
"""From the least to the most (section 1)."""

_BELOW: tuple[tuple[float, Level], ...] = (
    (0.15, "off"),
    (0.30, "minimal"),
    (0.45, "low"),
    (0.65, "medium"),
    (0.82, "high"),
    (0.93, "xhigh"),
)


def thinking_demand(task: TaskProfile) -> float:
    """How much thinking a task asks for, 0 to 1."""
    semantic = task.semantic
    return (
        0.45 * task.demand.reasoning
        + 0.20 * task.complexity
        + 0.15 * task.risk
        + 0.10 * semantic.debugging
        + 0.10 * max(semantic.planning, semantic.architecture)
    )


def demanded_level(demand: float) -> Level:
    """The level that a demand asks for, whatever the model."""
    return next((level for bound, level in _BELOW if demand < bound), "max")


def fit_level(level: Level, *, reasoning: bool, levels: Mapping[str, str | None] | None = None) -> Level:
    """The level that a model has: the next lower one where its map says `None`, and `off` where it cannot reason.

    A level that the map does not name is had.
    """
    if not reasoning:
        return "off"
    marked = levels or {}
    for candidate in reversed(LEVELS[: LEVELS.index(level) + 1]):
        if marked.get(candidate, "") is not None:
            return candidate
    return "off"


def choose_level(
    task: TaskProfile,
    *,
    fixed: Level | None = None,
    host: Level | None = None,
    ruled: Level | None = None,
) -> Level:
    """Before it is fitted to a model: what is fixed, else the host's, else what a rule says, else what the task asks for."""
    return fixed or host or ruled or demanded_level(thinking_demand(task))
