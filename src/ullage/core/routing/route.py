"""A route: which target a prompt should go to, who else could take it, and why (routing specification, sections 2.3 and 30)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from msgspec import Struct, field
from msgspec.structs import replace

from ullage.core.errors import CallError

from .cache_terms import CacheModel, Habits
from .capability import NO_OVERRIDES as NO_BENCHMARKS
from .capability import TIERS, BenchmarkOverride, tier_rank
from .capability_rows import BenchmarkSource
from .classifier import Verdict as Grade
from .classifier import merge_verdict
from .cost_policy import CostPolicy
from .exclusions import Excluded, Stop
from .filtering import (
    Candidate,
    Constraints,
    Eligible,
    Limits,
    Needs,
    Pin,
    find_eligible,
    make_candidate,
    set_aside,
)
from .pools import Pool, PoolModel
from .prefix import Prefix, is_late_pin, parse_prefix
from .pricing import NO_OVERRIDES as NO_PRICES
from .pricing import PriceOverride
from .reasons import tell_reasons
from .rules import Action, Facts, KnownTier, Rule, Rules, Trigger, Verdict, find_rule, prefers, unwanted
from .scoring import NO_SIGNALS, RouteScore, Signals, Situation, expect_usd, outlook_of, quality_of, score
from .selection import Guards, Selection, Weighing, select
from .suggesting import suggest
from .task import Analyzer, Evidence, TaskProfile, analyze_task
from .thinking import Level, choose_level, fit_level
from .weights import Policy, read_policy

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from .models import ModelRecord

_SPENT = ("blocked", "cooldown")
_FORCING = frozenset({"fit", "circuits", "failover", "quota"})
_LATE_PIN = (
    "the pin at the beginning is not heeded and stays in the text: pins are for a conversation's first prompt, later ones may "
    "begin with @again-stronger or @again-cheaper"
)
_RANKS: dict[str, int] = {tier: tier_rank(tier) for tier in TIERS}
_TIER_BY_RANK = {rank: tier for tier, rank in _RANKS.items()}
_NO_EVIDENCE = Evidence()
_NO_ACTION = Action()


class RouteConfig(Struct, frozen=True, kw_only=True):
    """What a user has settled of routing, as plain data; the defaults settle nothing.

    `pool` names the active one of `pools`. `thinking` is a level for all tasks, `host_thinking` the one that the host has.
    `minimum_tier` is the least tier of all tasks; one that asks for more gets more.
    """

    constraints: Constraints = Constraints()
    scope: tuple[str, ...] = ()
    pools: Mapping[str, Pool] = field(default_factory=dict)
    pool: str | None = None
    pool_model: PoolModel = "deficit"
    rules: Rules = Rules()
    cost: CostPolicy = CostPolicy()
    guards: Guards = Guards()
    cache_model: CacheModel = "horizon"
    analyzer: Analyzer = "v2"
    thinking: Level | None = None
    host_thinking: Level | None = None
    minimum_tier: KnownTier | None = None
    benchmark: BenchmarkSource | None = None
    benchmark_overrides: Mapping[str, BenchmarkOverride] = NO_BENCHMARKS
    price_overrides: Mapping[str, PriceOverride] = NO_PRICES
    cost_coefficient: float | None = None


class RouteSession(Struct, frozen=True, kw_only=True):
    """What a session knows when a task begins: nothing, for its first one. `grade` is what a classifier says of the task.

    `current` is the target it is at, `pin` the one that the user has pinned. `cold` says that no cache holds its prefix any
    more, `failing` that the current target did not answer the newest request; `warm` has the tokens that each target's cache
    holds, where that is known. `failed` are targets that failed for this task, each with why; `circuits` those that are not to
    be tried before a time, epoch milliseconds; `untranslatable` those in whose protocol the request has no form, with why.
    `attempts` count those of the pool. `switched_usd` is what was paid for caches that switches left, `stayed_usd` what would
    have been paid without them.
    """

    first_turn: bool = True
    current: str | None = None
    pin: str | None = None
    cold: bool = False
    failing: bool = False
    warm: Mapping[str, int] = field(default_factory=dict)
    habits: Habits = Habits()
    previous: TaskProfile | None = None
    grade: Grade | None = None
    evidence: Evidence = _NO_EVIDENCE
    trigger: Trigger = "user"
    signals: Mapping[str, Signals] = field(default_factory=dict)
    preferences: Mapping[str, float] = field(default_factory=dict)
    failed: Mapping[str, str] = field(default_factory=dict)
    circuits: Mapping[str, int | None] = field(default_factory=dict)
    untranslatable: Mapping[str, str] = field(default_factory=dict)
    attempts: Mapping[str, int] = field(default_factory=dict)
    switched_usd: float = 0.0
    stayed_usd: float = 0.0


class Left(Struct, frozen=True, kw_only=True):
    """The target that a session has to leave though nobody asked for that, why, and the rank of its tier."""

    target: str
    reason: str
    rank: int


class Route(Struct, frozen=True, kw_only=True):
    """Where a prompt goes, and all that speaks for it.

    `target` is `None` where nobody may take it: `stop` says why. `ranked` begins with the target. `thinking` is the level of the
    target, `demanded_thinking` the one before it was fitted to it. `prompt` is what the model sees: without pins. `weighing` is
    what the targets were weighed by, `None` for a route that was found without; `left` the session's target, where that may not
    go on.
    """

    target: str | None
    thinking: Level
    demanded_thinking: Level
    policy: Policy
    task: TaskProfile
    prompt: str
    prefix: Prefix
    excluded: tuple[Excluded, ...]
    rule: str | None
    verdicts: tuple[Verdict, ...]
    warnings: tuple[str, ...]
    reasons: tuple[str, ...] = ()
    selection: Selection | None = None
    stop: Stop | None = None
    weighing: Weighing | None = None
    left: Left | None = None

    @property
    def ranked(self) -> tuple[RouteScore, ...]:
        """All eligible targets with their scores, the chosen one first."""
        return self.selection.ranked if self.selection is not None else ()

    @property
    def confidence(self) -> float | None:
        """How likely the target is ahead of the nearest rival, as far as the terms are in doubt; 1 where there is none. `None`
        where it was not chosen by its score."""
        return self.selection.confidence if self.selection is not None else None

    @property
    def margin(self) -> float | None:
        """How much the nearest rival lacks to be chosen; `None` where there is none."""
        return self.selection.margin if self.selection is not None else None

    def thinking_for(self, one: RouteScore) -> Level:
        """The level for one of the ranked targets: a fallback may have others than the first."""
        return _fit(self.demanded_thinking, one.candidate.model)


NEW_SESSION = RouteSession()
NO_CONFIG = RouteConfig()


def prepare_candidates(models: Iterable[ModelRecord], config: RouteConfig = NO_CONFIG) -> tuple[Candidate, ...]:
    """What is known of each model, so that many prompts can be routed among them."""
    return tuple(
        make_candidate(
            model,
            benchmark=config.benchmark,
            benchmark_overrides=config.benchmark_overrides,
            price_overrides=config.price_overrides,
            cost_coefficient=config.cost_coefficient,
        )
        for model in models
    )


def resolve_route(
    models: Iterable[ModelRecord | Candidate],
    prompt: str,
    *,
    context_tokens: int = 0,
    images: int = 0,
    policy: str = "balanced",
    current: str | None = None,
    session: RouteSession = NEW_SESSION,
    config: RouteConfig = NO_CONFIG,
) -> Route:
    """The route of a prompt among these models. Pure: the same call gives the same route, whatever the order of the models.

    `context_tokens` are those before the prompt, `images` those of the prompt. `current` is short for a session that is at this
    target. Raises `CallError` for a policy or a pool that there is not.
    """
    if current is not None:
        session = replace(session, current=current, first_turn=False)
    wanted = read_policy(policy)
    pool = active_pool(config)
    known = tuple(one if isinstance(one, Candidate) else prepare_candidates((one,), config)[0] for one in models)
    prefix, text = parse_prefix(prompt, first_turn=session.first_turn)
    task = analyze_task(
        text,
        context_tokens=context_tokens,
        images=images,
        previous=session.previous,
        evidence=session.evidence,
        analyzer=config.analyzer,
    )
    if session.grade is not None:
        task = merge_verdict(task, session.grade)
    pin = _find_pin(session, prefix)
    eligible = find_eligible(known, _limits(task, context_tokens, prefix, pin, pool, session, config))
    rule: Rule | None = None
    verdicts: tuple[Verdict, ...] = ()
    if pin is None and not prefix.pinned:
        facts = Facts(prompt=text, context=context_tokens, images=images > 0, trigger=session.trigger)
        rule, verdicts = find_rule(config.rules, task, facts)
    situation = _situate(context_tokens, pool, session, config)
    pitch = _narrow(eligible, rule, prefix, session, known, _Asked(task=task, situation=situation))
    action = pitch.rule.then if pitch.rule is not None else _NO_ACTION
    if action.prefer:
        preferred = frozenset(one.target for one in pitch.candidates if prefers(action, one.target))
        situation = replace(situation, preferred=preferred)
    weighing = Weighing(
        task=task,
        policy=action.policy or wanted,
        situation=situation,
        cost=config.cost,
        guards=replace(config.guards, downgrades=True) if pitch.steps_down else config.guards,
    )
    level = choose_level(task, fixed=config.thinking, host=config.host_thinking, ruled=action.thinking)
    route = Route(
        target=None,
        thinking="off",
        demanded_thinking=level,
        policy=weighing.policy,
        task=task,
        prompt=text,
        prefix=prefix,
        excluded=pitch.excluded,
        rule=pitch.rule.name if pitch.rule is not None else None,
        verdicts=verdicts,
        warnings=(
            *pitch.warnings,
            *_warn_of_names(pin, known, session),
            *([_LATE_PIN] if is_late_pin(prompt, first_turn=session.first_turn) else []),
        ),
        stop=eligible.stop,
    )
    if not pitch.candidates:
        return route
    scores = score(pitch.candidates, weighing.task, weighing.policy, weighing.situation)
    return settle_on(replace(route, weighing=weighing, left=_find_left(pitch, session)), select(scores, weighing))


def settle_on(route: Route, selection: Selection, *, scored: bool = True) -> Route:
    """The route with its target, and with all that is said of that in place of what was said of another one. `scored`: it was
    chosen by its score."""
    chosen, weighing = selection.chosen, route.weighing
    told = _warn_of_target(route, route.ranked[0]) if route.ranked else ()
    reasons = route.reasons[:1] if weighing is None else tell_reasons(selection, weighing, scored=scored)
    added = [route.rule] if route.rule is not None else []
    if weighing is not None and weighing.situation.cold and weighing.situation.current is not None:
        added.append("cache cold")
    return replace(
        route,
        target=chosen.target,
        thinking=route.thinking_for(chosen),
        warnings=(*(one for one in route.warnings if one not in told), *_warn_of_target(route, chosen)),
        reasons=(*reasons, *added),
        selection=selection,
    )


def _warn_of_target(route: Route, chosen: RouteScore) -> tuple[str, ...]:
    """That a weaker target takes over, because the current one may not go on, which nobody asked for (complaints C4 and C34); and
    that its quota is spent."""
    left, weighing, told = route.left, route.weighing, []
    if left is not None and 0 < chosen.rank < left.rank:
        tiers = f"{_TIER_BY_RANK[chosen.rank]} in place of {_TIER_BY_RANK[left.rank]}"
        told.append(f"{chosen.target} takes over from {left.target}, {tiers}: {left.reason}")
    if weighing is not None:
        quota = weighing.situation.signals.get(chosen.target, NO_SIGNALS).quota
        told += [f"{chosen.target}: quota {quota}"] if quota in _SPENT else []
    return tuple(told)


def _limits(
    task: TaskProfile,
    context: int,
    prefix: Prefix,
    pin: Pin | None,
    pool: Pool | None,
    session: RouteSession,
    config: RouteConfig,
) -> Limits:
    needs = Needs(
        context_tokens=max(context, task.required_context_tokens),
        output_tokens=task.required_output_tokens,
        images=task.requires_vision,
        minimum_tier=max((task.minimum_tier, config.minimum_tier), key=lambda tier: tier_rank(tier or "unknown")),
        pinned_tier=prefix.minimum_tier,
    )
    return Limits(
        needs=needs,
        constraints=config.constraints,
        scope=config.scope,
        pin=pin,
        open_circuits=session.circuits,
        pool=pool,
        untranslatable=session.untranslatable,
    )


def _situate(context: int, pool: Pool | None, session: RouteSession, config: RouteConfig) -> Situation:
    return Situation(
        context=context,
        current=session.current,
        cold=session.cold,
        failing=session.failing,
        warm=session.warm,
        habits=session.habits,
        signals=session.signals,
        preferences=session.preferences,
        pool=pool,
        pool_model=config.pool_model,
        attempts=session.attempts,
        cache_model=config.cache_model,
        switched_usd=session.switched_usd,
        stayed_usd=session.stayed_usd,
    )


def _find_left(pitch: _Pitch, session: RouteSession) -> Left | None:
    out = next((one for one in pitch.excluded if one.target == session.current and one.stage in _FORCING), None)
    if out is None or pitch.steps_down:
        return None
    return Left(target=out.target, reason=out.reason, rank=pitch.current_rank)


class _Pitch(Struct, frozen=True, kw_only=True):
    """Who is left after the soft filters; the rule, unless it had to be ignored; the rank of the current target's tier."""

    candidates: tuple[Candidate, ...]
    excluded: tuple[Excluded, ...]
    warnings: tuple[str, ...]
    rule: Rule | None
    steps_down: bool
    current_rank: int


class _Asked(Struct, frozen=True, kw_only=True):
    """What targets are compared by before they are scored."""

    task: TaskProfile
    situation: Situation


def _narrow(
    eligible: Eligible,
    rule: Rule | None,
    prefix: Prefix,
    session: RouteSession,
    known: Sequence[Candidate],
    asked: _Asked,
) -> _Pitch:
    """The soft filters, stages 8 to 10: what failed, the rule, a step up or down that the prompt asks for, quotas."""
    candidates, excluded = eligible.candidates, list(eligible.excluded)
    warnings = list(eligible.warnings)
    candidates, dropped = set_aside(candidates, "failover", session.failed)
    excluded += dropped
    if rule is not None:
        reasons = _reasons_of(rule, candidates)
        if candidates and len(reasons) == len(candidates):
            warnings.append(f"the rule {rule.name} is ignored: it leaves no target")
            rule = None
        else:
            candidates, dropped = set_aside(candidates, "rules", reasons)
            excluded += dropped
    steps_down = False
    current = next((one for one in known if one.target == session.current), None)
    if prefix.bump:
        step = _step(candidates, prefix.bump, current, asked)
        candidates = step.candidates
        excluded += step.excluded
        warnings.append(step.told)
        steps_down = prefix.bump < 0 and step.taken
    spent = {
        one.target: f"the quota of {one.model.provider} is spent ({signals.quota})"
        for one in candidates
        if (signals := session.signals.get(one.target, NO_SIGNALS)).quota in _SPENT
    }
    candidates, dropped = set_aside(candidates, "quota", spent)
    return _Pitch(
        candidates=candidates,
        excluded=(*excluded, *dropped),
        warnings=tuple(warnings),
        rule=rule,
        steps_down=steps_down,
        current_rank=tier_rank(current.capability.overall) if current is not None else 0,
    )


def _reasons_of(rule: Rule, candidates: Sequence[Candidate]) -> dict[str, str]:
    found = {
        one.target: unwanted(rule.then, one.target, rank=tier_rank(one.capability.overall), ranks=_RANKS)
        for one in candidates
    }
    return {target: reason for target, reason in found.items() if reason is not None}


class _Step(Struct, frozen=True):
    """Who is left after a step up or down, who is not, what is said of it, and whether it was `taken`."""

    candidates: tuple[Candidate, ...]
    excluded: tuple[Excluded, ...]
    told: str
    taken: bool = False


def _step(candidates: tuple[Candidate, ...], bump: int, current: Candidate | None, asked: _Asked) -> _Step:
    """Those of a higher or a lower tier than the current target's that hold what the word says (section 33, item 11): who is
    stronger is expected to do this task no worse, who is cheaper to cost less."""
    name = "@again-stronger" if bump > 0 else "@again-cheaper"
    rank = tier_rank(current.capability.overall) if current is not None else 0
    if current is None or not rank:
        return _Step(candidates, (), f"{name}: the tier of the current target is not known, so nothing is changed")
    tier = _TIER_BY_RANK[rank]
    reasons = {
        one.target: f"{name} asks for {'more' if bump > 0 else 'less'} than {tier}"
        for one in candidates
        if not _steps(tier_rank(one.capability.overall), rank, bump)
    }
    stepped = [one for one in candidates if one.target not in reasons]
    if not stepped:
        return _Step(candidates, (), f"{name}: there is no target {'stronger' if bump > 0 else 'lighter'} than {tier}")
    reasons |= _no_stronger(stepped, current, asked) if bump > 0 else _no_cheaper(stepped, current, asked)
    left, dropped = set_aside(candidates, "rules", reasons)
    if len(reasons) == len(candidates):
        kept = "would do this task better" if bump > 0 else "is expected to cost less than staying"
        return _Step(candidates, (), f"{name}: nobody {'stronger' if bump > 0 else 'lighter'} than {tier} {kept}")
    if bump > 0:
        return _Step(left, dropped, f"{name}: for this prompt only, stronger than {tier}", taken=True)
    doubt = "" if _prices_known((*left, current), asked) else "; whether it costs less is not known"
    return _Step(
        left, dropped, f"{name}: for this prompt only, lighter than {tier}{doubt or ' and cheaper'}", taken=True
    )


def _no_stronger(stepped: Sequence[Candidate], current: Candidate, asked: _Asked) -> dict[str, str]:
    here = quality_of(asked.task, outlook_of(current.capability).careful)
    return {
        one.target: "@again-stronger: it is expected to do this task worse"
        for one in stepped
        if quality_of(asked.task, outlook_of(one.capability).careful) < here
    }


def _no_cheaper(stepped: Sequence[Candidate], current: Candidate, asked: _Asked) -> dict[str, str]:
    """Those that cost as much or more. Those without a price as well where another one is known to be cheaper."""
    usd = expect_usd([*stepped, current], asked.task, asked.situation)
    here = usd.pop(current.target)
    if here is None:
        return {}
    reasons = {
        target: f"@again-cheaper: it is expected to cost ${cost:.4f}, staying ${here:.4f}"
        for target, cost in usd.items()
        if cost is not None and cost >= here
    }
    if any(cost is not None and cost < here for cost in usd.values()):
        reasons |= {target: "@again-cheaper: its price is not known" for target, cost in usd.items() if cost is None}
    return reasons


def _prices_known(candidates: Sequence[Candidate], asked: _Asked) -> bool:
    return None not in expect_usd(candidates, asked.task, asked.situation).values()


def _steps(rank: int, current: int, bump: int) -> bool:
    return rank > current if bump > 0 else 0 < rank < current


def _find_pin(session: RouteSession, prefix: Prefix) -> Pin | None:
    """What the user has pinned outranks what the prompt begins with (section 2.3)."""
    if session.pin is not None:
        return Pin(target=session.pin, kind="manual")
    return Pin(target=prefix.model, kind="prompt") if prefix.model is not None else None


def active_pool(config: RouteConfig) -> Pool | None:
    """The pool that is in force. Raises `CallError` for one that there is not."""
    if config.pool is None:
        return None
    if config.pool not in config.pools:
        meant = suggest(config.pool, config.pools)
        raise CallError(
            f"There is no pool {config.pool!r}.",
            hint=f"Did you mean {meant!r}?" if meant else f"Pools are {', '.join(sorted(config.pools)) or 'none'}.",
            code="unknown_pool",
        )
    return config.pools[config.pool]


def _warn_of_names(pin: Pin | None, known: Sequence[Candidate], session: RouteSession) -> tuple[str, ...]:
    """What is to be said of targets that are named and that there are not."""
    named = {"current": session.current, "pinned": pin.target if pin is not None else None}
    targets = [one.target for one in known]
    return tuple(
        f"{name} is {what} and unknown{f'; did you mean {meant}?' if (meant := suggest(name, targets)) else ''}"
        for what, name in named.items()
        if name is not None and name not in targets
    )


def _fit(level: Level, model: ModelRecord) -> Level:
    return fit_level(level, reasoning=model.reasoning is not False, levels=model.thinking_levels)
