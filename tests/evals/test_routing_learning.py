"""What other tasks teach of a task."""

from __future__ import annotations

from collections import defaultdict

import pytest
from msgspec.structs import replace

from tests.evals.outcomes import issues, questions
from ullage.evals.routing_learning import FOLDS, SHRINK, Rates, expect_all, features_of, fold_by_group, fold_by_task


def test_a_repository_is_in_one_fold() -> None:
    data = issues()
    folds = defaultdict(set)
    for item, fold in zip(data.items, fold_by_group(data), strict=True):
        folds[item.group].add(fold)
    assert all(len(found) == 1 for found in folds.values())
    assert len({fold for found in folds.values() for fold in found}) == 4


def test_prompts_that_begin_alike_are_in_one_fold_and_folds_are_of_like_size() -> None:
    data = questions(100)
    folds = fold_by_group(data)
    openings = defaultdict(set)
    for item, fold in zip(data.items, folds, strict=True):
        openings[tuple(item.prompt.split()[:3])].add(fold)
    assert all(len(found) == 1 for found in openings.values())
    assert {folds.count(fold) for fold in range(FOLDS)} <= {18, 19, 20, 21, 22}


def test_folds_go_by_the_task_and_not_by_its_place() -> None:
    data = questions()
    turned = replace(data, items=data.items[::-1])
    assert fold_by_task(turned) == fold_by_task(data)[::-1]
    assert set(fold_by_task(data)) == set(range(FOLDS))


def test_a_feature_moves_a_rate_the_further_the_more_tasks_had_it() -> None:
    """By hand: half of 100 tasks have the feature and are all solved, the others are not; the rate is 0.5, and 50 of them move it
    by 50 · 0.5 / (50 + 50)."""
    data = questions(100)
    pairs = [
        (
            replace(item, outcomes=(item.outcomes[0]._replace(quality=float(place < 50)),)),
            frozenset({"f"} if place < 50 else ()),
        )
        for place, item in enumerate(data.items)
    ]
    rates = Rates(pairs, 1)
    assert SHRINK == 50
    assert rates.expect(()) == [0.5]
    assert rates.expect({"f"}) == [pytest.approx(0.75)]
    assert rates.expect({"never seen"}) == [0.5]


def test_what_two_tasks_have_says_nothing() -> None:
    data = questions(10)
    rates = Rates([(item, frozenset({"rare"} if place < 2 else ())) for place, item in enumerate(data.items)], 2)
    assert rates.expect({"rare"}) == rates.expect(())


def test_where_no_other_fold_teaches_nothing_is_expected() -> None:
    data = questions(3)
    assert expect_all(data, "words", folds=[0, 0, 0]) == [[0.0, 0.0]] * 3


def test_a_task_teaches_nothing_of_itself() -> None:
    data = questions(20)
    folds = fold_by_task(data)
    first = data.items[0]
    turned = replace(first, outcomes=tuple(one._replace(quality=1 - one.quality) for one in first.outcomes))
    other = replace(data, items=(turned, *data.items[1:]))
    assert expect_all(data, "words", folds=folds)[0] == expect_all(other, "words", folds=folds)[0]


def test_words_signs_beginnings_and_length_are_features() -> None:
    found = features_of(replace(questions().items[0], prompt="Why is 2 > 1?"), "words")
    assert found == {"why", "is", "2", ">", "1", "?", "why is", "is 2", "2 >", "length 7"}
    assert features_of(questions().items[0], "repository") == frozenset()
