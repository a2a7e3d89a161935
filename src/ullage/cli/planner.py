"""What `ullage plan` plans with: the settings, the flags, and what is known of models once that is asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ullage.engine.proposing import Basis, Planner

from . import records

if TYPE_CHECKING:
    from ullage.engine.known import Known

    from .preferences import Preferences


def make_planner(preferences: Preferences) -> Planner:
    """Raises nothing; what is wrong with the records is told by the first request that needs them."""
    return Planner(
        Basis(
            settings=preferences.settings,
            knowledge=_open,
            estimator=preferences.estimator,
            heuristics=preferences.heuristics,
        )
    )


def _open() -> Known:
    from .model_knowledge import open_knowledge

    return open_knowledge(None, now_ms=records.now_ms())
