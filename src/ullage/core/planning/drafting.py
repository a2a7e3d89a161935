"""One request on its way to a plan, and the plan of any selection of it."""

from __future__ import annotations

from itertools import chain, repeat
from operator import attrgetter
from typing import TYPE_CHECKING

from msgspec import Struct

from .groups import Outline, outline
from .parts import SENT, Part, Parts, divide, undivided
from .placement import Places, find_places, in_order
from .reach import Older, OldTurns
from .records import BROKEN_HISTORY, OVERSIZED_TURN, Drop, LeftOut, Placed, Plan, PlanError, Replacement, Status
from .request import PlanInput, Trim
from .rows import Scale, make_exclusions, make_rows, most_telling
from .selection import Offer, Selection
from .supplement import Supplement
from .walk import Choice

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Sequence

    from .reach import Reach
    from .reasons import Reason

# At most so many exclusions are told one by one (planner specification, section 13.3).
_DETAILS = 32


class Draft(Struct, frozen=True, kw_only=True):
    """A request taken apart, but for old turns `beyond` the reach of its plan. `offered` are the supplements that may be sent,
    `ignored` those that may not, with the reason."""

    given: PlanInput
    made: Outline
    beyond: OldTurns | None
    places: Places | None
    offered: tuple[Supplement, ...]
    ignored: tuple[Offer, ...]

    @property
    def parts(self) -> Parts:
        """The parts of the request."""
        return divide(
            self.made, self.given.pinned, self.given.trims, start=self.given.tail or 0, alone=self.given.alone
        )


def open_draft(given: PlanInput, reach: Reach | None = None) -> Draft:
    """Takes a request apart, as far as its plan may reach. Without a message of the user, or without a source, no supplement is
    sent (section 13.2, step 1)."""
    made = outline(given.facts, given.tokens, reach.indices if reach is not None else None)
    places = find_places(made, given.placement) if given.supplements else None
    offered: dict[str, Supplement] = {}
    ignored: list[Offer] = []
    for supplement in given.supplements:
        reason = _ignore(supplement, places, offered)
        if reason is None:
            offered[supplement.id] = supplement
        else:
            ignored.append(Offer(supplement, False, reason))
    return Draft(
        given=given,
        made=made,
        beyond=reach.beyond if reach is not None else None,
        places=places,
        offered=tuple(offered.values()),
        ignored=tuple(ignored),
    )


def _ignore(supplement: Supplement, places: Places | None, offered: Container[str]) -> Reason | None:
    if places is None:
        return "no-user-message"
    if not supplement.source_ids:
        return "no-source"
    return "duplicate" if supplement.id in offered else None


def send_as_it_came(
    draft: Draft, status: Status, *, error: PlanError | None = None, offers: tuple[Offer, ...] | None = None
) -> Plan:
    """The plan of the client's own request. `offers` says why no supplement is sent; without it, because the plan failed."""
    if offers is None:
        offers = tuple(Offer(supplement, False, "plan-failed") for supplement in draft.offered)
    selection = Selection(
        choices=tuple(
            Choice(part, True, SENT[part.kind] if error is None else "plan-failed")
            for part in undivided(draft.made, draft.given.pinned)
        ),
        offers=offers,
        trims=(),
        tokens=sum(draft.given.tokens),
    )
    return make_plan(draft, selection, status, error=error)


def make_plan(
    draft: Draft,
    selection: Selection,
    status: Status,
    *,
    error: PlanError | None = None,
    predecessor: Part | None = None,
    beyond: Reason = "before-tail",
) -> Plan:
    """The plan that sends a selection. `predecessor` is the turn right before the current one, `beyond` why those beyond reach
    are left out."""
    given = draft.given
    scale = _scale(draft)
    older = Older(turns=draft.beyond, reason=beyond, scale=scale) if draft.beyond is not None else None
    left = [choice for choice in selection.choices if not choice.selected]
    exclusions = make_exclusions(left, given, predecessor)
    oversized = sum(exclusion.oversized for exclusion in exclusions)
    details, excluded_groups = exclusions, len(exclusions)
    excluded_tokens = sum(exclusion.tokens for exclusion in exclusions)
    if older is not None:
        oversized += older.count_oversized(given.caps.recent_tail)
        details = [*exclusions, *older.exclusions(_DETAILS, given.caps.recent_tail)]
        excluded_groups += len(older.turns.tokens)
        excluded_tokens += sum(older.turns.tokens)
    warnings = [OVERSIZED_TURN] if oversized else []
    if draft.made.pairing.faults:
        warnings.append(BROKEN_HISTORY)
    return Plan(
        status=status,
        kept=tuple(sorted(chain.from_iterable(one.part.indices for one in selection.choices if one.selected))),
        dropped=_dropped(left, older, draft.made.indices),
        replaced=tuple(map(_replacement, sorted(selection.trims, key=_place))),
        supplements=_placed(draft, selection.offers),
        left_out=tuple(
            LeftOut(id=one.supplement.id, kind=one.supplement.kind, tokens=one.supplement.tokens, reason=one.reason)
            for one in (*draft.ignored, *selection.offers)
            if not one.selected
        ),
        tokens=given.fixed_tokens + selection.tokens,
        fixed_tokens=given.fixed_tokens,
        limit=given.budget.hard,
        target=given.budget.active,
        parts=make_rows(_with_labels(selection.choices, given.labelled), scale),
        older=older,
        excluded=most_telling(details, _DETAILS),
        excluded_groups=excluded_groups,
        excluded_native_tokens=excluded_tokens,
        oversized=oversized,
        rescued=selection.rescued is not None,
        warnings=tuple(warnings),
        error=error,
    )


def _with_labels(choices: Sequence[Choice], labelled: frozenset[int]) -> Sequence[Choice]:
    """The same where a pin that a label makes says so."""
    if not labelled:
        return choices
    return [
        Choice(one.part, True, "labelled-pin")
        if one.reason == "pin" and not labelled.isdisjoint(one.part.indices)
        else one
        for one in choices
    ]


def _dropped(left: Iterable[Choice], older: Older | None, apart: Sequence[int]) -> tuple[Drop, ...]:
    """What is left out message by message; `apart` are those that were taken apart."""
    dropped = [Drop(index, one.reason) for one in left for index in one.part.indices]
    bulk = map(Drop, older.messages(apart), repeat(older.reason)) if older is not None else ()
    return tuple(sorted((*bulk, *dropped), key=attrgetter("index")))


def _placed(draft: Draft, offers: Iterable[Offer]) -> tuple[Placed, ...]:
    if draft.places is None:
        return ()
    chosen = {offer.supplement.id for offer in offers if offer.selected}
    return tuple(
        Placed(
            supplement_id=supplement.id,
            kind=supplement.kind,
            before=draft.places.before(supplement),
            tokens=supplement.tokens,
            score=supplement.score,
        )
        for supplement in in_order(draft.offered, draft.places.placement)
        if supplement.id in chosen
    )


def _scale(draft: Draft) -> Scale:
    """Scores count every supplement that was offered, chosen or not (section 13.3)."""
    places = [draft.places.before(supplement) for supplement in draft.offered] if draft.places is not None else []
    return Scale(len(draft.given.facts), tuple(sorted(places)))


def _replacement(trim: Trim) -> Replacement:
    return Replacement(
        index=trim.index,
        ordinal=trim.ordinal,
        call_id=trim.call_id,
        artifact=trim.artifact,
        tokens=trim.tokens_after,
    )


def _place(trim: Trim) -> tuple[int, int]:
    return trim.index, trim.ordinal
