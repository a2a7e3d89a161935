"""A plan for one request that is not sent: from what the caller says, the settings, and what was learned."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec import Struct, to_builtins

from ullage.core.accounting import make_meter
from ullage.core.errors import InputError
from ullage.core.planning import become_aware, heed_output, report_awareness, report_budget
from ullage.core.planning.assembling import Scope, read_facts, resolve_caps
from ullage.core.planning.manifest import report_plan
from ullage.core.planning.proposal import Proposal, Terms, propose
from ullage.core.planning.tail_context import TailTerms, draw_terms
from ullage.core.profiles.heuristics import NO_HEURISTICS, Heuristics
from ullage.core.wire import parse_request
from ullage.core.wire.output import requested_output
from ullage.settings import Settings
from ullage.settings.keeping import make_memory_limits
from ullage.settings.policy import make_caps, make_policy

from .keeping import offer_kept
from .known import Known

if TYPE_CHECKING:
    from ullage.core.accounting import Meter
    from ullage.core.evidence.mutations import Item
    from ullage.core.planning import Awareness, Budget, Supplement
    from ullage.core.wire import Conversation, Dialect


class Ask(NamedTuple):
    """What a caller wants planned. `input_limit` are tokens by `estimator`; without one, limits are those that managed mode would
    draw for the model. `pins` are JSON pointers into the request. `excerpts`: long tool results may be shortened. `live`: the
    tail begins where managed mode begins that of a session's first request (`planning.tail` of the settings); else whole turns
    are walked. `labelled` are messages that a label is to keep with all that they belong to, by their numbers in the request's
    list, `kept` the pins and memories that are for it."""

    dialect: Dialect
    provider: str | None = None
    model: str | None = None
    input_limit: int | None = None
    scope: Scope = "request"
    estimator: str | None = None
    pins: Sequence[str] = ()
    excerpts: bool = False
    live: bool = False
    labelled: Collection[int] = ()
    kept: Sequence[Item] = ()


class Basis(Struct, frozen=True, kw_only=True):
    """What plans are made by, whatever the request. `knowledge` is asked for once a model's limits are needed. `estimator` counts
    where the caller sets a limit and names no other."""

    settings: Settings
    knowledge: Callable[[], Known]
    estimator: str
    heuristics: Heuristics = NO_HEURISTICS


class Planner:
    """Plans requests, one after the other. What is known of models is looked up when a request needs it."""

    def __init__(self, basis: Basis) -> None:
        self._basis = basis
        self._known: Known | None = None
        self._awareness: dict[tuple[str, str], Awareness] = {}

    def propose(self, body: bytes, ask: Ask) -> tuple[Proposal, Awareness | None]:
        """The plan, and what its limits were drawn from: `None` where the caller sets them.

        Raises `RequestError` for a body that cannot be read, `CallError` for pins that point nowhere, `InputError` where no limit
        is known.
        """
        conversation = parse_request(body, ask.dialect)
        model = ask.model or conversation.model
        caps, planning = make_caps(self._basis.settings), self._basis.settings.planning
        awareness: Awareness | None = None
        if ask.input_limit is not None:
            limit: int | Budget = ask.input_limit
            estimator = ask.estimator or self._basis.estimator
        else:
            awareness, limit = self._limits(ask, model, requested_output(conversation))
            caps, estimator = resolve_caps(caps, awareness.adaptive), awareness.estimator
        terms = Terms(
            limit=limit,
            caps=caps,
            scope=ask.scope,
            pins=tuple(ask.pins),
            labelled=frozenset(ask.labelled),
            excerpts=ask.excerpts,
            placement=planning.placement,
            rescue=planning.rescue_predecessor,
            tail=self._tail_terms(ask, model, awareness) if ask.live else None,
        )
        meter = self._meter(ask, model, estimator)
        return propose(conversation, meter, terms, self._offer(ask, conversation, meter)), awareness

    def _offer(self, ask: Ask, conversation: Conversation, meter: Meter) -> tuple[Supplement, ...]:
        if not ask.kept:
            return ()
        facts = read_facts(conversation, meter).facts
        settings = self._basis.settings
        steady = settings.planning.placement != "latest-user"
        return offer_kept(ask.kept, conversation, facts, meter, make_memory_limits(settings), steady=steady)

    def _tail_terms(self, ask: Ask, model: str | None, awareness: Awareness | None) -> TailTerms:
        """Under a limit of the caller, nothing is looked up of the model: prices are not known."""
        policy = self._basis.settings.planning.tail
        if awareness is not None:
            return draw_terms(awareness, policy)
        return TailTerms(policy=policy, provider=ask.provider, model=model)

    def _meter(self, ask: Ask, model: str | None, estimator: str) -> Meter:
        return make_meter(
            dialect=ask.dialect,
            provider=ask.provider,
            model=model,
            client=None,
            estimator=estimator,
            heuristics=self._basis.heuristics,
        )

    def _limits(self, ask: Ask, model: str | None, output: int | None) -> tuple[Awareness, Budget]:
        """The limits of a model as managed mode draws them for a request that lets its answer have so many tokens (`output`). A
        caller's own estimator has learned nothing."""
        if not ask.provider or not model:
            missing = "provider" if not ask.provider else "model"
            raise InputError(f"Without an input limit, the {missing} must be named.", hint="Give both, or a limit.")
        known = self._awareness.get((ask.provider, model))
        if known is None:
            known = self._awareness[ask.provider, model] = self._knowledge().learned(ask.provider, model).awareness
        known = heed_output(known, output)
        if known.budget is None:
            raise InputError(
                f"The context window of {ask.provider}/{model} is not known.",
                hint="Give an input limit, or set the window under [models.overrides].",
                code="unknown_window",
            )
        if ask.estimator is None or ask.estimator == known.estimator:
            return known, known.budget
        policy = make_policy(self._basis.settings)
        unlearned = become_aware(known.profile, (), policy, estimator=ask.estimator, requested_output=output)
        assert unlearned.budget is not None, "its window is known"
        return unlearned, unlearned.budget

    def _knowledge(self) -> Known:
        if self._known is None:
            self._known = self._basis.knowledge()
        return self._known


def report_proposal(proposal: Proposal, awareness: Awareness | None, *, taken_ms: float) -> dict[str, Any]:
    """The manifest of a call that is not made (planner specification, section 25)."""
    known = report_awareness(awareness) if awareness is not None else {}
    return {
        "id": "preview",
        "mode": "managed",
        "target": f"{proposal.meter.provider or '?'}/{proposal.meter.model or '?'}",
        "estimator": proposal.meter.estimator,
        "budget": report_budget(proposal.given.budget),
        "profile": known.get("profile"),
        "calibration": known.get("calibration"),
        "adaptive": known.get("adaptive"),
        **report_plan(
            proposal.plan,
            proposal.given,
            cache=to_builtins(proposal.tail) if proposal.tail is not None else None,
            timings_ms={"plan": round(taken_ms, 3)},
        ),
    }
