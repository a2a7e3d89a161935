"""Whether a selection is one that providers take: no call without its result, no result without its call (planner
specification, section 12.3).

One exception to the reference, which falls back on it (contradiction C10): a call may wait in the last assistant message, as
long as no message of the user follows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .pairing import Fault, Pairing, pair

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .facts import SliceFacts


def find_faults(facts: Sequence[SliceFacts], kept: Sequence[int], *, whole: Pairing | None = None) -> tuple[Fault, ...]:
    """What is wrong with the messages `kept`, rising numbers in the list, by the number of the message.

    Read as a provider reads them, without what is left out; then each result must still belong to the call that it had in the
    whole list. `whole` is what `pair(facts)` says, where it is at hand.
    """
    whole = whole or pair(facts)
    left = pair(facts, kept)
    strayed = [
        Fault(answer, "result-of-another-call")
        for answer, calls in left.calls.items()
        if not {whole.runs[call] for call in calls} <= {whole.runs[call] for call in whole.calls[answer]}
    ]
    return (*left.faults, *strayed)
