"""Whom routed requests can go to, and what providers lack that somebody meant to use."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ullage.catalogs import open_catalogs
from ullage.engine.targets import CLIENT_ALONE, ConfiguredTargets

from .check import Check

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ullage.settings import Loaded
    from ullage.settings.providers import Provider


def targets(loaded: Loaded, environ: Mapping[str, str]) -> Iterator[Check]:
    """How many models can be chosen at each provider, and a check for each that lacks something."""
    if not loaded.settings.routing.enabled:
        yield _routing("off: names of virtual models are relayed like any other")
        return
    catalogs = open_catalogs(loaded.paths.cache_dir, refresh=loaded.settings.models.refresh)
    found = ConfiguredTargets(loaded.settings, environ, catalogs)
    ours = [f"{_count(found, one)} at {one.name}" for one in found.providers if not one.problem]
    clients = [one.name for one in found.providers if one.problem == CLIENT_ALONE]
    told = (
        f"models by keys of yours or none: {', '.join(ours)}"
        if ours
        else "no provider can be reached by a key of yours"
    )
    yield _routing(told + (f"; by a client's own key also {', '.join(clients)}" if clients else ""))
    for pattern in found.unmatched:
        yield Check(
            id="scope",
            title="Scope",
            status="warn",
            detail=f"{pattern} names no model of a provider that can be reached",
            next="Correct it in routing.models or in the alias, or set the provider's key.",
        )
    for one in found.providers:
        if one.problem not in ("", CLIENT_ALONE):
            yield Check(
                id="provider",
                title="Provider",
                status="warn",
                detail=f"{one.name} is not asked: {one.problem}",
                next="Correct it, or take the provider out of the settings.",
            )


def _routing(detail: str) -> Check:
    return Check(id="routing", title="Routing", status="ok", detail=detail)


def _count(found: ConfiguredTargets, provider: Provider) -> int:
    """How many models of a provider can be chosen, whatever the dialect."""
    return len(
        {
            one.target
            for dialect in provider.dialects
            for one in found.candidates(dialect, client_key=False)
            if one.model.provider == provider.name
        }
    )
