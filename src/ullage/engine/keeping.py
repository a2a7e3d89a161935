"""Pins and memories on their way out: what the user keeps, offered to the plans of the requests that it is for.

What is sent is chosen once for each turn of the user and keeps its bytes through the turn's tool loop, so that the provider's
cache stays good (planner specification, section 22).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from msgspec import structs

from ullage.core.errors import StoreError
from ullage.core.evidence.ranking import choose, rank
from ullage.core.evidence.scopes import applicable
from ullage.core.planning.assembling import weigh_text
from ullage.core.planning.offers import offer_memories, offer_pins
from ullage.core.wire import read_message
from ullage.stores.keeping import Keeper

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from ullage.core.accounting import Meter
    from ullage.core.evidence.memory import MemoryLimits
    from ullage.core.evidence.mutations import Item, Kept, Kind
    from ullage.core.planning import SliceFacts, Supplement
    from ullage.core.wire import Conversation
    from ullage.stores import Store

# Some 50 MB of texts when each sends as much as the caps allow.
_TURNS = 500


class Asker(NamedTuple):
    """Whose request it is; `ancestors` are the sessions that its session branched off from, `places` names of places on its
    branch that its sender knows of."""

    session: str
    project: str | None
    ancestors: tuple[str, ...] = ()
    places: frozenset[str] = frozenset()


class _Turn(NamedTuple):
    """A turn of the user's by the place and the hash of the message that opens it: an agent and the sub-agents that it sends in
    its own session have a newest turn each."""

    session: str
    opened: tuple[int, int] | None
    estimator: str


class Keeping:
    """Reads the log of what is kept when it has grown, and remembers what each turn was sent. Used by one thread only."""

    def __init__(self, store: Store, limits: MemoryLimits) -> None:
        self._keeper = Keeper(store)
        self._limits = limits
        self._turns: dict[_Turn, tuple[Supplement, ...]] = {}

    def offer(
        self,
        asker: Asker,
        conversation: Conversation,
        *,
        facts: Sequence[SliceFacts],
        hashes: Sequence[int],
        meter: Meter,
        steady: bool = False,
    ) -> tuple[Supplement, ...]:
        """What may be added to a request. `hashes` are the canonical ones of its messages; tokens are of the `meter`. `steady`:
        equal items have equal bytes in every turn."""
        kept = self._read()
        sent = self._turns.get(_Turn(asker.session, _opened(facts, hashes), meter.estimator))
        # A turn that begins again has nothing behind it whose prefix could be kept.
        if sent is not None and _opening(facts) != len(facts) - 1:
            return tuple(structs.replace(one, held=True) for one in sent if _is_told(kept, one.id, asker))
        pins = _applicable(kept, "pin", asker, hashes)
        memories = _applicable(kept, "memory", asker, hashes)
        if not pins and not memories:
            return ()

        return offer_kept((*pins, *memories), conversation, facts, meter, self._limits, steady=steady)

    def note_sent(
        self,
        asker: Asker,
        offered: Sequence[Supplement],
        taken: Collection[str],
        *,
        facts: Sequence[SliceFacts],
        hashes: Sequence[int],
        meter: Meter,
    ) -> None:
        """Remembers what a plan took of the offers, for the rest of the user's turn."""
        turn = _Turn(asker.session, _opened(facts, hashes), meter.estimator)
        self._turns.pop(turn, None)
        self._turns[turn] = tuple(one for one in offered if one.id in taken)
        if len(self._turns) > _TURNS:
            del self._turns[next(iter(self._turns))]

    def _read(self) -> Kept:
        """What is kept now; what was kept last where the store cannot be read."""
        try:
            return self._keeper.kept()
        except StoreError:
            return self._keeper.last


def offer_kept(
    items: Sequence[Item],
    conversation: Conversation,
    facts: Sequence[SliceFacts],
    meter: Meter,
    limits: MemoryLimits,
    *,
    steady: bool = False,
) -> tuple[Supplement, ...]:
    """Pins and memories that are for a request, as they may be added to it: every pin, and the memories that it bears on."""

    def count(text: str) -> int:
        return weigh_text(text, meter)

    pins = [item for item in items if item.kind == "pin"]
    memories = [item for item in items if item.kind == "memory"]
    ranked = rank(memories, _request_text(conversation, facts)) if memories else ()
    chosen = choose(ranked, limits, count)
    return (*offer_pins(pins, count), *offer_memories(chosen.taken, count, steady=steady))


def _applicable(kept: Kept, kind: Kind, asker: Asker, hashes: Sequence[int]) -> tuple[Item, ...]:
    return applicable(
        kept.told_to(kind, asker.session),
        session=asker.session,
        project=asker.project,
        hashes=hashes,
        ancestors=asker.ancestors,
        places=asker.places,
    )


def _is_told(kept: Kept, item_id: str, asker: Asker) -> bool:
    """What is taken back, or excluded, is sent no more, not even to the end of the turn."""
    item = kept.find(item_id)
    return item is not None and kept.is_told(item, asker.session)


def _opened(facts: Sequence[SliceFacts], hashes: Sequence[int]) -> tuple[int, int] | None:
    """The message that opened the current turn: its place and hash."""
    index = _opening(facts)
    return (index, hashes[index]) if index is not None else None


def _opening(facts: Sequence[SliceFacts]) -> int | None:
    return next((index for index in range(len(facts) - 1, -1, -1) if facts[index].opens_turn), None)


def _request_text(conversation: Conversation, facts: Sequence[SliceFacts]) -> str:
    """What the user asks for in the current turn."""
    index = _opening(facts)
    if index is None:
        return ""
    message = read_message(conversation.messages[index], conversation.dialect)
    return "\n".join(part.text for part in message.parts if part.kind == "text")
