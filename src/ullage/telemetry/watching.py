"""What the settings ask for, put together."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from .access_log import AccessLog
from .figures import Figures

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from ullage.settings import Settings
    from ullage.stores import AttemptRecord

    from .exposition import Family


class Telemetry:
    """Those who watch. `figures` is there where Prometheus may read them."""

    def __init__(self, settings: Settings) -> None:
        asked = settings.telemetry
        self.watchers: list[Callable[[AttemptRecord], None]] = []
        self.figures = Figures() if asked.prometheus else None
        if self.figures is not None:
            self.watchers.append(self.figures.note)
        if asked.access_log:
            self.watchers.append(AccessLog(Path(asked.access_log)).note)

    def scrape(self, standing: Callable[[], Iterable[Family]]) -> Callable[[], str] | None:
        """What gives the text of a scrape, with how things stand then; `None` where nobody may ask."""
        figures = self.figures
        return None if figures is None else lambda: figures.render(standing())
