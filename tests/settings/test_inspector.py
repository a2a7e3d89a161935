"""The Pi inspector's files: accounting specification, sections 3.1, 4.3 and 14, and the examples of its document."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from ullage.core.profiles.heuristics import Defaults, Heuristics, Match, Profile, Rule, ToolShape
from ullage.settings.inspector import InspectorFile, find_inspector_files, merge_inspector_files, read_inspector_file

TEMPLATE = {"kind": "function", "fn": {"name": "$name", "description": "$description", "schema": "$schema"}}


def read(folder: Path, data: Any, name: str = "pi.json") -> InspectorFile:
    file = folder / name
    file.write_bytes(data if isinstance(data, bytes) else msgspec.json.encode(data))
    return read_inspector_file(file)


def notes(file: InspectorFile) -> list[str]:
    return [note.replace(f"{file.path}: ", "") for note in file.notes]


def test_files_are_looked_for_where_the_inspector_does_and_in_its_order() -> None:
    environ = {
        "PI_CONTEXTIMATE_CONFIG": "/a.json: ~/b.json :",
        "PI_PREFIX_INSPECTOR_CONFIG": "c.json",
    }
    assert find_inspector_files(environ, home=Path("/h"), cwd=Path("/w")) == [
        Path("/h/.pi/agent/pi-contextimate.json"),
        Path("/w/.pi/pi-contextimate.json"),
        Path("/h/.pi/agent/prefix-inspector.json"),
        Path("/w/.pi/prefix-inspector.json"),
        Path("/a.json"),
        Path("/h/b.json"),
        Path("/w/c.json"),
    ]


def test_profiles_defaults_and_rules_are_taken_over(tmp_path: Path) -> None:
    file = read(
        tmp_path,
        {
            "profiles": {
                "claude-48": {
                    "label": "Custom",
                    "textDenominator": 2.6,
                    "sessionDenominator": 2.5,
                    "toolDenominator": 2.4,
                    "toolNumerator": "anthropic",
                }
            },
            "defaults": {"profile": "claude-48", "toolDenominator": 5},
            "rules": [
                {"profile": "claude-48", "match": {"provider": "anthropic", "model": "*4-8*"}},
                {"label": "Proxy", "match": {"id": "x", "api": "openai-completions"}, "toolNumerator": "openai-chat"},
            ],
        },
    )
    assert file.notes == ()
    assert file.heuristics == Heuristics(
        profiles={
            "claude-48": Profile(
                label="Custom",
                text_denominator=2.6,
                session_denominator=2.5,
                tool_denominator=2.4,
                tool_numerator="anthropic",
            )
        },
        defaults=Defaults(profile="claude-48", tool_denominator=5),
        rules=(
            Rule(profile="claude-48", match=Match(provider="anthropic", model="*4-8*")),
            Rule(label="Proxy", match=Match(id="x", api="openai-completions"), tool_numerator="openai-chat"),
        ),
    )


@pytest.mark.parametrize("key", ["url", "referenceUrl"])
def test_shapes_are_taken_over(tmp_path: Path, key: str) -> None:
    shape = {"label": "Mine", "denominator": 4.8, key: "https://example.com", "template": TEMPLATE}
    file = read(tmp_path, {"toolShapes": {"mine": shape, "other": "anthropic"}})
    assert file.notes == ()
    assert file.heuristics.tool_shapes == {
        "mine": ToolShape(label="Mine", denominator=4.8, url="https://example.com", template=TEMPLATE),
        "other": ToolShape(shape="anthropic"),
    }


def test_older_spellings_are_understood(tmp_path: Path) -> None:
    file = read(
        tmp_path,
        {
            "defaultTextDenominator": 5,
            "defaultToolNumerator": "bedrock",
            "defaults": {"textDenominator": 6, "sessionDenominator": 7},
            "profiles": {"a": {"toolNumeratorShape": "gemini"}},
        },
    )
    merged = merge_inspector_files([file])
    assert merged.defaults == Defaults(text_denominator=5, session_denominator=7, tool_numerator="bedrock")
    assert merged.profiles["a"].tool_numerator == "gemini"


def test_a_shape_in_the_place_of_its_name_gets_one(tmp_path: Path) -> None:
    file = read(tmp_path, {"rules": [{"toolNumerator": {"label": "Here", "template": TEMPLATE}}]})
    assert file.heuristics.rules == (Rule(tool_numerator="inline-1"),)
    assert file.heuristics.tool_shapes == {"inline-1": ToolShape(label="Here", template=TEMPLATE)}


@pytest.mark.parametrize("number", [0, -1, "4", None, True, 1e9, [4]])
def test_a_denominator_that_is_none_is_left_out_and_named(tmp_path: Path, number: Any) -> None:
    file = read(tmp_path, {"profiles": {"a": {"label": "A", "textDenominator": number}}})
    assert file.heuristics.profiles == {"a": Profile(label="A")}
    assert notes(file) == ["profiles.a.textDenominator is no positive number"]


def test_everything_without_a_place_is_named(tmp_path: Path) -> None:
    file = read(
        tmp_path,
        {
            "defaultMode": "compact",
            "profiles": {"a": 3, "b": {"color": "red"}},
            "toolShapes": [],
            "defaults": {"label": "x"},
            "rules": [1, {"match": {"provider": 3, "region": "eu", "model": "/(/"}}, {"match": "all"}],
        },
    )
    assert notes(file) == [
        "defaultMode has no place here",
        "profiles.a is no object",
        "profiles.b.color has no place here",
        "toolShapes is no object",
        "defaults.label has no place here",
        "rules[0] is no object",
        "rules[1].match.region has no place here",
        "rules[1].match.provider is no text",
        "rules[1].match.model is an expression that cannot be used here, so its rule is left out: /(/",
        "rules[2].match is no object, so the rule is for everyone",
    ]
    assert file.heuristics.rules == (Rule(),)


def test_a_rule_that_can_never_match_is_left_out_with_all_that_is_in_it(tmp_path: Path) -> None:
    rules = [
        {"match": {"model": "/(a+)+$/"}, "toolNumerator": {"template": TEMPLATE}, "textDenominator": 3},
        {"match": {"provider": "x" * 201}, "textDenominator": 4},
        {"match": {"model": "/4-8/"}, "textDenominator": 5},
    ]
    file = read(tmp_path, {"rules": rules})
    assert file.heuristics == Heuristics(rules=(Rule(match=Match(model="/4-8/"), text_denominator=5),))
    assert [note.partition(" ")[0] for note in notes(file)] == ["rules[0].match.model", "rules[1].match.provider"]


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"{", "is not JSON: Input data was truncated"),
        (b"[]", "holds no JSON object"),
        (b"\xff", "is not JSON: JSON is malformed: invalid character (byte 0)"),
        (b" " * (1024 * 1024 + 1), "is larger than 1048576 bytes"),
    ],
)
def test_a_file_that_cannot_be_read_is_skipped_and_says_why(tmp_path: Path, content: bytes, reason: str) -> None:
    assert read(tmp_path, content).skipped == reason


def test_a_file_that_is_not_there_is_skipped(tmp_path: Path) -> None:
    assert read_inspector_file(tmp_path / "none.json").missing
    assert read_inspector_file(tmp_path).skipped == "cannot be read: Is a directory"


def test_lists_that_are_none_are_named(tmp_path: Path) -> None:
    assert notes(read(tmp_path, {"rules": {}, "defaults": 3})) == ["rules is no list", "defaults is no object"]


def test_later_files_override_by_key_and_name_and_append_their_rules(tmp_path: Path) -> None:
    first = read(
        tmp_path,
        {
            "defaultTextDenominator": 3,
            "defaults": {"textDenominator": 1, "sessionDenominator": 1},
            "profiles": {"a": {"label": "A", "textDenominator": 1}, "b": {"textDenominator": 1}},
            "toolShapes": {"s": "anthropic"},
            "rules": [{"textDenominator": 1}],
        },
        "1.json",
    )
    second = read(
        tmp_path,
        {
            "defaults": {"sessionDenominator": 2},
            "profiles": {"a": {"textDenominator": 2}},
            "toolShapes": {"s": "gemini"},
            "rules": [{"textDenominator": 2}],
        },
        "2.json",
    )
    assert merge_inspector_files([first, second]) == Heuristics(
        profiles={"a": Profile(text_denominator=2), "b": Profile(text_denominator=1)},
        tool_shapes={"s": ToolShape(shape="gemini")},
        defaults=Defaults(text_denominator=3, session_denominator=2),
        rules=(Rule(text_denominator=1), Rule(text_denominator=2)),
    )
