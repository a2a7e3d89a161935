"""What other tasks teach of a task: rates of success, moved by features that it shares with them. Learned on some folds, judged
on the one that is left.

Counts alone are kept: how many tasks had a feature, and how much better or worse than usual each model did on them. A feature
that few tasks had moves little.
"""

from __future__ import annotations

import itertools
import re
import zlib
from collections import Counter, defaultdict
from math import log2, sqrt
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from .routing_data import Item, RoutingSet

FOLDS = 5

Teacher = Literal["repository", "words"]
"""What tasks are alike by: their repository, or the words of their prompts."""

SHRINK = 50.0
"""A feature that so many tasks had moves a rate half as far as they say. It hardly matters whether it is 20 or 100."""
LEAST = 3
"""A feature of fewer tasks says nothing."""

_WORD = re.compile(r"[a-z]+|\d|[^\w\s]", re.ASCII)
_ALIKE = 3  # first words that prompts of one template share
_OPENING = 4  # words of a prompt whose pairs count too: how it begins tells its sort


class Rates:
    """How well each model of a set does, by the features of a task."""

    def __init__(self, outcomes: Sequence[tuple[Item, frozenset[str]]], models: int) -> None:
        tasks = len(outcomes) or 1
        self._usual = [sum(item.outcomes[model].quality for item, _ in outcomes) / tasks for model in range(models)]
        self._counts: Counter[str] = Counter()
        self._moves: defaultdict[str, list[float]] = defaultdict(lambda: [0.0] * models)
        for item, features in outcomes:
            apart = [outcome.quality - usual for outcome, usual in zip(item.outcomes, self._usual, strict=True)]
            for feature in features:
                self._counts[feature] += 1
                moves = self._moves[feature]
                for model, move in enumerate(apart):
                    moves[model] += move

    def expect(self, features: Iterable[str]) -> list[float]:
        """The score that each model may be expected to reach on a task with these features."""
        known = sorted(feature for feature in features if self._counts[feature] >= LEAST)
        expected = list(self._usual)
        scale = sqrt(len(known) or 1)
        for feature in known:
            weight = 1 / ((self._counts[feature] + SHRINK) * scale)
            for model, move in enumerate(self._moves[feature]):
                expected[model] += weight * move
        return expected


def expect_all(data: RoutingSet, teacher: Teacher, *, folds: Sequence[int]) -> list[list[float]]:
    """For each task the scores to be expected of the models, by what the tasks of the other folds teach."""
    pairs = [(item, features_of(item, teacher)) for item in data.items]
    expected: list[list[float]] = [[] for _ in pairs]
    for fold in sorted(set(folds)):
        others = [pair for pair, place in zip(pairs, folds, strict=True) if place != fold]
        rates = Rates(others, len(data.models))
        for index, place in enumerate(folds):
            if place == fold:
                expected[index] = rates.expect(pairs[index][1])
    return expected


def fold_by_group(data: RoutingSet) -> list[int]:
    """A fold for each task, all of a group in one: of a repository, or of those that begin alike, so that nothing is learned from
    another filling of the same template. The largest group is placed first, each where fewest tasks are."""
    groups = [_group(item) for item in data.items]
    filled = [0] * FOLDS
    places: dict[str, int] = {}
    for group, size in sorted(Counter(groups).items(), key=lambda each: (-each[1], each[0])):
        places[group] = filled.index(min(filled))
        filled[places[group]] += size
    return [places[group] for group in groups]


def fold_by_task(data: RoutingSet) -> list[int]:
    """A fold for each task by its name, so that others of its repository teach."""
    return [_fold(item.id) for item in data.items]


def features_of(item: Item, teacher: Teacher) -> frozenset[str]:
    """What a task is alike to others by."""
    if teacher == "repository":
        return frozenset() if item.group is None else frozenset({item.group})
    return frozenset(_words(item.prompt))


def _words(prompt: str) -> Iterator[str]:
    """Words, digits and signs; pairs of the first words; the length in steps of about 1.4 times."""
    words = _WORD.findall(prompt.lower())
    yield from words
    yield from (f"{one} {other}" for one, other in itertools.pairwise(words[:_OPENING]))
    yield f"length {int(2 * log2(1 + len(prompt)))}"


def _group(item: Item) -> str:
    return item.group if item.group is not None else " ".join(item.prompt.lower().split()[:_ALIKE])


def _fold(name: str) -> int:
    return zlib.crc32(name.encode()) % FOLDS
