"""Which targets and providers are left alone just now, and who watches the daemon."""

from __future__ import annotations

import os
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from ullage.cli import records
from ullage.core.errors import StoreError

from .check import Check

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ullage.settings import Loaded
    from ullage.stores import Reader

_LEFT_ALONE = frozenset({"blocked", "cooldown"})


def left_alone(loaded: Loaded) -> Iterator[Check]:
    """The targets whose circuits are open, and the providers whose quota is used up; nothing where there is no database yet."""
    from ullage.stores import open_reader

    try:
        reader = open_reader(loaded.settings.store.url, loaded.paths.data_dir)
    except StoreError:  # told by the check of the database
        return
    try:
        told = [*_circuits(reader), *_quotas(loaded, reader)]
    except StoreError:
        return
    finally:
        reader.close()
    yield Check(
        id="health",
        title="Targets",
        status="warn" if told else "ok",
        detail=f"left alone: {'; '.join(told)}" if told else "none is left alone for failures or quotas",
        next="`ullage auto doctor` and `ullage quota` say until when." if told else "",
    )


def telemetry(loaded: Loaded) -> Iterator[Check]:
    """Whether what is asked for can be had."""
    asked = loaded.settings.telemetry
    if asked.access_log:
        yield _access_log(Path(asked.access_log))
    if asked.opentelemetry:
        yield _opentelemetry()


def _circuits(reader: Reader) -> list[str]:
    from ullage.engine.health import Health

    states = Health(reader).report(records.now_ms())
    return [f"{one['target']} failed lately" for one in states if one["state"] != "closed"]


def _quotas(loaded: Loaded, reader: Reader) -> list[str]:
    from ullage.cli.auto.asking import recall_quotas

    signals = recall_quotas(loaded.settings, reader).signals(records.now_ms())
    return [f"quota of {name}: {status}" for name, (status, _) in sorted(signals.items()) if status in _LEFT_ALONE]


def _access_log(path: Path) -> Check:
    place = path if path.exists() else path.parent
    usable = os.access(place, os.W_OK) and not path.is_dir()
    return Check(
        id="access_log",
        title="Access log",
        status="ok" if usable else "warn",
        detail=str(path) if usable else f"{path} cannot be written",
        next="" if usable else "Make its folder, or set telemetry.access_log.",
    )


def _opentelemetry() -> Check:
    try:
        there = find_spec("opentelemetry.sdk") is not None
    except ModuleNotFoundError:
        there = False
    return Check(
        id="opentelemetry",
        title="OpenTelemetry",
        status="ok" if there else "warn",
        detail="on; the variables OTEL_… say where to" if there else "its library is missing, so nothing is sent",
        next="" if there else "Run `pip install 'ullage[otel]'`.",
    )
