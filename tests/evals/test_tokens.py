"""Estimates against counts of providers."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from ullage.core.errors import InputError
from ullage.evals.token_tables import quality_table
from ullage.evals.tokens import evaluate, qualities, quality, quantile, read_case, score_case

REQUEST = {
    "provider": "openai",
    "model": "gpt-4o",
    "api": "openai-chat",
    "kind": "request",
    "payload": {"messages": [{"role": "user", "content": "Hello world"}]},
    "tokens": 9,
    "source": "a:b",
}
PING = {
    "type": "function",
    "name": "ping",
    "description": "Send a ping.",
    "parameters": {
        "type": "object",
        "properties": {"host": {"type": "string", "description": "Target host"}},
        "required": ["host"],
    },
}


def line(**changes: Any) -> bytes:
    return msgspec.json.encode({**REQUEST, **changes})


def test_a_request_is_estimated_by_its_payload_alone() -> None:
    scored = score_case(read_case(line()))
    assert (scored.estimate, scored.tokens, scored.error, scored.kind, scored.size) == (9, 9, 0.0, "text", "< 2k")
    assert scored.low <= 9 <= scored.high
    assert (scored.plain, scored.family, scored.source) == (3, "gpt-4o", "a:b")


def test_one_tool_is_its_net_cost_and_a_bare_text_its_tokens() -> None:
    tool = line(model="gpt-6-sol", api="openai-responses", kind="tool-delta", payload={"tools": [PING]}, tokens=21)
    text = line(
        provider="xai", model="grok-4.3", api="tokenize-text", kind="text", payload={"text": "Hello world"}, tokens=2
    )
    assert [(one.kind, one.error) for one in map(score_case, map(read_case, (tool, text)))] == [
        ("one tool", 0.0),
        ("bare text", 0.0),
    ]


@pytest.mark.parametrize(
    "bad",
    [
        b"{ not json",
        b"[1]",
        line(kind="component-sizes"),
        line(payload="text"),
        line(tokens=0),
        line(tokens=True),
        line(tokens="9"),
    ],
)
def test_a_line_that_is_no_case_says_why(bad: bytes) -> None:
    with pytest.raises(InputError):
        read_case(bad)


def test_bad_lines_are_named_and_the_rest_goes_on() -> None:
    evaluation = evaluate([line(), b"\n", b"{", line(api=None), line(api="morse"), line(tokens=10)])
    assert [one.tokens for one in evaluation.scored] == [9, 10]
    assert [one.line for one in evaluation.skipped] == [3, 4, 5]
    assert all(one.reason for one in evaluation.skipped)


def test_errors_are_summed_up_by_group() -> None:
    scored = evaluate([line(), line(tokens=10), line(tokens=12), line(provider="azure", tokens=9)]).scored
    azure, openai = qualities(scored, ("provider",))
    assert (azure.group, azure.cases, azure.exact, azure.covered) == ({"provider": "azure"}, 1, 1.0, 1.0)
    assert (openai.cases, openai.median, openai.p90) == (3, 0.1, 0.25)
    assert openai.bias == pytest.approx(27 / 31 - 1)
    assert openai.signed == -0.1
    assert quality(scored, {}).cases == 4


def test_a_quantile_is_a_value_that_is_there() -> None:
    assert [quantile([1.0, 2.0, 3.0, 4.0], share) for share in (0.0, 0.5, 0.75, 0.9, 1.0)] == [1.0, 2.0, 3.0, 4.0, 4.0]


def test_a_table_has_a_row_a_group_and_one_for_all() -> None:
    table = quality_table(evaluate([line(), line(tokens=10)]).scored, ("provider", "kind"))
    assert table.header[:3] == ("provider", "content", "n")
    assert [row[:3] for row in table.rows] == [("openai", "text", "2"), ("all", "", "2")]
