"""What a plan is made from."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from .budget import Budget
from .facts import SliceFacts
from .supplement import Supplement

Placement = Literal["latest-user", "stable-prefix", "hybrid"]


class Caps(Struct, frozen=True, kw_only=True):
    """The most that each category may take, in tokens of the plan's estimator, resolved for the target (planner specification,
    sections 2.2 and 5)."""

    recent_tail: int
    pinned: int
    memory: int
    history: int
    project: int
    summary: int


class Trim(Struct, frozen=True, kw_only=True, gc=False):
    """A large tool result that may become a reference to an artifact before its turn is left out (weakness W14).

    `ordinal` counts the results that the message at `index` holds. Tokens are those of the result alone: with all its text, and
    as a reference.
    """

    index: int
    ordinal: int
    call_id: str | None
    tokens_before: int
    tokens_after: int
    artifact: str

    @property
    def saved(self) -> int:
        """Tokens that it saves."""
        return self.tokens_before - self.tokens_after


class PlanInput(Struct, frozen=True, kw_only=True):
    """One request, as far as a plan depends on it.

    `facts` and `tokens` are of each message of the list, `fixed_tokens` of what is sent whatever the plan: prompt, tools and
    framing outside the list. All tokens are of one estimator, that of `budget`. `pinned` are messages that the user wants kept;
    those of them in `alone` are kept without the rest of their turn, those in `labelled` for a label's sake.
    `tail` is the oldest message of the tail where somebody chose it with prompt caches in mind; `None` lets the tail be walked
    as the planner specification says. `rescue` keeps the turn before the current one even if it is larger than the tail.
    """

    facts: tuple[SliceFacts, ...]
    tokens: tuple[int, ...]
    fixed_tokens: int
    budget: Budget
    caps: Caps
    pinned: frozenset[int] = frozenset()
    alone: frozenset[int] = frozenset()
    labelled: frozenset[int] = frozenset()
    supplements: tuple[Supplement, ...] = ()
    placement: Placement = "latest-user"
    rescue: bool = True
    tail: int | None = None
    trims: tuple[Trim, ...] = ()
