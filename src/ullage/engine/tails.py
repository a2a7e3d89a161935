"""Where the tail of each session begins: chosen with its provider's prompt cache in mind, and remembered for its next request."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from ullage.core.planning.tail import choose_tail, find_memory
from ullage.core.planning.tail_context import draw_terms, make_context
from ullage.core.planning.tail_records import read_memory

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ullage.core.planning import Awareness, PlanInput
    from ullage.core.planning.tail_records import TailChoice, TailMemory, TailPolicy
    from ullage.core.wire import Conversation

_SESSIONS = 2_000
# Conversations of one session at a time, an agent and the sub-agents that it has started, each with its targets.
_CONVERSATIONS = 16


class Tails:
    """Remembers what the last choice in each conversation of a session leaves to the next one with the same target: another one
    has a window and a cache of its own. Used by one thread only.

    Of each session the newest come last.
    """

    def __init__(self, policy: TailPolicy) -> None:
        self._policy = policy
        self._memories: dict[str, tuple[TailMemory, ...]] = {}

    def memories(self, session: str) -> tuple[TailMemory, ...]:
        """What is to be kept of a session."""
        return self._memories.get(session, ())

    def recall(self, session: str, kept: Iterable[Mapping[str, Any]]) -> None:
        """Takes up what an earlier run kept of a session."""
        memories = tuple(memory for plain in kept if (memory := read_memory(plain)) is not None)
        if memories and session not in self._memories:
            self._remember(session, memories)

    def _remember(self, session: str, memories: tuple[TailMemory, ...]) -> None:
        self._memories.pop(session, None)
        self._memories[session] = memories[-_CONVERSATIONS:]
        if len(self._memories) > _SESSIONS:
            del self._memories[next(iter(self._memories))]

    def choose(
        self,
        session: str,
        conversation: Conversation,
        given: PlanInput,
        *,
        awareness: Awareness,
        hashes: tuple[int, ...],
        now_ms: int,
        steady: bool = False,
    ) -> TailChoice | None:
        """The tail of a request; `None` where it is to be walked anew. `hashes` are the canonical ones of the messages, `steady`
        is as in `TailContext`."""
        context = make_context(conversation, draw_terms(awareness, self._policy), hashes, now_ms=now_ms)
        context = replace(context, steady=steady)
        known = self.memories(session)
        own = [memory for memory in known if memory.target == context.target]
        before = find_memory(own, hashes)
        newest = own[-1] if own else None
        choice, memory = choose_tail(_trimmed(given), context, before or newest, self._policy)
        if memory is not None:
            self._remember(session, (*(other for other in known if other is not before), memory))
        return choice


def _trimmed(given: PlanInput) -> PlanInput:
    """The request with every large result as its reference: what can be trimmed is no reason to shorten the tail (weakness W14 of
    the planner specification, section 34)."""
    if not given.trims:
        return given
    tokens = list(given.tokens)
    for trim in given.trims:
        tokens[trim.index] -= max(0, trim.saved)
    return replace(given, tokens=tuple(tokens))
