"""What may be added to a request: pins, memory, retrieved history, project snippets. Each is one message of its own."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

SupplementKind = Literal["pin", "memory", "retrieval", "project"]

ORDER: tuple[SupplementKind, ...] = ("pin", "memory", "retrieval", "project")
"""The order in which they are chosen and sent (planner specification, sections 13.2 and 22)."""


class Supplement(Struct, frozen=True, kw_only=True, gc=False):
    """A message that is offered to a plan; pins are mandatory, the others taken as far as they fit.

    `tokens` are those of the whole message by the plan's estimator. `score` ranks those of a kind (planner specification,
    section 1, step 11). `source_ids` name where it comes from; without any it is not taken. `held`: an earlier request of the
    same user turn sent it, so it stays as long as it fits the hard limit and keeps the prefix as it was. `text` goes into no
    plan.
    """

    id: str
    kind: SupplementKind
    text: str
    tokens: int
    score: float
    source_ids: tuple[str, ...]
    reason: str
    classification: str = "normal"
    created_ms: int = 0
    held: bool = False
