"""Overrides of models in settings files: planner specification, sections 2.1 and 3.1; design, section 11."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ullage.core.profiles.overrides import ModelOverride
from ullage.settings.overrides import refuse_to_project
from ullage.settings.provenance import Choice, Source

if TYPE_CHECKING:
    from tests.settings.conftest import Files

# The worked example of section 3.2.
TEXT = """
[models.overrides."*"]
safety_margin_tokens = 2048
[models.overrides."ollama/*"]
recent_tail_tokens = 16000
[models.overrides."openrouter/vendor/model"]
context_window = 200000
max_retrieved_history_tokens = 12000
"""
MODEL = 'models.overrides."a/b"'


def test_everything_can_be_said_of_a_model(files: Files) -> None:
    text = f"""
[{MODEL}]
context_window = 200_000
max_output_tokens = 200_000
safety_margin_tokens = 0
recent_tail_tokens = 1
max_retrieved_history_tokens = 2
max_project_tokens = 10_000_000
token_estimator = "o200k-base-v1"
reasoning = true
images = false
input_price = 3
output_price = 15.5
cache_read_price = 0
cache_write_price = 3.75
"""
    loaded = files.load(text)
    assert loaded.problems == ()
    assert loaded.settings.models.overrides == {
        "a/b": ModelOverride(
            context_window=200_000,
            max_output_tokens=200_000,
            safety_margin_tokens=0,
            recent_tail_tokens=1,
            max_retrieved_history_tokens=2,
            max_project_tokens=10_000_000,
            token_estimator="o200k-base-v1",
            reasoning=True,
            images=False,
            input_price=3,
            output_price=15.5,
            cache_read_price=0,
            cache_write_price=3.75,
        )
    }


def test_keys_stay_as_they_are_written_and_name_their_lines(files: Files) -> None:
    loaded = files.load(TEXT)
    assert list(loaded.settings.models.overrides) == ["*", "ollama/*", "openrouter/vendor/model"]
    assert loaded.sources["models.overrides.openrouter/vendor/model"].line == 7


def test_a_name_with_dots_in_it_is_one_name(files: Files) -> None:
    loaded = files.load('models.overrides."openai/gpt-4.1".context_window = 1\n')
    assert loaded.settings.models.overrides == {"openai/gpt-4.1": ModelOverride(context_window=1)}


def test_an_entry_may_be_written_inline(files: Files) -> None:
    loaded = files.load('[models]\noverrides = { "a/b" = { context_window = 7 }, "*" = {} }\n')
    assert loaded.problems == ()
    assert loaded.settings.models.overrides == {"a/b": ModelOverride(context_window=7), "*": ModelOverride()}


@pytest.mark.parametrize("key", ["*", "a/b", "a/*", "openrouter/vendor/model", "a/b*", "a/ b"])
def test_a_key_that_names_models_is_taken(files: Files, key: str) -> None:
    assert files.problems(f'[models.overrides."{key}"]\ncontext_window = 1\n') == []


@pytest.mark.parametrize("key", ["", " ", "a", "/", "/b", "a/", "a/b/", " a/b", "a/b ", " *", "*/b", "*/*", "**"])
def test_an_entry_whose_key_names_no_model_is_dropped_and_told_once(files: Files, key: str) -> None:
    text = f'[models.overrides."{key}"]\ncontext_window = 1\nmax_output_tokens = 1\n[{MODEL}]\ncontext_window = 2\n'
    loaded = files.load(text)
    assert loaded.settings.models.overrides == {"a/b": ModelOverride(context_window=2)}
    (problem,) = loaded.problems
    assert (problem.code, problem.key, problem.source.line) == ("bad_value", f"models.overrides.{key}", 2)


def test_a_key_that_names_no_model_is_told_with_one_that_does(files: Files) -> None:
    (problem,) = files.load("[models.overrides.openai]\ncontext_window = 1\n").problems
    assert problem.message == "The key of models.overrides.openai is neither `*` nor `provider/*` nor `provider/model`."
    assert problem.hint == 'For example [models.overrides."anthropic/claude-opus-4-8"].'


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("context_window = 0", "must be a whole number from 1 to 10000000, not 0."),
        ("context_window = 10_000_001", "must be a whole number from 1 to 10000000, not 10000001."),
        ("max_output_tokens = 1.5", "must be a whole number from 1 to 10000000, not 1.5."),
        ("recent_tail_tokens = -1", "must be a whole number from 0 to 10000000, not -1."),
        ("max_project_tokens = '5'", "must be a whole number from 0 to 10000000, not '5'."),
        ("token_estimator = 'wire-v1'", "must be one of chars-v1, o200k-base-v1, not 'wire-v1'."),
        ("images = 1", "must be true or false, not 1."),
        ("input_price = inf", "must be a number from 0 to 1000000, not inf."),
    ],
)
def test_a_value_out_of_range_is_dropped_alone(files: Files, line: str, said: str) -> None:
    text = f"[{MODEL}]\n{line}\nsafety_margin_tokens = 5\n"
    field = line.partition(" ")[0]
    assert files.load(text).settings.models.overrides == {"a/b": ModelOverride(safety_margin_tokens=5)}
    assert files.problems(text) == [f"config.toml:2: models.overrides.a/b.{field} {said} Correct it, or take it out."]


def test_an_unknown_field_is_told_with_the_nearest_one(files: Files) -> None:
    assert files.problems(f"[{MODEL}]\ncontext_windo = 5\n") == [
        "config.toml:2: models.overrides.a/b.context_windo is not a setting. Did you mean context_window?"
    ]


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("models.overrides = 3", "models.overrides"),
        ('models.overrides."a/b" = 3', "models.overrides.a/b"),
        ('[[models.overrides]]\n"a/b" = 1', "models.overrides[].a/b"),
    ],
)
def test_a_value_in_the_place_of_the_table_is_told(files: Files, text: str, key: str) -> None:
    (problem,) = files.load(text).problems
    assert problem.message == f"{key} is a table, not a value."
    assert problem.hint == 'Write [models.overrides."PROVIDER/MODEL"] and its keys below it.'


def test_an_answer_longer_than_its_window_drops_both_and_nothing_else(files: Files) -> None:
    text = f"[{MODEL}]\ncontext_window = 8000\nmax_output_tokens = 16000\nimages = true\n"
    assert files.load(text).settings.models.overrides == {"a/b": ModelOverride(images=True)}
    reason = "no answer of 16000 tokens fits a window of 8000. Neither is used."
    assert files.problems(text) == [
        f"config.toml:2: models.overrides.a/b.context_window is 8000: {reason}",
        f"config.toml:3: models.overrides.a/b.max_output_tokens is 16000: {reason}",
    ]


def test_an_entry_of_which_nothing_is_left_is_none(files: Files) -> None:
    assert files.load(f"[{MODEL}]\ncontext_window = 1\nmax_output_tokens = 2\n").settings.models.overrides == {}


def test_window_and_answer_of_two_entries_are_not_compared(files: Files) -> None:
    """A `*` with window 8,000 and an exact entry with output 16,000 passes (section 3.1)."""
    text = f'[models.overrides."*"]\ncontext_window = 8000\n[{MODEL}]\nmax_output_tokens = 16000\n'
    assert files.problems(text) == []


def test_a_project_may_lower_budgets_and_leaves_the_rest_of_the_user_s_entry(files: Files) -> None:
    loaded = files.load(
        f"[{MODEL}]\ncontext_window = 200000\nsafety_margin_tokens = 9000\nrecent_tail_tokens = 16000\n",
        f"[{MODEL}]\nrecent_tail_tokens = 15000\nmax_project_tokens = 20000\n",
    )
    assert loaded.problems == ()
    assert loaded.settings.models.overrides["a/b"] == ModelOverride(
        context_window=200_000, safety_margin_tokens=9_000, recent_tail_tokens=15_000, max_project_tokens=20_000
    )
    assert loaded.sources["models.overrides.a/b"].kind == "project"


@pytest.mark.parametrize(
    ("user", "most"),
    [
        ("", 12_000),
        ("planning.recent_tail_tokens = 5000", 5_000),
        ('models.overrides."*".context_window = 128000', 24_000),
        ('models.overrides."a/b".context_window = 1000000\nplanning.recent_tail_tokens = 90000', 64_000),
        ('models.overrides."*".recent_tail_tokens = 30000', 30_000),
        ('models.overrides."*".recent_tail_tokens = 30000\nmodels.overrides."a/*".recent_tail_tokens = 20000', 20_000),
        ('models.overrides."a/b".recent_tail_tokens = 7\nmodels.overrides."a/*".recent_tail_tokens = 20000', 7),
        ('models.overrides."a/c".recent_tail_tokens = 30000', 12_000),
    ],
)
def test_a_project_may_not_raise_a_budget_above_what_holds_without_it(files: Files, user: str, most: int) -> None:
    assert files.problems(user, f"[{MODEL}]\nrecent_tail_tokens = {most}\n") == []
    (problem,) = files.problems(user, f"[{MODEL}]\nrecent_tail_tokens = {most + 1}\n")
    assert problem.startswith(
        f".ullage.toml:2: A project file may only lower models.overrides.a/b.recent_tail_tokens, here to {most} or less."
    )


@pytest.mark.parametrize(
    "line", ["context_window = 1", "safety_margin_tokens = 0", "token_estimator = 'chars-v1'", "input_price = 0"]
)
def test_a_project_may_say_nothing_else_of_a_model(files: Files, line: str) -> None:
    loaded = files.load(project=f"[{MODEL}]\n{line}\nmax_project_tokens = 5\n")
    assert loaded.settings.models.overrides == {"a/b": ModelOverride(max_project_tokens=5)}
    (problem,) = loaded.problems
    assert (problem.code, problem.source.line) == ("not_allowed", 2)


@given(
    user=st.dictionaries(
        st.sampled_from(["*", "a/*", "a/b", "b/*"]),
        st.fixed_dictionaries({}, optional={"recent_tail_tokens": st.integers(0, 99_000)}),
    ),
    value=st.integers(0, 100_000),
)
def test_what_a_project_is_let_say_is_never_more_than_the_user_said(
    user: dict[str, dict[str, int]], value: int
) -> None:
    below = {f"models.overrides.{key}": Choice(entry, Source(kind="user")) for key, entry in user.items()}
    said = [user[key]["recent_tail_tokens"] for key in ("*", "a/*", "a/b") if user.get(key)]
    refused = refuse_to_project("a/b", "recent_tail_tokens", value, below) is not None
    assert refused == (value > (said[-1] if said else 12_000))
