"""Plans a request: what of it is sent, within its limits (planner specification, section 13.2).

Pure and deterministic: the same input gives the same plan. Nothing here raises for input of the right types; what cannot be
planned is a plan that says so.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .drafting import Draft, make_plan, open_draft, send_as_it_came
from .groups import current_groups
from .parts import SENT
from .reach import find_reach
from .selection import Offer, Selection, mandatory_tokens, pin_tokens, select
from .validity import find_faults
from .walk import Choice

if TYPE_CHECKING:
    from .groups import Outline
    from .parts import Parts
    from .reach import Reach
    from .reasons import Reason
    from .records import Plan, PlanError, Status
    from .request import PlanInput


def plan(given: PlanInput) -> Plan:
    """The plan of a request: `unchanged`, `managed`, or an error.

    `refused`: what must be sent exceeds the hard limit; `kept` is just that (design, section 11). `fallback`: what must be sent
    is not what a provider takes, or pins exceed their cap; `kept` is everything.
    """
    reach = find_reach(given)
    made = _plan_within(given, reach) if reach is not None else None
    return made if made is not None else plan_whole(given)


def plan_whole(given: PlanInput) -> Plan:
    """The same plan, with every turn taken apart, however far it is beyond reach."""
    draft = open_draft(given)
    if _fits_whole(draft):
        return send_as_it_came(draft, "unchanged")
    parts = draft.parts
    error = _find_error(draft, parts)
    if error is None:
        return _manage(draft, parts)
    if given.fixed_tokens + mandatory_tokens(parts, draft.offered) > given.budget.hard:
        return _refuse(draft, parts, error)
    return send_as_it_came(draft, "fallback", error=error)


def _plan_within(given: PlanInput, reach: Reach) -> Plan | None:
    """The plan of a request whose old turns are not taken apart; `None` where they might matter after all: a plan fails, a result
    belongs to none of the nearer calls, or the oldest turn that was taken apart is not left out as those before it."""
    draft = open_draft(given, reach)
    parts = draft.parts
    nearer = [part for part in parts.turns if part.first > reach.beyond.lasts[-1] and not part.pieces]
    if not nearer or not _stands_alone(draft.made) or _find_error(draft, parts) is not None:
        return None
    selection = select(parts, given, draft.offered)
    oldest = next(choice for choice in reversed(selection.choices) if choice.part is nearer[-1])
    if oldest.selected or oldest.part.broken or (given.tail and oldest.part.first >= given.tail):
        return None
    beyond: Reason = "before-tail" if oldest.reason == "before-tail" else "recent-tail-closed"
    made = make_plan(draft, selection, "managed", predecessor=parts.predecessor, beyond=beyond)
    return None if _is_invalid(draft, made) else made


def _stands_alone(made: Outline) -> bool:
    """Whether nothing that was taken apart belongs to what was not."""
    lost = any(fault.kind == "result-without-call" for fault in made.pairing.faults)
    return not lost and not any(made.facts[index].opaque for index in made.indices)


def _fits_whole(draft: Draft) -> bool:
    """Whether all of the request is sent, and nothing else, in whatever order it is chosen: then nothing need be chosen."""
    given = draft.given
    limit = given.budget.hard if given.tail is not None else min(given.budget.hard, given.budget.active)
    if draft.offered or given.fixed_tokens + sum(given.tokens) > limit:
        return False
    current = {group.first for group in current_groups(draft.made)}
    tail = pins = summaries = older = 0
    for group in draft.made.groups:
        if group.kind != "system" and group.first < (given.tail or 0):
            return False
        if group.first in current:
            tail += group.tokens
        elif not given.pinned.isdisjoint(group.indices):
            pins += group.tokens
        elif group.kind == "summary":
            summaries += group.tokens
        elif group.kind != "system":
            older += group.tokens
    in_tail = given.tail is not None or older == 0 or tail + older <= given.caps.recent_tail
    return in_tail and pins <= given.caps.pinned and summaries <= given.caps.summary


def _find_error(draft: Draft, parts: Parts) -> PlanError | None:
    given = draft.given
    if given.fixed_tokens > given.budget.hard:
        return "fixed_over_limit"
    if pin_tokens(parts, draft.offered) > given.caps.pinned:
        return "pins_over_cap"
    if given.fixed_tokens + mandatory_tokens(parts, draft.offered) > given.budget.hard:
        return "mandatory_over_limit"
    return "broken_exchange" if any(part.broken for part in parts.mandatory) else None


def _manage(draft: Draft, parts: Parts) -> Plan:
    selection = select(parts, draft.given, draft.offered)
    left = [choice.part for choice in selection.choices if not choice.selected]
    as_it_came = not selection.trims and not any(offer.selected for offer in selection.offers)
    if as_it_came and left and all(part.broken for part in left) and _native_fits(draft):
        # A broken history is the client's: it is repaired where something is left out anyway, and not for its own sake.
        return send_as_it_came(draft, "unchanged", offers=selection.offers)
    status: Status = "unchanged" if as_it_came and not left else "managed"
    made = make_plan(draft, selection, status, predecessor=parts.predecessor)
    if _is_invalid(draft, made):
        return send_as_it_came(draft, "fallback", error="invalid_selection")
    return made


def _is_invalid(draft: Draft, made: Plan) -> bool:
    return made.tokens > made.limit or bool(find_faults(draft.given.facts, made.kept, whole=draft.made.pairing))


def _native_fits(draft: Draft) -> bool:
    given = draft.given
    return given.fixed_tokens + sum(given.tokens) <= given.budget.hard


def _refuse(draft: Draft, parts: Parts, error: PlanError) -> Plan:
    """What must be sent, although it cannot be."""
    selection = Selection(
        choices=(
            *(Choice(part, True, SENT[part.kind]) for part in parts.mandatory),
            *(Choice(part, False, "input-budget") for part in parts.optional),
        ),
        offers=tuple(
            Offer(supplement, True, "pin") if supplement.kind == "pin" else Offer(supplement, False, "input-budget")
            for supplement in draft.offered
        ),
        trims=(),
        tokens=mandatory_tokens(parts, draft.offered),
    )
    return make_plan(draft, selection, "refused", error=error, predecessor=parts.predecessor)
