"""`/context storage` and `health`: the databases, and whether all is well."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ullage.cli import records
from ullage.cli.awareness_text import counted
from ullage.cli.records import open_records, print_lines
from ullage.core.errors import StoreError
from ullage.core.terminal import safe

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ullage.settings import Loaded

    from .asked import Asked


def show_storage(asked: Asked) -> int:
    """Sizes, log and reusable space of each database, how long records stay, and what to do."""
    from ullage.cli import answer
    from ullage.settings import load_settings

    status = answer(["db", "check"])
    store = load_settings().settings.store
    kept = f"Records stay for {counted(store.keep_days, 'day')} (store.keep_days)"
    print_lines([f"{kept}; `ullage db prune` removes older ones, and gives room back."])
    return status


def show_health(asked: Asked) -> int:
    """OK, or WARN with what is not as it should be (planner specification, section 31); then each check of `ullage doctor`."""
    from ullage.cli import answer
    from ullage.settings import load_settings

    found = list(_warnings(asked, load_settings()))
    print_lines([f"WARN: {safe(one)}" for one in found] or ["OK"])
    print_lines([""])
    return answer(["doctor"])


def _warnings(asked: Asked, loaded: Loaded) -> Iterator[str]:
    from .artifact_screen import find_lost

    yield from _of_databases(loaded)
    yield from map(str, loaded.problems)
    try:
        reader = open_records()
    except StoreError as error:
        if error.code != "no_database":
            yield error.message
        return
    yield from reader.problems()
    lost = find_lost(reader.artifacts(asked.session, limit=records.MATCHES), loaded) if asked.session else []
    if lost:
        yield f"{counted(len(lost), 'tool result')} kept aside cannot be read any more: /context artifacts"


def _of_databases(loaded: Loaded) -> Iterator[str]:
    from ullage.cli.db.places import find_main, name_of
    from ullage.stores.maintenance import check

    try:
        main, _ = find_main(None)
        if not main.is_file():
            return
        health = check(main, full=False, progress=lambda _: None)
    except StoreError as error:
        if error.code != "no_database":
            yield error.message
        return
    for one in health.databases:
        for finding in one.findings:
            yield f"{name_of(one.path, one.project, main)}: {finding.message}"
