"""Limits as plain JSON, for manifests and screens."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec.structs import asdict

if TYPE_CHECKING:
    from .budget import Budget
    from .categories import Adaptive


def report_budget(budget: Budget) -> dict[str, Any]:
    """Every figure of the budget, `active` included."""
    return asdict(budget) | {"active": budget.active}


def report_adaptive(adaptive: Adaptive) -> dict[str, Any]:
    """Nominal and resolved tokens of each category, and whether the user gave them."""
    return {name: asdict(category) for name, category in asdict(adaptive).items()}
