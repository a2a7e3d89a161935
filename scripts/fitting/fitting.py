"""Fits the constants of families that depend on each other together, on all samples or on all but one fold."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from scripts.fitting.design import Sample, estimate
from scripts.fitting.laws import Place, fit

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from scripts.fitting.plan import Free, Plan


class HeldOut(NamedTuple):
    """A sample and what it was estimated at by constants in whose fit it had no part."""

    sample: Sample
    tokens: int

    @property
    def error(self) -> float:
        return (self.tokens - self.sample.case.tokens) / self.sample.case.tokens

    @property
    def miss(self) -> float:
        """What the estimate would have to be multiplied with, less one."""
        return self.sample.case.tokens / self.tokens - 1


class Fitted(NamedTuple):
    """A constant, and on how many samples of how many recordings it stands."""

    group: str
    name: str
    value: float
    samples: int
    recordings: int


def fit_all(samples: Sequence[Sample], plan: Plan) -> list[Fitted]:
    """Every constant of the plan, in the order of the plan."""
    values = fit_values(samples, plan)
    found = []
    for group, members in plan.items():
        for name in members:
            touching = [sample for sample in samples if (group, name) in sample.row.slopes]
            recordings = len({sample.recording for sample in touching})
            found.append(Fitted(group, name, values[group, name], len(touching), recordings))
    return found


def cross_validate(samples: Sequence[Sample], plan: Plan, folds: int) -> list[HeldOut]:
    """Every sample estimated by a fit on the other folds; a recording lies in one fold."""
    held_out: dict[int, HeldOut] = {}
    for fold in range(folds):
        values = fit_values([sample for sample in samples if sample.fold != fold], plan)
        for number, sample in enumerate(samples):
            if sample.fold == fold:
                held_out[number] = HeldOut(sample, estimate(sample, values))
    return [held_out[number] for number in range(len(samples))]


def fit_values(samples: Sequence[Sample], plan: Plan) -> dict[Place, float]:
    """The value of every constant of the plan."""
    free: dict[Place, Free] = {(group, name): one for group, members in plan.items() for name, one in members.items()}
    values: dict[Place, float] = {}
    for groups in _components(plan, samples):
        rows = [sample.row for sample in samples if groups & set(sample.groups)]
        values |= fit(rows, {place: one for place, one in free.items() if place[0] in groups})
    return values


def _components(plan: Plan, samples: Iterable[Sample]) -> list[set[str]]:
    """Groups that stand together in some family, and so have to be fitted together."""
    components = [{group} for group in plan]
    for groups in sorted({sample.groups for sample in samples}):
        joined = [component for component in components if component & set(groups)]
        if len(joined) > 1:
            components = [component for component in components if component not in joined]
            components.append(set().union(*joined))
    return components
