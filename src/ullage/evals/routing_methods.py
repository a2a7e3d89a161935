"""Ways of choosing a model for each task of a set, and what each comes to.

Only the oracle, and the cascade where it looks whether a task was done, see outcomes of the task that they choose for.
"""

from __future__ import annotations

from functools import cached_property, lru_cache, partial
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct

from ullage.core.errors import InputError
from ullage.core.routing.learning import Judged, learn
from ullage.core.routing.route import RouteSession, resolve_route
from ullage.core.routing.scoring import PREFERENCE_WEIGHT
from ullage.core.routing.task import analyze_task
from ullage.core.routing.weights import WEIGHTS, Policy

from .routing_learning import expect_all, fold_by_group, fold_by_task
from .routing_targets import by_price

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from ullage.core.routing.filtering import Candidate
    from ullage.core.routing.learning import Learned
    from ullage.core.routing.route import Route

    from .routing_data import Item, RoutingSet
    from .routing_learning import Teacher

POLICIES: tuple[Policy, ...] = ("balanced", "best", "cost")
TAUGHT_POLICIES: tuple[Policy, ...] = ("balanced", "best")
"""Under `cost` what was learned plays no part."""

SHIPPED, LEARNED, PROPOSED = "as it ships", "with learned statistics", "proposal, not in the product"

_SUCCESS = 0.5
"""A user who can only say yes or no says yes to a task of this score or more."""

_LIKENESS: Mapping[Teacher, str] = {"repository": "repository statistics", "words": "word statistics"}
_NO_PREFERENCES: Mapping[str, float] = MappingProxyType({})


class Answer(NamedTuple):
    """What a method makes of one task: the score and the spend to be expected, and how its calls fall on the models."""

    quality: float
    spend: float
    shares: tuple[float, ...]


class Method(Struct, frozen=True, kw_only=True):
    """A way of choosing, and what came of it task by task. `kind` says how to read it: a `bound` sees what no router can."""

    name: str
    kind: str
    answers: tuple[Answer, ...]


def plan_methods(data: RoutingSet, candidates: Sequence[Candidate]) -> list[Callable[[], Method]]:
    """Every method for a set, to be carried out one by one: those that need no router, those of our router, and those that have
    learned."""
    plans: list[Callable[[], Method]] = [
        partial(_fixed, f"always {name}", data, model) for model, name in enumerate(data.models)
    ]
    plans.append(partial(_each, "random", "floor", data, _draw))
    order = by_price(candidates)
    if order is not None:
        plans.append(partial(_fixed, "cheapest", data, order[0]))
    if order is not None and data.unit == "USD":
        plans.append(
            partial(_each, "cheapest first, the next on failure", "bound", data, partial(_cascade, order=order))
        )
    plans.append(partial(_each, "oracle", "bound", data, _best))
    plans += [partial(_routed, data, candidates, policy) for policy in POLICIES]
    for lesson in _lessons(data, candidates):
        plans += [partial(_taught, lesson, data, candidates, policy) for policy in TAUGHT_POLICIES]
    return plans


class _Judged:
    """What the product learns: the tasks of the other folds as if a user had judged them, by the kinds that it finds itself."""

    name, kind = "learned kind statistics", LEARNED

    def __init__(self, data: RoutingSet, candidates: Sequence[Candidate], folds: Sequence[int]) -> None:
        self._data, self._candidates, self._folds = data, candidates, folds

    @cached_property
    def _learned(self) -> dict[int, Learned]:
        return {fold: learn(judged=self._others(fold)) for fold in sorted(set(self._folds))}

    @cached_property
    def _kinds(self) -> list[tuple[str, ...]]:
        return [analyze_task(item.prompt).kinds for item in self._data.items]

    def _others(self, fold: int) -> Iterator[Judged]:
        for item, kinds, own in zip(self._data.items, self._kinds, self._folds, strict=True):
            if own == fold:
                continue
            for candidate, outcome in zip(self._candidates, item.outcomes, strict=True):
                name = f"{item.id} {candidate.target}"
                success = outcome.quality >= _SUCCESS
                yield Judged(id=name, task=name, at_ms=0, target=candidate.target, success=success, kinds=kinds)

    def preferences(self, place: int, _policy: Policy) -> dict[str, float]:
        learned, kinds = self._learned[self._folds[place]], self._kinds[place]
        return {one.target: learned.quality(one.target, kinds, 0).preference for one in self._candidates}


class _Expected:
    """A proposal: the score that a model may be expected to reach is its quality, in place of what its tiers say."""

    kind = PROPOSED

    def __init__(
        self, data: RoutingSet, candidates: Sequence[Candidate], folds: Sequence[int], teacher: Teacher
    ) -> None:
        self.name = f"{_LIKENESS[teacher]} in place of tiers"
        self._data, self._candidates = data, candidates
        self._folds, self._teacher = folds, teacher

    @cached_property
    def _scores(self) -> list[list[float]]:
        return expect_all(self._data, self._teacher, folds=self._folds)

    def preferences(self, place: int, policy: Policy) -> dict[str, float]:
        weight = WEIGHTS[policy].quality / PREFERENCE_WEIGHT
        by_tier = {
            one.target: one.terms.quality for one in _route(self._data.items[place], self._candidates, policy).ranked
        }
        return {
            one.target: weight * (score - by_tier[one.target])
            for one, score in zip(self._candidates, self._scores[place], strict=True)
            if one.target in by_tier
        }


def _lessons(data: RoutingSet, candidates: Sequence[Candidate]) -> list[_Judged | _Expected]:
    """Both learn from other groups than they are judged in; of a repository, nothing can be learned but in itself."""
    folds = fold_by_group(data)
    if any(item.group is not None for item in data.items):
        expected = _Expected(data, candidates, fold_by_task(data), "repository")
    else:
        expected = _Expected(data, candidates, folds, "words")
    return [_Judged(data, candidates, folds), expected]


def _taught(lesson: _Judged | _Expected, data: RoutingSet, candidates: Sequence[Candidate], policy: Policy) -> Method:
    places = {candidate.target: place for place, candidate in enumerate(candidates)}
    answers = []
    for place, item in enumerate(data.items):
        chosen = _chosen(_route(item, candidates, policy, lesson.preferences(place, policy)))
        answers.append(_take(item, places[chosen]))
    return Method(name=f"router, {policy}, {lesson.name}", kind=lesson.kind, answers=tuple(answers))


def _each(name: str, kind: str, data: RoutingSet, answer: Callable[[Item], Answer]) -> Method:
    return Method(name=name, kind=kind, answers=tuple(map(answer, data.items)))


def _fixed(name: str, data: RoutingSet, model: int) -> Method:
    return Method(name=name, kind="fixed", answers=tuple(_take(item, model) for item in data.items))


def _take(item: Item, model: int) -> Answer:
    outcome = item.outcomes[model]
    return Answer(outcome.quality, outcome.spend, _only(model, len(item.outcomes)))


@lru_cache(maxsize=256)
def _only(model: int, models: int) -> tuple[float, ...]:
    return tuple(float(place == model) for place in range(models))


def _draw(item: Item) -> Answer:
    """A model drawn by lot: what may be expected."""
    models = len(item.outcomes)
    return Answer(
        sum(outcome.quality for outcome in item.outcomes) / models,
        sum(outcome.spend for outcome in item.outcomes) / models,
        (1 / models,) * models,
    )


def _cascade(item: Item, order: Sequence[int]) -> Answer:
    """The cheapest, and the next one as long as a task is not done; all of them are paid."""
    spend = 0.0
    for model in order:
        outcome = item.outcomes[model]
        spend += outcome.spend
        if outcome.quality >= 1:
            break
    return Answer(outcome.quality, spend, _only(model, len(order)))


def _best(item: Item) -> Answer:
    """The cheapest among those that do the task best."""
    chosen = min(
        range(len(item.outcomes)), key=lambda model: (-item.outcomes[model].quality, item.outcomes[model].spend)
    )
    return _take(item, chosen)


def _routed(data: RoutingSet, candidates: Sequence[Candidate], policy: Policy) -> Method:
    """Where our router sends each prompt, each the first of a session."""
    places = {candidate.target: place for place, candidate in enumerate(candidates)}
    answers = [_take(item, places[_chosen(_route(item, candidates, policy))]) for item in data.items]
    return Method(name=f"router, {policy}", kind=SHIPPED, answers=tuple(answers))


def _route(
    item: Item, candidates: Sequence[Candidate], policy: Policy, preferences: Mapping[str, float] = _NO_PREFERENCES
) -> Route:
    return resolve_route(candidates, item.prompt, policy=policy, session=RouteSession(preferences=preferences))


def _chosen(route: Route) -> str:
    if route.target is None:
        reason = route.stop.message if route.stop is not None else "no target"
        raise InputError(f"The router has no model for a prompt of this data: {reason}")
    return route.target


def threshold_methods(
    data: RoutingSet, measures: Mapping[str, Callable[[Item], float]], shares: Sequence[float]
) -> Iterator[tuple[str, float, Method]]:
    """For a weak and a strong model: the strong one for the part of the tasks that a measure calls hardest, with that part.

    Of tasks that the measure calls alike each has the same part of a strong call.
    """
    for name, measure in measures.items():
        values = [measure(item) for item in data.items]
        for share in shares:
            parts = _hardest(values, share)
            answers = [_mix(item, part) for item, part in zip(data.items, parts, strict=True)]
            yield name, share, Method(name=name, kind="threshold", answers=tuple(answers))


def _hardest(values: Sequence[float], share: float) -> list[float]:
    """The part of a strong call for each value: they come to a share of all, and the highest values have theirs first."""
    left = share * len(values)
    parts: dict[float, float] = {}
    counts: dict[float, int] = {}
    for value in values:
        counts[value] = counts.get(value, 0) + 1
    for value in sorted(counts, reverse=True):
        parts[value] = min(1.0, max(0.0, left / counts[value]))
        left -= parts[value] * counts[value]
    return [parts[value] for value in values]


def _mix(item: Item, part: float) -> Answer:
    weak, strong = item.outcomes
    return Answer(
        (1 - part) * weak.quality + part * strong.quality,
        (1 - part) * weak.spend + part * strong.spend,
        (1 - part, part),
    )
