"""Where a request asks its provider to cache."""

from __future__ import annotations

import json
from typing import Any

from ullage.core.accounting.insights import find_marks
from ullage.core.wire import parse_request

MARK = {"cache_control": {"type": "ephemeral"}}
HOUR = {"cache_control": {"type": "ephemeral", "ttl": "1h"}}


def marks(**body: Any) -> list[tuple[str, int, str | None]]:
    request = parse_request(json.dumps({"model": "claude-opus-4-8", "max_tokens": 9, **body}).encode(), "anthropic")
    return [(mark.kind, mark.index, mark.ttl) for mark in find_marks(request)]


def test_marks_on_tools_system_blocks_and_blocks_of_messages_are_found_in_their_order() -> None:
    text = {"type": "text", "text": "x"}
    result = {"type": "tool_result", "tool_use_id": "1", "content": [{**text, **MARK}]}
    assert marks(
        tools=[{"name": "a", "input_schema": {}}, {"name": "b", "input_schema": {}, **MARK}],
        system=[text, {**text, **HOUR}],
        messages=[{"role": "user", "content": "Go."}, {"role": "user", "content": [result, {**text, **MARK}]}],
    ) == [("tool", 1, None), ("system", 1, "1h"), ("message", 1, None), ("message", 1, None)]


def test_a_property_of_that_name_is_no_mark() -> None:
    schema = {"type": "object", "properties": {"cache_control": {"type": "object"}}}
    words = {"role": "user", "content": 'say "cache_control"'}
    assert marks(tools=[{"name": "a", "input_schema": schema}], messages=[words]) == []


def test_a_mark_at_the_top_is_the_end_of_the_messages() -> None:
    messages = [{"role": "user", "content": "Go."}, {"role": "assistant", "content": "Yes."}]
    assert marks(messages=messages, **HOUR) == [("message", 1, "1h")]
    assert marks(messages=[], **HOUR) == []


def test_odd_marks_do_no_harm() -> None:
    odd = [{"type": "text", "text": "x", "cache_control": value} for value in (None, "yes", 7, {"ttl": 5})]
    assert marks(messages=[{"role": "user", "content": odd}]) == [("message", 0, None)]
