"""Measured constants in the rows of families."""

from __future__ import annotations

from ullage.core.profiles import Family, Framing, ImageRule
from ullage.core.profiles.constants import group_constants, with_constants
from ullage.core.profiles.families import ROWS, UNKNOWN_ROW
from ullage.core.profiles.fitted import CONSTANTS

ROW = Family(
    id="x",
    label="x",
    fitted=("wide", "narrow"),
    framing=Framing(base=3, user=4),
    images=ImageRule(kind="flat", unknown_low=1, unknown=1, unknown_high=1),
)


def test_a_later_group_has_the_last_word_and_what_is_not_named_stays() -> None:
    constants = group_constants(
        [
            ("wide", "framing.user", 5, 9),
            ("wide", "prose", 1.2, 9),
            ("narrow", "framing.user", 6, 9),
            ("other", "prose", 2.0, 9),
        ]
    )
    found = with_constants(ROW, constants)
    assert (found.framing.base, found.framing.user, found.prose) == (3, 6, 1.2)


def test_a_row_without_constants_is_as_it_was() -> None:
    assert with_constants(ROW, {}) == ROW


def test_every_constant_belongs_to_a_row() -> None:
    groups = {group for row in (*ROWS, UNKNOWN_ROW) for group in row.fitted}
    assert {group for group, *_ in CONSTANTS} <= groups


def test_what_the_specification_publishes_is_not_fitted() -> None:
    """Claude's tool block (section 7), the text framing of OpenAI (6), pictures (7)."""
    published = [
        (group, place)
        for group, place, *_ in CONSTANTS
        if place.startswith("images.")
        or (group.startswith("claude") and place in ("tools.block", "tools.block_forced"))
        or (group.startswith(("gpt-4", "gpt-5")) and place in ("framing.base", "framing.user", "framing.assistant"))
    ]
    assert published == []
