"""Custom templates: accounting specification, section 3.1."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from tests.core.accounting.tools import PING
from ullage.core.accounting.heuristics.templates import fill_template, read_template

TOLD = replace(PING, source="user · auto · top-level · ~/ping.ts", guidelines=("Ping once.",))


def filled(template: Any, spec: Any = TOLD) -> Any:
    return fill_template(template, spec, spec.description)


@pytest.mark.parametrize(
    ("placeholder", "value"),
    [
        ("$name", "ping"),
        ("$description", "Send a ping."),
        ("$schema", PING.parameters),
        ("$parameters", PING.parameters),
        ("$source", "user · auto · top-level · ~/ping.ts"),
        ("$parameterKeys", ["host"]),
        ("$promptGuidelines", ["Ping once."]),
        ("$strict", None),
        ("$unknown", "$unknown"),
    ],
)
def test_a_text_that_is_a_placeholder_becomes_the_value(placeholder: str, value: Any) -> None:
    assert filled(placeholder) == value
    assert filled({"a": [placeholder]}) == {"a": [value]}


def test_names_in_braces_are_replaced_inside_longer_texts() -> None:
    assert filled("tool {{name}}: {{description}} ({{source}}) {{schema}}") == (
        "tool ping: Send a ping. (user · auto · top-level · ~/ping.ts) {{schema}}"
    )


def test_what_a_tool_says_is_not_filled_in_again() -> None:
    assert filled("{{name}}", replace(PING, name="{{description}}")) == "{{description}}"


def test_keys_and_other_values_stay_as_they_are() -> None:
    assert filled({"$name": [1, True, None, 2.5]}) == {"$name": [1, True, None, 2.5]}


def test_a_tool_of_which_nothing_is_told_is_filled_with_what_there_is() -> None:
    bare = replace(PING, parameters=None)
    assert filled(["$schema", "$parameterKeys", "$promptGuidelines", "$source"], bare) == [None, [], [], "unknown"]


def test_a_template_may_be_json_in_a_text() -> None:
    assert read_template('{"a": null}') == {"a": None}
    assert read_template({"a": 1}) == {"a": 1}
    assert read_template("$name") == "$name"
    assert read_template(None) is None
