"""A plan for a request that is at hand as a whole, with all that it takes to render it: what commands and programs ask for.

The gateway does the same in steps, since it remembers most of a request from the call before.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct, structs

from ullage.core.accounting import Meter
from ullage.core.wire import Conversation, canonical_hash

from .assembling import (
    Evidence,
    Scope,
    count_within,
    find_pinned,
    limit_budget,
    make_input,
    read_facts,
    render_plan,
)
from .budget import Budget
from .emergency import plan_live
from .labels import find_labelled
from .plan import plan
from .records import Plan
from .request import Caps, Placement, PlanInput
from .shortening import offer_excerpts
from .tail import choose_tail
from .tail_context import TailTerms, make_context
from .tail_records import TailChoice

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .assembling import RequestFacts


class Terms(Struct, frozen=True, kw_only=True):
    """Within what a request is planned. Under a `limit` that is a number the tail has no cap of its own. `scope` is what counts
    against it. `pins` are JSON pointers into the request, `labelled` the numbers of messages that labels are on. `excerpts`: long
    tool results may be shortened. `tail`: the tail begins as that of a session's first request; without it whole turns are walked
    (planner specification, section 13.2).
    """

    limit: int | Budget
    caps: Caps
    scope: Scope = "request"
    pins: tuple[str, ...] = ()
    labelled: frozenset[int] = frozenset()
    excerpts: bool = False
    placement: Placement = "latest-user"
    rescue: bool = True
    tail: TailTerms | None = None


class Proposal(Struct, frozen=True, kw_only=True):
    """A plan with what it was made from. `tail` is `None` where it was walked."""

    conversation: Conversation
    meter: Meter
    given: PlanInput
    plan: Plan
    evidence: tuple[Evidence, ...]
    tail: TailChoice | None = None

    def render(self) -> bytes:
        """The body that the plan sends."""
        return render_plan(self.conversation, self.plan, evidence=self.evidence)


def propose(conversation: Conversation, meter: Meter, terms: Terms, evidence: Sequence[Evidence] = ()) -> Proposal:
    """What managed mode would do, but for a request of which the mandatory part alone is too large: that is refused (design,
    section 11). Raises `CallError` for a pin that points to no message."""
    facts = count_within(read_facts(conversation, meter), terms.scope)
    budget, caps = _bounds(terms, facts)
    offered = (*evidence, *(offer_excerpts(conversation, facts, meter, budget.hard) if terms.excerpts else ()))
    labelled = find_labelled(facts.facts, facts.tokens, terms.labelled)
    given = make_input(
        facts,
        budget=budget,
        caps=caps,
        evidence=offered,
        pinned=find_pinned(conversation, terms.pins) | labelled,
        labelled=labelled,
        placement=terms.placement,
        rescue=terms.rescue,
    )
    tail = _begin_tail(conversation, given, terms.tail) if terms.tail is not None else None
    if tail is not None:
        given = structs.replace(given, tail=tail.first)
    made = plan(given)
    if made.status == "fallback":
        made = plan_live(given)
    return Proposal(conversation=conversation, meter=meter, given=given, plan=made, evidence=offered, tail=tail)


def _begin_tail(conversation: Conversation, given: PlanInput, terms: TailTerms) -> TailChoice | None:
    hashes = tuple(canonical_hash(piece, conversation.dialect) for piece in conversation.messages)
    choice, _ = choose_tail(given, make_context(conversation, terms, hashes), policy=terms.policy)
    return choice


def _bounds(terms: Terms, facts: RequestFacts) -> tuple[Budget, Caps]:
    if isinstance(terms.limit, Budget):
        return terms.limit, terms.caps
    return limit_budget(terms.limit), structs.replace(terms.caps, recent_tail=sum(facts.tokens))
