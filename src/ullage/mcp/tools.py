"""What the server gives access to. Of no protocol: commands use the same functions."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from .artifacts import ArtifactTools
    from .history import HistoryTools
    from .keeping import KeepingTools


class Tools(NamedTuple):
    """The tools of one project."""

    artifacts: ArtifactTools
    history: HistoryTools
    keeping: KeepingTools
