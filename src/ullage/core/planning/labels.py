"""What a user has labelled in a client that has labels, as Pi: it is kept, with all that it belongs to (planner specification,
section 14.1)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from .groups import current_groups, outline, split_exchanges

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from .facts import SliceFacts
    from .groups import Group, Outline

_PIN = re.compile(r"\s*(?:ds4|ullage):pin(?:\s|\Z)", re.IGNORECASE)


def is_pin(label: str) -> bool:
    """Whether a label pins what it is on: `ds4:pin` or `ullage:pin`, alone or with words behind it."""
    return _PIN.match(label) is not None


def find_labelled(facts: Sequence[SliceFacts], tokens: Sequence[int], on: Collection[int]) -> frozenset[int]:
    """The messages that labels keep, by the numbers of the messages that they are `on`.

    Of an older turn that is all of it but for calls or results without their other half, which no provider takes. The current
    turn may be longer than the window: there it is the message with its exchange.
    """
    if not on:
        return frozenset()
    made = outline(facts, tokens)
    now = {group.first for group in current_groups(made)}
    found: set[int] = set()
    for group in made.groups:
        labelled = frozenset(on).intersection(group.indices)
        if labelled and group.kind != "system":
            found |= labelled if group.first in now else set(_sound(made, group))
    return frozenset(found)


def _sound(made: Outline, group: Group) -> Iterator[int]:
    for exchange in split_exchanges(made, (group,)):
        if not exchange.broken:
            yield from exchange.indices
