"""A plan for one request, as `ullage plan` makes it: from what the caller says, the settings, and what was learned."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from ullage.core.accounting import make_meter
from ullage.core.errors import InputError
from ullage.core.planning import become_aware
from ullage.core.planning.assembling import Scope, resolve_caps
from ullage.core.planning.proposal import Proposal, Terms, propose
from ullage.core.planning.tail_context import TailTerms, draw_terms
from ullage.core.wire import parse_request
from ullage.settings.policy import make_caps

from . import records

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ullage.core.accounting import Meter
    from ullage.core.planning import Awareness, Budget
    from ullage.core.wire import Dialect

    from .model_knowledge import Known
    from .preferences import Preferences


class Ask(NamedTuple):
    """What a caller wants planned. `input_limit` are tokens by `estimator`; without one, limits are those that managed mode would
    draw for the model. `pins` are JSON pointers into the request. `excerpts`: long tool results may be shortened. `live`: the
    tail begins where managed mode begins that of a session's first request (`planning.tail` of the settings); else whole turns
    are walked."""

    dialect: Dialect
    provider: str | None = None
    model: str | None = None
    input_limit: int | None = None
    scope: Scope = "request"
    estimator: str | None = None
    pins: Sequence[str] = ()
    excerpts: bool = False
    live: bool = False


class Planner:
    """Plans requests, one after the other. What is known of models is looked up when a request needs it."""

    def __init__(self, preferences: Preferences) -> None:
        self._preferences = preferences
        self._awareness: dict[tuple[str, str], Awareness] = {}

    def propose(self, body: bytes, ask: Ask) -> tuple[Proposal, Awareness | None]:
        """The plan, and what its limits were drawn from: `None` where the caller sets them.

        Raises `RequestError` for a body that cannot be read, `CallError` for pins that point nowhere, `InputError` where no limit
        is known.
        """
        conversation = parse_request(body, ask.dialect)
        model = ask.model or conversation.model
        caps, planning = make_caps(self._preferences.settings), self._preferences.settings.planning
        awareness: Awareness | None = None
        if ask.input_limit is not None:
            limit: int | Budget = ask.input_limit
            estimator = ask.estimator or self._preferences.estimator
        else:
            awareness, limit = self._limits(ask, model)
            caps, estimator = resolve_caps(caps, awareness.adaptive), awareness.estimator
        terms = Terms(
            limit=limit,
            caps=caps,
            scope=ask.scope,
            pins=tuple(ask.pins),
            excerpts=ask.excerpts,
            placement=planning.placement,
            rescue=planning.rescue_predecessor,
            tail=self._tail_terms(ask, model, awareness) if ask.live else None,
        )
        return propose(conversation, self._meter(ask, model, estimator), terms), awareness

    def _tail_terms(self, ask: Ask, model: str | None, awareness: Awareness | None) -> TailTerms:
        """Under a limit of the caller, nothing is looked up of the model: prices are not known."""
        policy = self._preferences.settings.planning.tail
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
            heuristics=self._preferences.heuristics,
        )

    def _limits(self, ask: Ask, model: str | None) -> tuple[Awareness, Budget]:
        """The limits of a model as managed mode draws them. A caller's own estimator has learned nothing."""
        if not ask.provider or not model:
            missing = "provider" if not ask.provider else "model"
            raise InputError(f"Without an input limit, the {missing} must be named.", hint="Give both, or a limit.")
        known = self._awareness.get((ask.provider, model))
        if known is None:
            known = self._awareness[ask.provider, model] = self._knowledge.learned(ask.provider, model).awareness
        if known.budget is None:
            raise InputError(
                f"The context window of {ask.provider}/{model} is not known.",
                hint="Give an input limit, or set the window under [models.overrides].",
                code="unknown_window",
            )
        if ask.estimator is None or ask.estimator == known.estimator:
            return known, known.budget
        unlearned = become_aware(known.profile, (), self._preferences.policy, estimator=ask.estimator)
        assert unlearned.budget is not None, "its window is known"
        return unlearned, unlearned.budget

    @cached_property
    def _knowledge(self) -> Known:
        from .model_knowledge import open_knowledge

        return open_knowledge(None, now_ms=records.now_ms())
