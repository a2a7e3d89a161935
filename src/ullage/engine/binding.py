"""What the answers of each session were made on, so that no thinking is sent behind something else (`core.planning.bound`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ullage.core.planning.bound import GONE, Basis, Settled, settle
from ullage.core.planning.layout import list_sent

from .facts import TwoGenerations

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ullage.core.planning.facts import SliceFacts
    from ullage.core.planning.layout import Layout
    from ullage.core.wire import Conversation

    from .keeping import Asker
    from .measuring import Measuring

REFUSAL = "bound to a different conversation"
"""What Anthropic says of thinking that is sent behind something else (status 400)."""

_UNANSWERED = Basis(-2, -2)
"""Of a request that failed."""

# About 300 bytes each: some 25 MB when both generations are full.
_ANSWERS = 40_000


class Bindings:
    """Remembers answers by what the client had said before them, within a session. Used by one thread only."""

    def __init__(self, measuring: Measuring) -> None:
        self._measuring = measuring
        self._bases: TwoGenerations[tuple[str, int], Basis] = TwoGenerations(_ANSWERS)

    def settle(
        self,
        asker: Asker,
        conversation: Conversation,
        facts: Sequence[SliceFacts],
        layout: Layout,
        *,
        trusting: bool,
    ) -> Settled:
        """Which messages are to be sent without their thinking. What is not known of an answer, as of one of an earlier run, is
        taken to have been made on the client's own messages if we are `trusting`, and else for useless."""
        whole, bare = self._measuring.canonical_hashes(conversation), self._measuring.bare_hashes(conversation)
        said = [
            (mark, own if own != mark else 0, fact.role == "assistant")
            for own, mark, fact in zip(whole, bare, facts, strict=True)
        ]
        sessions = (asker.session, *asker.ancestors)
        settled = settle(said, list_sent(layout, bare), lambda key: self._find(sessions, key), trusting=trusting)
        for key in settled.lost:
            self._bases.keep((asker.session, key), GONE)
        if settled.key is not None:
            self._note(asker.session, settled.key, settled.basis)
        return settled

    def note_failure(self, session: str, settled: Settled, *, refused: bool) -> None:
        """Takes in that a request was not answered. `refused`: for the thinking that was sent, so none of that is sent again."""
        if settled.key is not None:
            self._bases.keep((session, settled.key), _UNANSWERED)
        for key in settled.held if refused else ():
            self._bases.keep((session, key), GONE)

    def _find(self, sessions: Iterable[str], key: int) -> Basis | None:
        return next((basis for session in sessions if (basis := self._bases.find((session, key))) is not None), None)

    def _note(self, session: str, key: int, basis: Basis) -> None:
        """Of a request that is sent again and planned otherwise, nobody knows which of the two will have been answered."""
        known = self._bases.find((session, key))
        self._bases.keep((session, key), basis if known in (None, _UNANSWERED, basis) else GONE)
