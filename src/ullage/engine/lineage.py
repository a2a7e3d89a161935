"""Whose request it is: its session, those that it came from, and its project."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from ullage.stores import root_finder

from .keeping import Asker
from .recording import parent_session

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ullage.stores import SessionRecord

    from .exchange import Exchange
    from .observation import Observation

_PARENTS = 2_000
_PROJECTS = 1_000


class Lineage:
    """Remembers which session came from which. Used by one thread only, the reader's."""

    def __init__(self) -> None:
        # Links followed as those do who pin for a project; the disk is asked once.
        self._find_project = functools.lru_cache(_PROJECTS)(root_finder("project"))
        # Sessions that branched off from another one: what is kept for that goes along.
        self._parents: dict[str, str] = {}

    def recall(self, records: Sequence[SessionRecord]) -> None:
        """Takes up which sessions of earlier runs came from which."""
        for record in records:
            if record.identity == "fingerprint" and record.parent is not None:
                self._parents[record.id] = record.parent

    def asker(self, observation: Observation, exchange: Exchange) -> Asker:
        """Whose request it is. A branch is asked for by those that it came from, too."""
        return Asker(
            session=observation.session,
            project=self._find_project(observation.project),
            ancestors=self._ancestors(observation),
            places=exchange.marks.places,
        )

    def heard(self, observation: Observation) -> tuple[str, ...]:
        """The sessions whose settings hold for this one as well: those it branched off from, and whoever started it."""
        started = parent_session(observation.caller)
        return (*self._ancestors(observation), *([started] if started is not None else []))

    def _ancestors(self, observation: Observation) -> tuple[str, ...]:
        """The sessions that a branch came from, the nearest first."""
        session, kinship = observation.session, observation.kinship
        if kinship is not None and kinship.parent is not None:
            self._parents[session] = kinship.parent
            if len(self._parents) > _PARENTS:
                del self._parents[next(iter(self._parents))]
        ancestors: list[str] = []
        parent = self._parents.get(session)
        while parent is not None and parent not in ancestors:
            ancestors.append(parent)
            parent = self._parents.get(parent)
        return tuple(ancestors)
