"""The table of the planner specification, section 6, for both estimators that share its wrappers."""

from __future__ import annotations

import pytest

from ullage.core.tokens import estimate_message, estimate_system, estimate_tool, get_estimator

CHARS = get_estimator("chars-v1")
O200K = get_estimator("o200k-base-v1")
IMAGE = {"type": "image", "data": "aGVsbG8=", "mimeType": "image/png"}
CALL = {"type": "toolCall", "id": "c1", "name": "read", "arguments": {"path": "a.ts"}}


@pytest.mark.parametrize(
    ("message", "tokens"),
    [
        pytest.param({"role": "user", "content": "Hello world"}, 12, id="text"),
        pytest.param({"role": "user", "content": "x" * 404}, 110, id="404 characters"),
        pytest.param({"role": "user", "content": ""}, 9, id="empty content"),
        pytest.param(
            {"role": "assistant", "content": [{"type": "text", "text": "Hello world"}]}, 18, id="one text block"
        ),
        pytest.param({"role": "assistant", "content": [CALL]}, 20, id="one tool call"),
        pytest.param(
            {"role": "toolResult", "toolName": "read", "content": [{"type": "text", "text": "ok"}]},
            17,
            id="tool result",
        ),
        pytest.param({"role": "user", "content": [IMAGE]}, 1037, id="one image"),
        pytest.param({"role": "user", "content": ["ok"]}, 8 + 1 + 1, id="an element that is no object"),
        pytest.param({"role": "user", "content": [{"type": "x"}]}, 8 + 1 + 3 + 4, id="an unknown block"),
        pytest.param({"role": "user", "content": 12}, 8 + 1 + 1, id="content that is a number"),
        pytest.param("hi", 8 + 1, id="a message that is no object"),
        pytest.param(
            {"role": "bashExecution", "command": "ls", "output": "a.ts"}, 8 + 4 + 1 + 1, id="command and output"
        ),
        pytest.param(
            {"role": "assistant", "content": [{"type": "thinking", "thinking": "hmm"}]}, 8 + 3 + 1 + 4, id="thinking"
        ),
    ],
)
def test_chars_v1_counts_a_message_as_the_specification_does(message: object, tokens: int) -> None:
    assert estimate_message(message, CHARS) == tokens


def test_plain_text_counts_three_by_characters_and_two_by_vocabulary() -> None:
    assert CHARS.text("Hello world") == 3
    assert O200K.text("Hello world") == 2


def test_the_vocabulary_changes_only_the_text_not_the_wrapper() -> None:
    message = {"role": "user", "content": "Hello world"}
    assert estimate_message(message, O200K) == 8 + O200K.text("user") + 2


def test_a_system_prompt_costs_eight_more_than_its_text_and_an_empty_one_nothing() -> None:
    assert estimate_system("Hello world", CHARS) == 11
    assert estimate_system("", CHARS) == 0


def test_a_tool_is_counted_as_json_with_sorted_keys_plus_twelve() -> None:
    tool = '{"description":"d","name":"n","parameters":{"a":1,"b":2}}'
    assert estimate_tool("n", "d", {"b": 2, "a": 1}, CHARS) == CHARS.text(tool) + 12


def test_inline_image_data_never_counts_as_text() -> None:
    heavy = {**IMAGE, "data": "A" * 100_000}
    assert estimate_message({"role": "user", "content": [heavy]}, CHARS) == 1037
