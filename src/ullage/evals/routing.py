"""Routes on published outcomes of models: would they have been better than a lot? (routing specification, section 34.4)"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, TypeVar

from msgspec import Struct

from ullage.core.routing.pricing import price_label
from ullage.core.routing.task import analyze_task

from .routing_data import pair_of, read_folder
from .routing_learning import expect_all, fold_by_group
from .routing_methods import SHIPPED, plan_methods, threshold_methods
from .routing_published import Check, check_aider, check_set
from .routing_scores import DRAWS, MethodScore, SetScore, score_methods
from .routing_switching import SwitchScore, play_switches
from .routing_targets import find_candidates, list_prices

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

    from ullage.core.profiles import Layer
    from ullage.core.routing.filtering import Candidate

    from .routing_data import Item, RoutingSet

SHARES = (0.25, 0.5, 0.75)
"""Parts of the tasks that the stronger one of two models is given."""

COMPLEXITY, LENGTH, WORDS = "complexity, the analyzer as it ships", "length of the prompt", "learned word statistics"

_T = TypeVar("_T")


class Watch(Protocol):
    """Shows how far a long piece of work is: it is given what the work is called and what it goes through."""

    def __call__(self, label: str, work: Sequence[_T], /) -> Iterable[_T]: ...


class Knowledge(Struct, frozen=True, kw_only=True):
    """What the router knows of one model of a set: its target, its ability with where that is from, and its price."""

    name: str
    model: str
    target: str
    capability: str
    price: str | None


class ThresholdScore(Struct, frozen=True, kw_only=True):
    """How well a measure tells the tasks of a set that need the stronger model: its choice of a part of them, against a lot."""

    name: str
    measure: str
    share: float
    score: MethodScore


class RoutingEvaluation(Struct, frozen=True, kw_only=True):
    """Everything that a folder of outcomes says. `downgrades` says whether a route as it ships beats a lot of equal spend by more
    than chance: only then may automatic downgrades be on by default. `missing` are files that the folder lacks."""

    checks: tuple[Check, ...]
    knowledge: tuple[Knowledge, ...]
    sets: tuple[SetScore, ...]
    thresholds: tuple[ThresholdScore, ...]
    switching: SwitchScore | None
    downgrades: bool
    draws: int
    missing: tuple[str, ...]


def look_on(label: str, work: Sequence[_T], /) -> Iterable[_T]:
    """Shows nothing."""
    return work


def evaluate(
    folder: Path,
    layers: Callable[[str, str], tuple[Layer, ...]],
    *,
    draws: int = DRAWS,
    watch: Watch = look_on,
) -> RoutingEvaluation:
    """All comparisons on the outcomes in a folder. `layers` is what catalogues say of a provider's model.

    Raises `InputError` if the folder holds no outcomes, or a file something else.
    """
    found = read_folder(folder)
    sets: list[SetScore] = []
    knowledge: list[Knowledge] = []
    thresholds: list[ThresholdScore] = []
    switching = None
    for data in found.sets:
        candidates = find_candidates(data, layers)
        knowledge += _tell(data, candidates)
        methods = [carry_out() for carry_out in watch(f"routing {data.name}", plan_methods(data, candidates))]
        sets.append(score_methods(data, methods, draws=draws, watch=_label(watch, f"comparing {data.name}")))
        pair = pair_of(data)
        if pair is not None:
            thresholds += _score_thresholds(pair, draws, watch)
        if switching is None:
            switching = play_switches(data, list_prices(candidates), draws=draws, watch=_label(watch, "switching"))
    return RoutingEvaluation(
        checks=(*(check for data in found.sets for check in check_set(data)), *check_aider(found.aider)),
        knowledge=tuple(knowledge),
        sets=tuple(sets),
        thresholds=tuple(thresholds),
        switching=switching,
        downgrades=any(map(beats_lot, _shipped(sets))),
        draws=draws,
        missing=found.missing,
    )


def beats_lot(score: MethodScore) -> bool:
    """Whether a method is better than the best lot of equal spend by more than chance."""
    return score.against_spend.interval.low > 0


def _shipped(sets: Iterable[SetScore]) -> Iterable[MethodScore]:
    return (one for score in sets for one in score.methods if one.kind == SHIPPED)


def _label(watch: Watch, label: str) -> Callable[[range], Iterable[int]]:
    return lambda draws: watch(label, draws)


def _tell(data: RoutingSet, candidates: Sequence[Candidate]) -> Iterable[Knowledge]:
    for model, candidate in zip(data.models, candidates, strict=True):
        yield Knowledge(
            name=data.name,
            model=model,
            target=candidate.target,
            capability=candidate.capability.describe(),
            price=price_label(candidate.price),
        )


def _score_thresholds(data: RoutingSet, draws: int, watch: Watch) -> list[ThresholdScore]:
    expected = expect_all(data, "words", folds=fold_by_group(data))
    gains = {item.id: strong - weak for item, (weak, strong) in zip(data.items, expected, strict=True)}
    measures: dict[str, Callable[[Item], float]] = {
        COMPLEXITY: lambda item: analyze_task(item.prompt).complexity,
        LENGTH: lambda item: float(len(item.prompt)),
        WORDS: lambda item: gains[item.id],
    }
    made = list(threshold_methods(data, measures, SHARES))
    scored = score_methods(
        data, [method for _, _, method in made], draws=draws, watch=_label(watch, f"thresholds {data.name}")
    )
    return [
        ThresholdScore(name=data.name, measure=measure, share=share, score=score)
        for (measure, share, _), score in zip(made, scored.methods, strict=True)
    ]
