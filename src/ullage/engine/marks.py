"""What whoever sends a conversation knows of it beside its bytes."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct

from ullage.core.wire import Slice


class Marks(Struct, frozen=True, kw_only=True):
    """`labelled` says whether the user has labelled a message as one to keep, `None` where none is. `places` are names of places
    on its branch, as `core.evidence.scopes` has them, at which something may be pinned."""

    labelled: Callable[[Slice], bool] | None = None
    places: frozenset[str] = frozenset()


UNMARKED = Marks()
