"""What tests of pins and memory share: changes, what they amount to, and a count of tokens that can be done by head."""

from __future__ import annotations

from typing import Any

from ullage.core.evidence.changes import Change, Owner, Stamp
from ullage.core.evidence.memory import MemoryLimits, NewMemory, add_memory
from ullage.core.evidence.mutations import Item, Kept, Mutation, replay
from ullage.core.evidence.pins import NewPin, PinLimits, add_pin

HERE = Owner(scope="session", session="s1")
AMPLE = PinLimits()
PROJECT = Owner(scope="project", session="s1", project="/code/a")


def letters(text: str) -> int:
    """A token a character."""
    return len(text)


def change(name: str = "m1", **fields: Any) -> Mutation:
    """A change with every field that a test does not care about filled in."""
    common: dict[str, Any] = {
        "created_ms": 1,
        "kind": "pin",
        "scope": "session",
        "session": "s1",
        "op": "add",
        "item": "p1",
        "payload": {"text": "Use pnpm."},
    }
    return Mutation(id=name, **(common | fields))


class Keeping:
    """A log that grows by one change after the other, each a millisecond later."""

    def __init__(self) -> None:
        self.log: list[Mutation] = []

    @property
    def kept(self) -> Kept:
        return replay(self.log)

    def stamp(self) -> Stamp:
        number = len(self.log) + 1
        return Stamp(mutation=f"m{number}", item=f"i{number}", now_ms=number)

    def write(self, change: Change) -> Item:
        if change.mutation is not None:
            self.log.append(change.mutation)
        return change.item

    def pin(self, text: str, owner: Owner = HERE, *, limits: PinLimits = AMPLE, **fields: Any) -> Item:
        new = NewPin(text=text, owner=owner, **fields)
        return self.write(add_pin(self.kept, new, self.stamp(), limits=limits, count=letters))

    def remember(self, claim: str, owner: Owner = HERE, **fields: Any) -> Item:
        new = NewMemory(claim=claim, owner=owner, **fields)
        return self.write(add_memory(self.kept, new, self.stamp(), limits=MemoryLimits()))
