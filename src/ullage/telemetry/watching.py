"""What the settings ask for, put together."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from .access_log import AccessLog
from .figures import Figures
from .tracing import open_tracing

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from ullage.settings import Settings
    from ullage.stores import AttemptRecord

    from .exposition import Family


class Telemetry:
    """Those who watch. `figures` is there where Prometheus may read them; OpenTelemetry goes by the variables of `environ`."""

    def __init__(self, settings: Settings, environ: Mapping[str, str]) -> None:
        asked = settings.telemetry
        self.watchers: list[Callable[[AttemptRecord], None]] = []
        self.figures = Figures() if asked.prometheus else None
        if self.figures is not None:
            self.watchers.append(self.figures.note)
        if asked.access_log:
            self.watchers.append(AccessLog(Path(asked.access_log)).note)
        self._tracing = open_tracing(environ) if asked.opentelemetry else None
        if self._tracing is not None:
            self.watchers.append(self._tracing.note)

    def close(self) -> None:
        """Sends what waits to be sent; may wait for the network."""
        if self._tracing is not None:
            self._tracing.close()

    def scrape(self, standing: Callable[[], Iterable[Family]]) -> Callable[[], str] | None:
        """What gives the text of a scrape, with how things stand then; `None` where nobody may ask."""
        figures = self.figures
        return None if figures is None else lambda: figures.render(standing())
