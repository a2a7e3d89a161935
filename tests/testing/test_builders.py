"""Built requests are what clients send, and the same every time."""

from __future__ import annotations

import pytest

from ullage.core.wire import DIALECTS, Dialect
from ullage.testing import Exchange, make_prose, make_request, make_tools, make_turns, path_of
from ullage.testing.dialects import DIALECT_MODULES


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_request_holds_what_it_was_built_from(dialect: Dialect) -> None:
    request = make_request(
        dialect, turns=("One?", Exchange(), "One.", "Two?"), tools=make_tools(3), system="Be brief.", extra={"x": 1}
    )
    prompt = DIALECT_MODULES[dialect].read(request.payload, "fake-large", None)
    assert [tool.name for tool in prompt.tools] == ["bash", "tool_1", "tool_2"]
    assert prompt.user_text == "Two?"
    assert b"Be brief." in request.body
    assert b"README.md" in request.body
    assert request.payload["x"] == 1
    assert prompt.model == "fake-large"


@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_same_call_makes_the_same_bytes(dialect: Dialect) -> None:
    assert make_request(dialect, turns=make_turns(9, 300)) == make_request(dialect, turns=make_turns(9, 300))


@pytest.mark.parametrize("chars", [0, 1, 7, 1_000, 100_000])
def test_prose_has_exactly_the_length_asked_for(chars: int) -> None:
    assert len(make_prose(chars)) == chars


def test_prose_differs_by_its_seed() -> None:
    assert len({make_prose(200, seed) for seed in range(500)}) == 500


def test_turns_are_distinct_texts_of_one_length() -> None:
    turns = make_turns(50, 120)
    assert ({len(turn) for turn in turns}, len(set(turns))) == ({120}, 50)


def test_marks_stand_on_tools_system_and_the_last_block() -> None:
    request = make_request("anthropic", system="s", tools=make_tools(2), turns=("a", "b", "c"), marks=True)
    assert request.body.count(b"cache_control") == 3
    assert "cache_control" in request.payload["messages"][-1]["content"][-1]


def test_gemini_names_model_and_stream_in_the_path() -> None:
    assert path_of("gemini", model="g", stream=True) == "/v1beta/models/g:streamGenerateContent?alt=sse"
    assert path_of("gemini", model="g") == "/v1beta/models/g:generateContent"
