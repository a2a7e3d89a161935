"""Where the tail of a request begins, with its provider's prompt cache in mind (design, section 7; planner specification,
section 10).

State in, state out: what a choice leaves to the next one is a value that whoever plans for a session keeps.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .tail_epoch import choose_epoch
from .tail_records import continues, find_start
from .tail_steps import choose_step

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .request import PlanInput
    from .tail_records import TailChoice, TailContext, TailMemory, TailPolicy


def choose_tail(
    given: PlanInput, context: TailContext, memory: TailMemory | None = None, policy: TailPolicy = "auto"
) -> tuple[TailChoice | None, TailMemory | None]:
    """The tail of a request, to be planned as `PlanInput.tail`, and what it leaves to the session's next request.

    `None` as a choice: the tail is walked as the planner specification says. `memory` is what the last choice of this
    session left, `None` at its beginning; what another policy left is of no use. The choice heeds the budget: what is kept
    from its `first` on fits the target, unless even the newest exchange does not.
    """
    match policy:
        case "off":
            return None, None
        case "epoch-v1":
            return choose_epoch(given, context, memory)
        case "auto":
            return choose_step(given, context, memory)


def find_memory(memories: Sequence[TailMemory], hashes: tuple[int, ...]) -> TailMemory | None:
    """Which of a session's memories a request goes on from, since sub-agents are sent in the session of who started them: the
    newest whose newest message stands where it stood, else the newest whose tail has its beginning still. `hashes` are those of
    the request, the newest memory is the last; `None` if there is no such one.
    """
    newest_first = memories[::-1]
    for memory in newest_first:
        if continues(memory, hashes):
            return memory
    return next((memory for memory in newest_first if find_start(memory, hashes) is not None), None)
