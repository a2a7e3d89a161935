"""The library: what `import ullage` offers to other programs. Everything here is pure but `read_session`, which reads a file.

conversation = ullage.parse_request(body, "anthropic")
profile = ullage.resolve_profile("anthropic", "claude-sonnet-4-5")
plan = ullage.plan(conversation, profile, input_limit=32_000)
body = ullage.render(conversation, plan)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ullage.core.accounting import Breakdown, make_meter, read_options
from ullage.core.accounting import account as _account
from ullage.core.errors import CallError
from ullage.core.planning import become_aware
from ullage.core.planning.assembling import (
    Evidence,
    Reference,
    Scope,
    count_within,
    read_facts,
    render_plan,
    resolve_caps,
)
from ullage.core.planning.proposal import Terms, propose
from ullage.core.planning.records import Plan
from ullage.core.planning.shortening import offer_excerpts
from ullage.core.planning.supplement import Supplement
from ullage.core.profiles import ModelProfile, resolve_profile
from ullage.core.profiles.overrides import ModelOverride
from ullage.core.routing.models import ModelRecord
from ullage.core.routing.route import Route, RouteConfig, RouteSession, resolve_route
from ullage.core.wire import Conversation, parse_request, read_context
from ullage.core.wire.output import requested_output
from ullage.settings import Settings
from ullage.settings.policy import make_caps, make_policy
from ullage.sources import Session, read_session

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ullage.core.accounting import Meter
    from ullage.core.planning import Budget
    from ullage.core.planning.request import Caps

__all__ = [
    "Breakdown",
    "Conversation",
    "Evidence",
    "ModelOverride",
    "ModelProfile",
    "ModelRecord",
    "Plan",
    "Reference",
    "Route",
    "RouteConfig",
    "RouteSession",
    "Session",
    "Settings",
    "Supplement",
    "account",
    "parse_request",
    "plan",
    "read_session",
    "render",
    "resolve_profile",
    "resolve_route",
    "shorten_results",
]

_DEFAULTS = Settings()


def account(conversation: Conversation, profile: ModelProfile, settings: Settings = _DEFAULTS) -> Breakdown:
    """What fills the prompt of a request, section by section, estimated by `accounting.estimator` of the settings."""
    return _account(
        read_context(conversation),
        _meter(conversation, profile, settings, settings.accounting.estimator),
        window=profile.context_window,
        options=read_options(conversation),
    )


def plan(
    conversation: Conversation,
    profile: ModelProfile,
    settings: Settings = _DEFAULTS,
    evidence: Sequence[Evidence] = (),
    *,
    input_limit: int | None = None,
    scope: Scope = "request",
    estimator: str | None = None,
    pins: Iterable[str] = (),
) -> Plan:
    """Which messages of a request are sent, what of the evidence is added, and why.

    `input_limit` is the most to send, in tokens by `estimator` (`accounting.estimator` of the settings, if none is named);
    `scope` says what counts against it: all of the request, or the messages other than system prompts. Without it, limits are
    those that the profile's window allows, in tokens by the profile's estimator, as long as nothing was learned. `pins` are JSON
    pointers to messages that must stay. The same call gives the same plan; a request that cannot be planned has a plan that says
    so. Raises `CallError` where no limit is given and the window is unknown, and for a pin that points to no message.
    """
    limit, caps, name = _limits(conversation, profile, settings, input_limit, estimator)
    terms = Terms(
        limit=limit,
        caps=caps,
        scope=scope,
        pins=tuple(pins),
        placement=settings.planning.placement,
        rescue=settings.planning.rescue_predecessor,
    )
    return propose(conversation, _meter(conversation, profile, settings, name), terms, evidence).plan


def shorten_results(
    conversation: Conversation,
    profile: ModelProfile,
    settings: Settings = _DEFAULTS,
    *,
    input_limit: int | None = None,
    scope: Scope = "request",
    estimator: str | None = None,
) -> tuple[Reference, ...]:
    """Evidence for `plan`, called with the same limit: an excerpt of each long tool result, which may stand in its place where
    the whole does not fit."""
    limit, _, name = _limits(conversation, profile, settings, input_limit, estimator)
    meter = _meter(conversation, profile, settings, name)
    facts = count_within(read_facts(conversation, meter), scope)
    return offer_excerpts(conversation, facts, meter, limit if isinstance(limit, int) else limit.hard)


def render(
    conversation: Conversation, plan: Plan, *, evidence: Sequence[Evidence] = (), model: str | None = None
) -> bytes:
    """The body that a plan sends: the client's own bytes for all that it keeps. `evidence` is what was offered to the plan;
    `model` replaces the name of the model. Raises `CallError` if the plan takes evidence that is not given."""
    return render_plan(conversation, plan, evidence=evidence, model=model)


def _limits(
    conversation: Conversation,
    profile: ModelProfile,
    settings: Settings,
    input_limit: int | None,
    estimator: str | None,
) -> tuple[int | Budget, Caps, str]:
    """The limit, the caps, and the estimator that both are counted by."""
    caps = make_caps(settings)
    if input_limit is not None:
        return input_limit, caps, estimator or settings.accounting.estimator
    awareness = become_aware(
        profile, (), make_policy(settings), estimator=estimator, requested_output=requested_output(conversation)
    )
    if awareness.budget is None:
        raise CallError(f"The context window of {profile.key} is not known.", hint="Give an input limit.")
    return awareness.budget, resolve_caps(caps, awareness.adaptive), awareness.estimator


def _meter(conversation: Conversation, profile: ModelProfile, settings: Settings, estimator: str) -> Meter:
    return make_meter(
        dialect=conversation.dialect,
        provider=profile.provider,
        model=profile.model,
        client=None,
        estimator=estimator,
        heuristics=settings.accounting.heuristics,
    )
