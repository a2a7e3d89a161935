"""Settings that must stand in an order: planner specification, section 2.2, and W13 of section 34."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ullage.core.errors import SettingsError
from ullage.settings import load_settings
from ullage.settings.catalog import catalog
from ullage.settings.orders import ORDERS, drop_disorder
from ullage.settings.provenance import Choice, Source

if TYPE_CHECKING:
    from tests.settings.conftest import Files

RATIOS = "planning.target_fill_ratio <= planning.soft_limit_ratio <= planning.hard_limit_ratio"


def test_a_soft_limit_above_the_hard_one_is_dropped_with_its_line(files: Files) -> None:
    """The worked example of section 2.2, where the reference drops the whole source."""
    text = "log_level = 'debug'\n[planning]\nsoft_limit_ratio = 0.95\nrecent_tail_tokens = 5\n"
    loaded = files.load(text)
    assert loaded.settings.planning.soft_limit_ratio == 0.8
    assert (loaded.settings.log_level, loaded.settings.planning.recent_tail_tokens) == ("debug", 5)
    assert files.problems(text) == [
        f"config.toml:3: planning.soft_limit_ratio is 0.95, which breaks {RATIOS}. Together they would be 0.7, 0.95, 0.9."
    ]


@pytest.mark.parametrize(
    ("text", "dropped"),
    [
        ("planning.target_fill_ratio = 0.85", ["planning.target_fill_ratio"]),
        ("planning.hard_limit_ratio = 0.75", ["planning.hard_limit_ratio"]),
        (
            "planning.target_fill_ratio = 0.5\nplanning.soft_limit_ratio = 0.4",
            ["planning.target_fill_ratio", "planning.soft_limit_ratio"],
        ),
        ("planning.minimum_output_reserve = 40000", ["planning.minimum_output_reserve"]),
        ("planning.preferred_output_reserve = 8191", ["planning.preferred_output_reserve"]),
        ("calibration.lower_bound = 2", ["calibration.lower_bound"]),
        (
            "calibration.lower_bound = 1\ncalibration.upper_bound = 1",
            ["calibration.lower_bound", "calibration.upper_bound"],
        ),
        ("calibration.minimum_samples = 25", ["calibration.minimum_samples"]),
        (
            "calibration.minimum_samples = 4\ncalibration.window = 3",
            ["calibration.minimum_samples", "calibration.window"],
        ),
    ],
)
def test_what_breaks_an_order_is_dropped(files: Files, text: str, dropped: list[str]) -> None:
    loaded = files.load(text)
    assert loaded.settings == files.load().settings
    assert [(problem.code, problem.key) for problem in loaded.problems] == [("conflict", key) for key in dropped]


@pytest.mark.parametrize(
    "text",
    [
        "planning.target_fill_ratio = 1\nplanning.soft_limit_ratio = 1\nplanning.hard_limit_ratio = 1",
        "planning.minimum_output_reserve = 0\nplanning.preferred_output_reserve = 0",
        "calibration.lower_bound = 0.25\ncalibration.upper_bound = 4",
        "calibration.minimum_samples = 200\ncalibration.window = 200",
    ],
)
def test_what_is_in_order_is_kept(files: Files, text: str) -> None:
    assert files.problems(text) == []


def test_a_later_place_that_breaks_an_order_leaves_what_was_before(files: Files) -> None:
    user = "planning.hard_limit_ratio = 0.85\ncalibration.window = 10\n"
    loaded = files.load(
        user,
        "planning.hard_limit_ratio = 0.75\nplanning.recent_tail_tokens = 4000\n",
        ULLAGE_CALIBRATION__MINIMUM_SAMPLES="11",
    )
    assert (loaded.settings.planning.hard_limit_ratio, loaded.settings.planning.recent_tail_tokens) == (0.85, 4000)
    assert loaded.settings.calibration.minimum_samples == 3
    assert [(problem.key, problem.source.kind) for problem in loaded.problems] == [
        ("planning.hard_limit_ratio", "project"),
        ("calibration.minimum_samples", "environment"),
    ]
    assert loaded.sources["planning.hard_limit_ratio"].kind == "user"


def test_a_value_that_is_none_is_not_held_against_its_neighbours(files: Files) -> None:
    loaded = files.load("planning.hard_limit_ratio = 'x'\nplanning.soft_limit_ratio = 0.9\n")
    assert [problem.key for problem in loaded.problems] == ["planning.hard_limit_ratio"]
    assert loaded.settings.planning.soft_limit_ratio == 0.9


def test_a_flag_that_breaks_an_order_is_refused(files: Files) -> None:
    with pytest.raises(SettingsError, match=r"calibration\.window is 3, which breaks"):
        load_settings(
            flags={"calibration.window": 3},
            environ={"HOME": str(files.folder), "ULLAGE_CALIBRATION__MINIMUM_SAMPLES": "5"},
            cwd=files.folder,
        )


LOWERED = ["target_fill_ratio = 0.6", "soft_limit_ratio = 0.75", "hard_limit_ratio = 0.85", "max_project_tokens = 1"]
RAISED = [
    "target_fill_ratio = 0.71",
    "soft_limit_ratio = 0.81",
    "hard_limit_ratio = 0.91",
    "max_project_tokens = 20001",
]
NEVER = ["preferred_output_reserve = 32768", "minimum_output_reserve = 8192"]


@pytest.mark.parametrize("line", LOWERED)
def test_a_project_may_lower_limits(files: Files, line: str) -> None:
    assert files.problems(project=f"planning.{line}\n") == []


@pytest.mark.parametrize("line", RAISED)
def test_a_project_may_not_raise_them(files: Files, line: str) -> None:
    (problem,) = files.load(project=f"planning.{line}\n").problems
    assert problem.code == "not_allowed"
    assert "may only lower" in problem.message


@pytest.mark.parametrize(
    "line",
    [
        *(f"planning.{line}" for line in NEVER),
        "models.enabled = true",
        "calibration.window = 24",
        "store.scope = 'user'",
    ],
)
def test_a_project_has_no_say_in_the_rest(files: Files, line: str) -> None:
    (problem,) = files.load(project=f"{line}\n").problems
    assert (problem.code, problem.message[:27]) == ("not_allowed", "A project file may not set ")


def test_a_project_is_measured_by_what_the_user_set(files: Files) -> None:
    user = "planning.recent_tail_tokens = 9000\n"
    assert files.problems(user, "planning.recent_tail_tokens = 9000\n") == []
    (problem,) = files.problems(user, "planning.recent_tail_tokens = 9001\n")
    assert problem.startswith(
        ".ullage.toml:1: A project file may only lower planning.recent_tail_tokens, here to 9000 or"
    )


KEYS = [key for order in ORDERS for key in order.keys]
LAYERS = st.lists(
    st.dictionaries(st.sampled_from(KEYS), st.one_of(st.integers(0, 5), st.floats(0, 5)), max_size=len(KEYS)),
    max_size=4,
)


@given(LAYERS)
def test_whatever_the_places_say_the_outcome_is_in_order(layers: list[dict[str, float]]) -> None:
    chosen: dict[str, Choice] = {}
    for layer in layers:
        accepted = {key: Choice(value, Source(kind="user")) for key, value in layer.items()}
        problems = drop_disorder(accepted, chosen)
        assert {problem.key for problem in problems} | accepted.keys() == layer.keys()
        chosen |= accepted
    values = {key: setting.default for key, setting in catalog().items()} | {
        key: choice.value for key, choice in chosen.items()
    }
    assert all(order.holds([values[key] for key in order.keys]) for order in ORDERS)
