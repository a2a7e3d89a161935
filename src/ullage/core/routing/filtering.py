"""Who may be chosen at all: the hard filters in their order, each with its code (routing specification, sections 2.3, 6 and 32).

A candidate is judged by itself, so that neither the order of the others nor one that is out changes what becomes of it. What is
not known of a candidate is a doubt: it is left out while there is one without doubts, and stands in with a warning where there
is none.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal, NamedTuple

from msgspec import Struct

from .capability import NO_OVERRIDES as NO_BENCHMARKS
from .capability import Capability, capability_of, tier_rank
from .exclusions import Excluded, Stop
from .identity import VIRTUAL_TARGETS, find_match, find_naming
from .models import ModelRecord
from .pools import Pool
from .pricing import NO_OVERRIDES as NO_PRICES
from .pricing import Price, resolve_price
from .stopping import find_stop

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

    from ullage.core.profiles import Layer

    from .capability import BenchmarkOverride
    from .capability_rows import BenchmarkSource
    from .exclusions import Code, Stage
    from .pricing import PriceOverride

_NOBODY_SAYS: Mapping[str, tuple[Layer, ...]] = MappingProxyType({})


class Candidate(Struct, frozen=True, kw_only=True):
    """A model with what is known of its ability and its price.

    `usual`: it may be chosen where no scope says among whom; any other one only by a scope that names it. `converses`: it is a
    model for conversations; any other one only by a scope that has its whole name.
    """

    model: ModelRecord
    capability: Capability
    price: Price
    usual: bool = True
    converses: bool = True

    @property
    def target(self) -> str:
        """`provider/model`."""
        return self.model.target


class Constraints(Struct, frozen=True, kw_only=True):
    """Whom a user allows. Patterns of providers and of targets; deny and exclude win over allow and include (section 6).

    An empty list of allowed or included ones allows any. `auto_exclude` are targets that may be named, but not be chosen.
    """

    provider_allow: tuple[str, ...] = ()
    provider_deny: tuple[str, ...] = ()
    model_include: tuple[str, ...] = ()
    model_exclude: tuple[str, ...] = ()
    auto_exclude: tuple[str, ...] = ()


class Pin(Struct, frozen=True, kw_only=True):
    """An exact target that is asked for. A manual one outranks pins of the prompt, rules and the pool (section 2.3)."""

    target: str
    kind: Literal["manual", "prompt"]


_NAMED = 3
"""So many targets are named by a warning that is about many."""


class Needs(Struct, frozen=True, kw_only=True):
    """What a model must have: tokens of prompt and answer, pictures, and the least tier of the task and of the prompt's pin.

    `context_tokens` is the larger of what there is and what the task requires.
    """

    context_tokens: int = 0
    output_tokens: int = 0
    images: bool = False
    minimum_tier: str | None = None
    pinned_tier: str | None = None

    @property
    def window_tokens(self) -> int:
        """The least window: the prompt with 15 % for errors of the estimate, and the answer (section 6)."""
        return -(-115 * self.context_tokens // 100) + self.output_tokens


class Limits(Struct, frozen=True, kw_only=True):
    """All that decides who is eligible. `scope` has patterns of targets, empty for all; `open_circuits` map targets to when they
    may be tried again, epoch milliseconds; `untranslatable` says why a request cannot be put in the words of some targets."""

    needs: Needs = Needs()
    constraints: Constraints = Constraints()
    scope: tuple[str, ...] = ()
    pin: Pin | None = None
    open_circuits: Mapping[str, int | None] = MappingProxyType({})
    pool: Pool | None = None
    untranslatable: Mapping[str, str] = MappingProxyType({})


class Eligible(Struct, frozen=True, kw_only=True):
    """Who passed and who did not, each in the order of targets; `stop` is there where nobody passed."""

    candidates: tuple[Candidate, ...]
    excluded: tuple[Excluded, ...]
    warnings: tuple[str, ...] = ()
    stop: Stop | None = None


class Obstacle(NamedTuple):
    """What is in the way of one candidate."""

    stage: Stage
    code: Code
    reason: str
    doubt: bool = False


def make_candidate(
    model: ModelRecord,
    *,
    benchmark: BenchmarkSource | None = None,
    benchmark_overrides: Mapping[str, BenchmarkOverride] = NO_BENCHMARKS,
    price_overrides: Mapping[str, PriceOverride] = NO_PRICES,
    layers: Iterable[Layer] = (),
    cost_coefficient: float | None = None,
    now_ms: int = 0,
    catalogue_ms: int = 0,
) -> Candidate:
    """The candidate of a record, as `capability_of` and `resolve_price` see it."""
    price = resolve_price(
        model,
        overrides=price_overrides,
        layers=layers,
        cost_coefficient=cost_coefficient,
        now_ms=now_ms,
        catalogue_ms=catalogue_ms,
    )
    capability = capability_of(model, source=benchmark, overrides=benchmark_overrides)
    return Candidate(model=model, capability=capability, price=price)


def find_eligible(candidates: Iterable[Candidate], limits: Limits) -> Eligible:
    """The candidates that pass every hard filter, stages 3 to 7 of section 2.3.

    Each excluded one has the first stage that is in its way. The pool is skipped under a manual pin, and admits others where it
    falls back and no member is left.
    """
    ordered = sorted(candidates, key=lambda candidate: candidate.target)
    judged = [(candidate, list(_obstacles(candidate, limits))) for candidate in ordered]
    pool = limits.pool if limits.pin is None or limits.pin.kind != "manual" else None
    warnings: list[str] = []
    if pool is not None and pool.fallback == "any" and not _has_member(pool, judged):
        warnings.append("no member of the pool is available, so others are admitted")
        pool = None
    if pool is not None:
        judged = [(candidate, [*found, *_outside(pool, candidate)]) for candidate, found in judged]
    passed = [(candidate, found) for candidate, found in judged if not _barred(found)]
    sure = [candidate for candidate, found in passed if not found]
    taken = sure or [candidate for candidate, _ in passed]
    if passed and not sure:
        warnings += _tell_doubts(passed)
    targets = {candidate.target for candidate in taken}
    excluded = tuple(_tell(c.target, found) for c, found in judged if c.target not in targets)
    return Eligible(
        candidates=tuple(taken),
        excluded=excluded,
        warnings=tuple(warnings),
        stop=None if taken else find_stop(ordered, excluded, limits),
    )


def set_aside(
    candidates: Sequence[Candidate], stage: Literal["failover", "rules", "quota"], reasons: Mapping[str, str]
) -> tuple[tuple[Candidate, ...], tuple[Excluded, ...]]:
    """A soft filter: without the targets that `reasons` names, unless nobody would be left (stages 8 to 10 of section 2.3)."""
    kept = tuple(candidate for candidate in candidates if candidate.target not in reasons)
    if not kept:
        return tuple(candidates), ()
    dropped = sorted(candidate.target for candidate in candidates if candidate.target in reasons)
    code = _SOFT_CODES[stage]
    return kept, tuple(Excluded(target=name, stage=stage, code=code, reason=reasons[name]) for name in dropped)


_SOFT_CODES: Mapping[str, Code] = MappingProxyType(
    {"failover": "failed-before", "rules": "rule-excluded", "quota": "quota-blocked"}
)


def _barred(found: Collection[Obstacle]) -> bool:
    return any(not obstacle.doubt for obstacle in found)


def _tell(target: str, found: Sequence[Obstacle]) -> Excluded:
    """The first stage that bars the candidate, or if none does, its first doubt."""
    first = next((obstacle for obstacle in found if not obstacle.doubt), found[0])
    return Excluded(target=target, stage=first.stage, code=first.code, reason=first.reason)


def _obstacles(candidate: Candidate, limits: Limits) -> Iterator[Obstacle]:
    """All that is in the way, in the order of the stages."""
    for check in _CHECKS:
        found = check(candidate, limits)
        if found is not None:
            yield found


def _in_scope(candidate: Candidate, limits: Limits) -> Obstacle | None:
    target = candidate.target
    if not VIRTUAL_TARGETS.isdisjoint((target, candidate.model.id)):
        return Obstacle("constraints", "virtual-entry", "it is the router's own entry")
    if limits.scope and find_naming(limits.scope, target, chats=candidate.converses) is None:
        return Obstacle("constraints", "out-of-scope", _tell_scope(candidate, limits))
    if not limits.scope and not candidate.usual:
        return Obstacle("constraints", "out-of-scope", "it is chosen only under a name of your own that names it")
    if not candidate.model.authenticated:
        return Obstacle("constraints", "no-credential", f"there is no credential for {candidate.model.provider}")
    return None


def _tell_scope(candidate: Candidate, limits: Limits) -> str:
    if find_match(limits.scope, candidate.target) is None:
        return "it is not in the scope"
    return "by its id it is no model for conversations; the scope must have its whole name"


def _allowed(candidate: Candidate, limits: Limits) -> Obstacle | None:
    """Deny before allow, provider before model."""
    rules, provider, target = limits.constraints, candidate.model.provider, candidate.target
    if (pattern := find_match(rules.provider_deny, provider)) is not None:
        return Obstacle("constraints", "provider-denied", f"its provider is denied by {pattern!r}")
    if (pattern := find_match(rules.model_exclude, target)) is not None:
        return Obstacle("constraints", "model-excluded", f"it is excluded by {pattern!r}")
    if rules.provider_allow and find_match(rules.provider_allow, provider) is None:
        return Obstacle("constraints", "provider-not-allowed", "its provider is not among those allowed")
    if rules.model_include and find_match(rules.model_include, target) is None:
        return Obstacle("constraints", "model-not-included", "it is not among the models included")
    pinned = limits.pin is not None and limits.pin.target == target
    if not pinned and (pattern := find_match(rules.auto_exclude, target)) is not None:
        return Obstacle("constraints", "auto-excluded", f"it may be named but not be chosen, by {pattern!r}")
    return None


def _pinned(candidate: Candidate, limits: Limits) -> Obstacle | None:
    """An exact pin; without one, the tier that the prompt pins."""
    if limits.pin is not None:
        if candidate.target != limits.pin.target:
            return Obstacle("pin", "not-pinned", f"{limits.pin.target} is pinned")
        return None
    return _tier_reaches(candidate, limits.needs.pinned_tier, "pin")


def _tell_doubts(passed: Iterable[tuple[Candidate, list[Obstacle]]]) -> list[str]:
    """Who stands in, a sentence for each doubt."""
    doubted: dict[str, list[str]] = {}
    for candidate, found in passed:
        doubted.setdefault(found[0].reason, []).append(candidate.target)
    return [
        f"{_name_some(targets)} {'stands' if len(targets) == 1 else 'stand'} in for want of a better known one: {reason}"
        for reason, targets in doubted.items()
    ]


def _name_some(targets: list[str]) -> str:
    more = len(targets) - _NAMED
    named = targets if more <= 1 else [*targets[:_NAMED], f"{more} more"]
    return " and ".join(part for part in (", ".join(named[:-1]), named[-1]) if part)


def _able(candidate: Candidate, limits: Limits) -> Obstacle | None:
    return _tier_reaches(candidate, limits.needs.minimum_tier, "fit")


def _tier_reaches(candidate: Candidate, least: str | None, stage: Stage) -> Obstacle | None:
    """Whether the tier is high enough. An unknown one stands in where a prompt pins light or mid, and is never taken for more
    (section 3.2)."""
    tier = candidate.capability.overall
    if least is None or tier_rank(tier) >= tier_rank(least):
        return None
    if tier == "unknown":
        return Obstacle(
            stage,
            "tier-unknown",
            f"its tier is unknown, {least} is needed",
            doubt=stage == "pin" and least in ("light", "mid"),
        )
    return Obstacle(stage, "tier-too-low", f"its tier is {tier}, {least} is needed")


def _understands(candidate: Candidate, limits: Limits) -> Obstacle | None:
    reason = limits.untranslatable.get(candidate.target)
    return Obstacle("fit", "dialect", f"the request has no form in its protocol: {reason}") if reason else None


def _sees(candidate: Candidate, limits: Limits) -> Obstacle | None:
    inputs = candidate.model.inputs
    if not limits.needs.images or (inputs is not None and "image" in inputs):
        return None
    if inputs is None:
        return Obstacle("fit", "vision-unknown", "whether it reads pictures is unknown", doubt=True)
    return Obstacle("fit", "no-vision", "it reads no pictures")


def _window_holds(candidate: Candidate, limits: Limits) -> Obstacle | None:
    window, needed = candidate.model.context_window, limits.needs.window_tokens
    if window is None:
        return Obstacle("fit", "window-unknown", "its context window is unknown", doubt=True)
    if window < needed:
        return Obstacle("fit", "window-too-small", f"its context window is {window:,} tokens, {needed:,} are needed")
    return None


def _answers(candidate: Candidate, limits: Limits) -> Obstacle | None:
    most, needed = candidate.model.max_output_tokens, limits.needs.output_tokens
    if most is None:
        return Obstacle("fit", "output-unknown", "its longest answer is unknown", doubt=True)
    if most < needed:
        return Obstacle("fit", "output-too-small", f"its longest answer is {most:,} tokens, {needed:,} are needed")
    return None


def _closed(candidate: Candidate, limits: Limits) -> Obstacle | None:
    if candidate.target not in limits.open_circuits:
        return None
    return Obstacle("circuits", "circuit-open", "it failed lately, its circuit is open")


_CHECKS: tuple[Callable[[Candidate, Limits], Obstacle | None], ...] = (
    _in_scope,
    _allowed,
    _pinned,
    _able,
    _understands,
    _sees,
    _window_holds,
    _answers,
    _closed,
)
"""In the order of the stages; within a fit, what no other size of the request could mend comes first."""


def _has_member(pool: Pool, judged: Iterable[tuple[Candidate, Collection[Obstacle]]]) -> bool:
    return any(pool.has(candidate.target) and not _barred(found) for candidate, found in judged)


def _outside(pool: Pool, candidate: Candidate) -> Iterator[Obstacle]:
    if not pool.has(candidate.target):
        yield Obstacle("pool", "not-in-pool", "it is not in the pool")
