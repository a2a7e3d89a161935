"""What the file of a session says is kept for it: pins and memories that our extension of Pi, or DS4, has written there."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from ullage.core.evidence import ds4
from ullage.core.evidence.mirrored import own
from ullage.core.evidence.mutations import Mutation, replay
from ullage.core.evidence.scopes import applicable, name_entry
from ullage.sources.pi import OUR_ENTRIES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ullage.core.evidence.mutations import Item
    from ullage.sources import Session


def read_kept(session: Session) -> tuple[Item, ...]:
    """Those that are for the session as it stands."""
    return applicable(
        replay(_read_mutations(session)).items.values(),
        session=session.id,
        project=session.cwd,
        hashes=(),
        places=frozenset(map(name_entry, session.places)),
    )


def _read_mutations(session: Session) -> Iterator[Mutation]:
    left = session.left()
    for one in left:
        if one.name == OUR_ENTRIES:
            try:
                yield own(msgspec.convert(one.data, Mutation), session.id or "", session.cwd)
            except msgspec.ValidationError:
                continue
    entries = [ds4.Entry(kind=kind, data=one.data) for one in left if (kind := ds4.CUSTOM_TYPES.get(one.name))]
    yield from ds4.read_changes(entries, session=session.id or "", project=session.cwd)
