"""Boxes whose areas are numbers."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ullage.web.report.treemap import Box, squarify

BOX = Box(10, 20, 600, 400)


def test_the_example_of_the_paper() -> None:
    """Values 6, 6, 4, 3, 2, 2, 1 in a box of 6 by 4: two columns of 3 by 2, then smaller ones."""
    boxes = squarify([6, 6, 4, 3, 2, 2, 1], Box(0, 0, 6, 4))
    assert [tuple(round(side, 2) for side in box) for box in boxes[:4]] == [
        (0, 0, 3, 2),
        (0, 2, 3, 2),
        (3, 0, 1.71, 2.33),
        (4.71, 0, 1.29, 2.33),
    ]


@given(st.lists(st.integers(1, 10**9), min_size=1, max_size=60))
def test_areas_are_the_values_within_the_box(values: list[int]) -> None:
    values = sorted(values, reverse=True)
    boxes = squarify(values, BOX)
    assert len(boxes) == len(values)
    scale = BOX.width * BOX.height / sum(values)
    for value, box in zip(values, boxes, strict=True):
        assert math.isclose(box.width * box.height, value * scale, rel_tol=1e-6, abs_tol=1e-6)
        assert box.x >= BOX.x - 1e-6
        assert box.y >= BOX.y - 1e-6
        assert box.x + box.width <= BOX.x + BOX.width + 1e-6
        assert box.y + box.height <= BOX.y + BOX.height + 1e-6


@given(st.lists(st.integers(1, 1000), min_size=2, max_size=25))
def test_no_two_boxes_overlap(values: list[int]) -> None:
    boxes = squarify(sorted(values, reverse=True), BOX)
    for index, one in enumerate(boxes):
        for other in boxes[index + 1 :]:
            across = min(one.x + one.width, other.x + other.width) - max(one.x, other.x)
            down = min(one.y + one.height, other.y + other.height) - max(one.y, other.y)
            assert across < 1e-6 or down < 1e-6


def test_equal_values_are_nearly_squares() -> None:
    worst = max(max(box.width / box.height, box.height / box.width) for box in squarify([1] * 24, BOX))
    assert worst < 2


@pytest.mark.parametrize("box", [Box(0, 0, 0, 0), Box(0, 0, 100, 0), Box(0, 0, 0, 5)])
def test_a_box_without_an_area_holds_boxes_without_one(box: Box) -> None:
    assert all(one.width * one.height == 0 for one in squarify([3, 2, 1], box))


def test_nothing_needs_no_box() -> None:
    assert squarify([], BOX) == []


def test_an_inset_never_turns_inside_out() -> None:
    assert Box(0, 0, 3, 10).inset(2, 18) == Box(2, 18, 0, 0)
