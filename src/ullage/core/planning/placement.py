"""Where supplements stand among the messages of a request (planner specification, section 22)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from .request import Placement
from .supplement import ORDER, Supplement

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .groups import Outline


class Places(Struct, frozen=True, kw_only=True, gc=False):
    """The messages of the client before which supplements stand: at the end of the leading system messages, and at the current
    request."""

    prefix: int
    latest: int
    placement: Placement

    def before(self, supplement: Supplement) -> int:
        """The number of the message that the supplement stands before."""
        at_request = self.placement == "latest-user" or (self.placement == "hybrid" and supplement.kind == "retrieval")
        return self.latest if at_request else self.prefix


def find_places(made: Outline, placement: Placement) -> Places | None:
    """The places in a request; `None` without a message of the user, when nothing may be inserted.

    The place at the request is before its whole group: a result that came late may tie it to a turn before, and no message of
    ours may stand between a call and its result (regression R34).
    """
    if made.request is None:
        return None
    latest = next(group.first for group in made.groups if group.last >= made.request and made.request in group.indices)
    prefix = next(index for index, fact in enumerate(made.facts) if not fact.system)
    return Places(prefix=min(prefix, latest), latest=latest, placement=placement)


def in_order(supplements: Iterable[Supplement], placement: Placement) -> list[Supplement]:
    """Supplements as they are sent: by kind, then as they were given. Memories are given the best first, which changes with the
    question: where prompt caches are to hold them, the oldest comes first."""
    steady = placement != "latest-user"

    def place(one: Supplement) -> tuple[int, int, str]:
        age = (one.created_ms, one.id) if steady and one.kind == "memory" else (0, "")
        return (ORDER.index(one.kind), *age)

    return sorted(supplements, key=place)
