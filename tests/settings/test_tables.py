"""Profiles, tool shapes and rules in settings files: accounting specification, sections 3.1, 4.3 and 14."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ullage.cli.config.toml_text import toml_key, toml_value
from ullage.core.profiles.heuristics import Defaults, Match, Profile, Rule, ToolShape
from ullage.settings import Loaded, Source, check_file, load_settings
from ullage.settings.layers import Entry, Layer
from ullage.settings.load import resolve
from ullage.settings.paths import find_paths
from ullage.settings.toml_file import TomlError, parse_toml

TEXT = """
[accounting.defaults]
profile = "claude-4.8"
text_denominator = 9

[accounting.profiles."claude-4.8"]
label = "Custom calibration"
text_denominator = 2.6
session_denominator = 2.6
tool_denominator = 2.6
tool_numerator = "anthropic"

[accounting.tool_shapes.my-tools]
label = "My tool payload"
denominator = 4.8
url = "https://example.com/tools"
[accounting.tool_shapes.my-tools.template]
kind = "function"
fn = { name = "$name", description = "$description", schema = "$schema" }

[[accounting.rules]]
profile = "claude-4.8"
match = { provider = "anthropic", model = "*4-8*" }

[[accounting.rules]]
label = "My proxy"
tool_numerator = "my-tools"
[accounting.rules.match]
provider = "my-proxy"
api = "openai-completions"
"""


NEVER = "is an expression that cannot be used, so its rule never matches. Use a name or a glob, as claude-*."


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / ".config" / "ullage").mkdir(parents=True)
    return tmp_path


def load(folder: Path, user: str = "", project: str = "") -> Loaded:
    (folder / ".config" / "ullage" / "config.toml").write_text(user)
    (folder / ".ullage.toml").write_text(project)
    return load_settings(environ={"HOME": str(folder)}, cwd=folder)


def problems_of(folder: Path, text: str) -> list[str]:
    problems = load(folder, text).problems
    return [str(problem).replace(f"{folder}/.config/ullage/config.toml:", "") for problem in problems]


def test_everything_can_be_said_in_a_file(folder: Path) -> None:
    loaded = load(folder, TEXT)
    accounting = loaded.settings.accounting
    assert loaded.problems == ()
    assert accounting.defaults == Defaults(profile="claude-4.8", text_denominator=9)
    assert accounting.profiles["claude-4.8"] == Profile(
        label="Custom calibration",
        text_denominator=2.6,
        session_denominator=2.6,
        tool_denominator=2.6,
        tool_numerator="anthropic",
    )
    assert accounting.tool_shapes["my-tools"] == ToolShape(
        label="My tool payload",
        denominator=4.8,
        url="https://example.com/tools",
        template={
            "kind": "function",
            "fn": {"name": "$name", "description": "$description", "schema": "$schema"},
        },
    )
    assert accounting.rules == (
        Rule(profile="claude-4.8", match=Match(provider="anthropic", model="*4-8*")),
        Rule(
            label="My proxy",
            tool_numerator="my-tools",
            match=Match(provider="my-proxy", api="openai-completions"),
        ),
    )


def test_every_member_names_the_line_of_its_first_value(folder: Path) -> None:
    sources = load(folder, TEXT).sources
    assert sources["accounting.defaults.text_denominator"].line == 4
    assert sources["accounting.profiles.claude-4.8"].line == 7
    assert sources["accounting.tool_shapes.my-tools"].line == 14
    assert [sources[f"accounting.rules[{number}]"].line for number in (0, 1)] == [22, 26]


def test_all_of_it_can_be_written_inline(folder: Path) -> None:
    text = """
[accounting]
profiles = { a = { text_denominator = 2 }, b = {} }
tool_shapes.t = { template = ["$name", { x = "$schema" }], shape = "anthropic" }
rules = [{ profile = "a", match = { model = "m" } }, {}]
defaults.tool_numerator = "t"
"""
    loaded = load(folder, text)
    accounting = loaded.settings.accounting
    assert loaded.problems == ()
    assert accounting.profiles == {"a": Profile(text_denominator=2), "b": Profile()}
    assert accounting.tool_shapes["t"].template == ["$name", {"x": "$schema"}]
    assert accounting.rules == (Rule(profile="a", match=Match(model="m")), Rule())
    assert accounting.defaults.tool_numerator == "t"


def test_a_template_may_have_arrays_of_tables(folder: Path) -> None:
    header = "[[accounting.tool_shapes.t.template.parts]]"
    text = f"{header}\na = 1\n{header}\nb.c = 2\n"
    assert load(folder, text).settings.accounting.tool_shapes["t"].template == {"parts": [{"a": 1}, {"b": {"c": 2}}]}


def test_a_project_s_members_replace_by_name_and_its_rules_come_last(folder: Path) -> None:
    project = """
[accounting.defaults]
session_denominator = 8
[accounting.profiles."claude-4.8"]
text_denominator = 5
[accounting.profiles.other]
text_denominator = 6
[[accounting.rules]]
text_denominator = 7
"""
    loaded = load(folder, TEXT, project)
    accounting = loaded.settings.accounting
    assert loaded.problems == ()
    assert accounting.defaults == Defaults(profile="claude-4.8", text_denominator=9, session_denominator=8)
    assert accounting.profiles == {"claude-4.8": Profile(text_denominator=5), "other": Profile(text_denominator=6)}
    assert [rule.text_denominator for rule in accounting.rules] == [None, None, 7]
    assert loaded.sources["accounting.rules[2]"].kind == "project"
    assert loaded.sources["accounting.profiles.claude-4.8"].kind == "project"


def test_a_project_may_not_choose_the_estimator(folder: Path) -> None:
    (problem,) = load(folder, project='accounting.estimator = "inspector-v1"\n').problems
    assert (problem.code, problem.key) == ("not_allowed", "accounting.estimator")


@pytest.mark.parametrize("number", ["0", "-2.6", "inf", "nan", "'2.6'", "true", "[]", "1e9"])
def test_a_denominator_that_is_none_is_dropped_alone(folder: Path, number: str) -> None:
    text = f"[accounting.profiles.a]\nlabel = 'A'\ntext_denominator = {number}\n"
    loaded = load(folder, text)
    assert loaded.settings.accounting.profiles == {"a": Profile(label="A")}
    (problem,) = loaded.problems
    assert (problem.key, problem.source.line) == ("accounting.profiles.a.text_denominator", 3)
    assert "must be a number above 0" in problem.message


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "[accounting.profiles.a]\ntext_denominater = 3",
            "2: accounting.profiles.a.text_denominater is not a setting. Did you mean text_denominator?",
        ),
        (
            "[accounting.tool_shapes.t]\nzzz = 3",
            f"2: accounting.tool_shapes.t.zzz is not a setting. Known are {', '.join(ToolShape.__struct_fields__)}.",
        ),
        (
            "accounting.profiles = 3",
            "1: accounting.profiles is a table, not a value. Write [accounting.profiles.NAME] and its keys below it.",
        ),
        (
            "accounting.profiles.a = 3",
            "1: accounting.profiles.a is a table, not a value. Write [accounting.profiles.NAME] and its keys below it.",
        ),
        (
            "[[accounting.profiles]]\nlabel = 'x'",
            "2: accounting.profiles[].label is a table, not a value. Write [accounting.profiles.NAME] and its keys below it.",
        ),
        (
            "[accounting.rules]\nmatch.model = 'x'",
            "2: accounting.rules.match.model is a table, not a value. Write [[accounting.rules]] and its keys below it.",
        ),
        (
            "accounting.rules = [1]",
            "1: accounting.rules is a table, not a value. Write [[accounting.rules]] and its keys below it.",
        ),
        (
            "[accounting.profile.a]\nlabel = 'x'",
            "2: accounting.profile.a.label is not a setting. Did you mean accounting.profiles?",
        ),
        (
            "[[accounting.rules]]\nprofile = 'gone'",
            "2: accounting.rules[0] names a profile 'gone' that is not there. Write [accounting.profiles.gone].",
        ),
        (
            "accounting.defaults.profile = 'gone'",
            "1: accounting.defaults.profile names a profile 'gone' that is not there. Write [accounting.profiles.gone].",
        ),
        (
            "[[accounting.rules]]\nmatch.model = '/(/'",
            f"2: accounting.rules[].match.model {NEVER}",
        ),
    ],
)
def test_what_is_wrong_is_named_with_its_line_and_what_would_do(folder: Path, text: str, said: str) -> None:
    assert problems_of(folder, text) == [said]


def test_a_rule_whose_match_cannot_be_read_is_not_used_for_everyone(folder: Path) -> None:
    text = (
        "[[accounting.rules]]\ntext_denominator = 3\nmatch.modell = 'x'\n[[accounting.rules]]\ntext_denominator = 4\n"
    )
    loaded = load(folder, text)
    assert [rule.text_denominator for rule in loaded.settings.accounting.rules] == [4]
    assert [problem.key for problem in loaded.problems] == ["accounting.rules[].match.modell"]


@pytest.mark.parametrize("match", ["match = 3", "match = 'claude-*'", "match = []", "match.model = 3"])
def test_a_match_that_is_none_makes_no_rule_for_everyone(folder: Path, match: str) -> None:
    loaded = load(folder, f"[[accounting.rules]]\ntext_denominator = 3\n{match}\n")
    assert loaded.settings.accounting.rules == ()
    assert len(loaded.problems) == 1


@pytest.mark.parametrize(
    "text",
    [
        "[[accounting.rules]]\ntext_denominator = 3\nmatch = {}\n",
        "[[accounting.rules]]\ntext_denominator = 3\n[accounting.rules.match]\n",
        "accounting.rules = [{ text_denominator = 3, match = {} }]\n",
    ],
)
def test_a_match_without_patterns_is_for_everyone(folder: Path, text: str) -> None:
    loaded = load(folder, text)
    assert loaded.problems == ()
    assert loaded.settings.accounting.rules == (Rule(text_denominator=3),)


NAMES = st.sampled_from(
    ["profiles", "tool_shapes", "rules", "defaults", "label", "template", "match", "model", "a.b", "x"]
)
VALUES = st.recursive(
    st.one_of(st.integers(-5, 5), st.floats(allow_nan=False), st.booleans(), st.sampled_from(["", "a", "/(/"])),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(NAMES, inner, max_size=3)),
    max_leaves=12,
)


@given(st.dictionaries(NAMES, VALUES, max_size=4))
def test_whatever_is_written_there_is_used_or_named(accounting: dict[str, Any]) -> None:
    text = "".join(f"accounting.{toml_key(name)} = {toml_value(value)}\n" for name, value in accounting.items())
    try:
        entries = parse_toml(text)
    except TomlError:
        return
    source = Source(kind="user", file="f", line=1)
    layer = Layer(
        kind="user",
        entries=tuple(Entry(key=e.key, value=e.value, source=source, base=Path("/"), path=e.path) for e in entries),
    )
    loaded = resolve([layer], find_paths({"HOME": "/nowhere"}, cwd=Path("/nowhere")))
    assert all(str(problem) for problem in loaded.problems)


def test_an_expression_that_is_not_understood_stays_and_never_matches(folder: Path) -> None:
    (rule,) = load(folder, "[[accounting.rules]]\nmatch.model = '/(/'\n").settings.accounting.rules
    assert rule.match.model == "/(/"


def test_defaults_come_from_the_environment_too(folder: Path) -> None:
    variables = {"HOME": str(folder), "ULLAGE_ACCOUNTING__DEFAULTS__TEXT_DENOMINATOR": "3.3"}
    assert load_settings(environ=variables, cwd=folder).settings.accounting.defaults.text_denominator == 3.3


def test_a_file_alone_is_checked_for_them(folder: Path) -> None:
    file = folder / ".ullage.toml"
    file.write_text("[accounting.profiles.a]\ntext_denominator = 0\n[[accounting.rules]]\nlabel = 'x'\n")
    assert [problem.key for problem in check_file(file)] == ["accounting.profiles.a.text_denominator"]


def test_what_is_told_of_a_file_does_not_drive_a_terminal(folder: Path) -> None:
    (said,) = problems_of(folder, '[accounting.profiles."\\u001b[31m"]\nzzz = 1\n')
    assert said.startswith("2: accounting.profiles.·[31m.zzz is not a setting")
