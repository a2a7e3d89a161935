"""What is sent when no plan is as it should be (design, section 2, principle 6; planner specification, sections 24 and 34, W5).

A request that is known to be too large is not sent as it came before something smaller was tried: the current turn and the
newest that fits, if need be with tool results of the current turn as references.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import structs

from .drafting import Draft, make_plan, open_draft, send_as_it_came
from .parts import SENT
from .plan import plan
from .selection import Offer, Selection
from .walk import Bounds, Choice, walk_tail

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .parts import Part, Parts
    from .records import Plan, PlanError
    from .request import PlanInput, Trim
    from .supplement import Supplement


def plan_live(given: PlanInput) -> Plan:
    """The plan that a live request is sent by: as `plan` says, and where that is an error, the client's own request if it fits,
    else the emergency plan, else the client's own request although it does not fit."""
    made = plan(given)
    if made.error is None:
        return made
    draft = open_draft(given)
    if given.fixed_tokens + sum(given.tokens) > given.budget.hard:
        rescued = _plan_emergency(draft, draft.parts, made.error)
        if rescued is not None:
            return rescued
    return send_as_it_came(draft, "fallback", error=made.error)


def _plan_emergency(draft: Draft, parts: Parts, error: PlanError) -> Plan | None:
    """The least that makes sense of the request, and the newest that fits; `None` if not even that fits."""
    hard = draft.given.budget.hard - draft.given.fixed_tokens
    core = (*parts.system, *parts.current)
    trims = _shrink(core, hard)
    if trims is None:
        return None
    filling = _Filling(hard, used=sum(part.tokens for part in core) - sum(trim.saved for trim in trims))
    filling.choices += [Choice(part, True, SENT[part.kind]) for part in core]
    filling.add(parts.spoken)
    pins_fit = filling.add(parts.pins)
    offers = tuple(filling.offer(supplement) for supplement in draft.offered)
    filling.add(parts.foremost)
    if not pins_fit:
        # The rest of a pinned turn makes no sense without its pin, nor does a provider take it without the user's words.
        filling.leave(parts.pinned_rests)
        parts = structs.replace(parts, turns=tuple(part for part in parts.turns if not part.rest))
    walked = walk_tail(parts, Bounds(free=hard - filling.used))
    selection = Selection(
        choices=(
            *filling.choices,
            *walked.choices,
            *(Choice(part, False, "summary-policy-or-budget") for part in parts.summaries),
        ),
        offers=offers,
        trims=(*trims, *walked.trims),
        tokens=filling.used + walked.tokens,
    )
    return make_plan(draft, selection, "emergency", error=error, predecessor=parts.predecessor)


def _shrink(core: Iterable[Part], room: int) -> tuple[Trim, ...] | None:
    """The trims by which the core fits, those that save most first; `None` if it does not fit with all of them."""
    parts = tuple(core)
    tokens = sum(part.tokens for part in parts)
    made: list[Trim] = []
    for trim in sorted((trim for part in parts for trim in part.trims), key=_saving):
        if tokens <= room:
            break
        tokens -= trim.saved
        made.append(trim)
    return tuple(made) if tokens <= room else None


def _saving(trim: Trim) -> tuple[int, int, int]:
    return -trim.saved, trim.index, trim.ordinal


class _Filling:
    """Room that is filled in order; what does not fit is skipped."""

    def __init__(self, room: int, *, used: int) -> None:
        self._room = room
        self.used = used
        self.choices: list[Choice] = []

    def add(self, parts: Iterable[Part]) -> bool:
        """Takes what fits; whether that is all."""
        whole = True
        for part in parts:
            if not part.broken and self._take(part.tokens):
                self.choices.append(Choice(part, True, "foremost" if part.kind == "recent" else SENT[part.kind]))
            else:
                whole = False
                self.leave((part,))
        return whole

    def leave(self, parts: Iterable[Part]) -> None:
        """Leaves out what does not fit."""
        self.choices += [Choice(part, False, "broken-exchange" if part.broken else "input-budget") for part in parts]

    def offer(self, supplement: Supplement) -> Offer:
        """Pins alone are sent: what is retrieved matters less than the conversation."""
        if supplement.kind != "pin":
            return Offer(supplement, False, "plan-failed")
        return (
            Offer(supplement, True, "pin")
            if self._take(supplement.tokens)
            else Offer(supplement, False, "input-budget")
        )

    def _take(self, tokens: int) -> bool:
        fits = self.used + tokens <= self._room
        self.used += tokens if fits else 0
        return fits
