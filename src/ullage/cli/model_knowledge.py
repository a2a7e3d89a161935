"""What the catalogues, the settings and the store know of models, opened for a command as the daemon has it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from ullage.catalogs import load_now
from ullage.core.errors import StoreError
from ullage.engine.known import Known
from ullage.engine.naming import name_sources
from ullage.settings import load_settings
from ullage.stores import open_reader

if TYPE_CHECKING:
    from ullage.catalogs import Catalogs
    from ullage.settings import Settings
    from ullage.stores import Reader


class Opened(Known):
    """All three, with the catalogues themselves at hand."""

    def __init__(self, settings: Settings, catalogs: Catalogs, store: Reader | None, *, now_ms: int) -> None:
        super().__init__(settings, name_sources(catalogs, settings), store, now_ms=now_ms)
        self.catalogs = catalogs


def open_knowledge(data_dir: str | None, *, now_ms: int) -> Opened:
    """All three as the settings say. A missing database is no error: then nothing was learned yet. Raises `StoreError` for one
    that cannot be read."""
    loaded = load_settings(flags={"data_dir": data_dir})
    settings = loaded.settings
    catalogs = load_now(loaded.paths.cache_dir, refresh=settings.models.refresh)
    try:
        store: Reader | None = open_reader(settings.store.url, loaded.paths.data_dir)
    except StoreError as error:
        if error.code not in ("no_database", "no_reader"):
            raise
        store = None
        if error.code == "no_reader":
            click.echo(f"ullage: {error.message}", err=True)
    return Opened(settings, catalogs, store, now_ms=now_ms)
