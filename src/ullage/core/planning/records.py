"""What a plan says: which messages of a request are sent, what is added, and why. Never any text."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from .reach import Older
from .reasons import Reason
from .rows import Exclusion, Row
from .supplement import SupplementKind

Status = Literal["unchanged", "managed", "emergency", "fallback", "refused"]
"""`unchanged`: everything is sent as it came. `managed`: as planned. `emergency`: what must be sent and the newest that fits,
since there is no better plan. `fallback`: the client's own request. `refused`: no plan; `kept` is what would have to be sent at
least."""

PlanError = Literal["fixed_over_limit", "mandatory_over_limit", "pins_over_cap", "broken_exchange", "invalid_selection"]
"""Why there is no managed plan: prompt and tools alone exceed the limit; they and the mandatory messages do; pins exceed their
cap; a call or result of the current turn lacks its other half; what was chosen is not what a provider takes."""

OVERSIZED_TURN = "context.excluded_oversized_turn"
"""A turn no smaller than the recent tail is left out."""
BROKEN_HISTORY = "context.broken_history"
"""The request holds a call without its result, a result without its call, or reasoning without what it led to."""


class Drop(Struct, frozen=True, gc=False):
    """A message of the client that is not sent."""

    index: int
    reason: Reason


class Replacement(Struct, frozen=True, kw_only=True, gc=False):
    """A tool result that is sent as a reference: number `ordinal` among the results of the message. `tokens` of the
    reference."""

    index: int
    ordinal: int
    call_id: str | None
    artifact: str
    tokens: int


class Placed(Struct, frozen=True, kw_only=True, gc=False):
    """A supplement that is sent, before the message `before` of the client. Those before one message stand in the plan's
    order."""

    supplement_id: str
    kind: SupplementKind
    before: int
    tokens: int
    score: float


class LeftOut(Struct, frozen=True, kw_only=True, gc=False):
    """A supplement that is not sent."""

    id: str
    kind: SupplementKind
    tokens: int
    reason: Reason


class Plan(Struct, frozen=True, kw_only=True):
    """What is sent of a request.

    `kept` and `dropped` share out the messages of the client. `tokens` are those of everything that is sent, the fixed part
    included; `limit` and `target` are the hard and the active limit. `parts` are those of the request by their last messages,
    but for old turns that were left out together as `older`. `excluded` tells at most 32 parts one by one; `excluded_groups`,
    `excluded_native_tokens` and `oversized` count all. `rescued`: the turn before the current one is sent although it is larger
    than the recent tail. `error` is set unless the plan is as it should be.
    """

    status: Status
    kept: tuple[int, ...]
    dropped: tuple[Drop, ...]
    replaced: tuple[Replacement, ...]
    supplements: tuple[Placed, ...]
    left_out: tuple[LeftOut, ...]
    tokens: int
    fixed_tokens: int
    limit: int
    target: int
    parts: tuple[Row, ...]
    excluded: tuple[Exclusion, ...]
    excluded_groups: int
    excluded_native_tokens: int
    oversized: int
    rescued: bool = False
    warnings: tuple[str, ...] = ()
    error: PlanError | None = None
    older: Older | None = None

    @property
    def groups(self) -> tuple[Row, ...]:
        """All parts of the request by their last messages. Those of many old turns are made when they are asked for."""
        if self.older is None:
            return self.parts
        return tuple(sorted((*self.older.rows(), *self.parts), key=_last))

    @property
    def ullage(self) -> int:
        """Tokens that are still free; negative where no plan keeps the limit."""
        return self.limit - self.tokens


def _last(row: Row) -> int:
    return int(row.id.rpartition("-")[2])
