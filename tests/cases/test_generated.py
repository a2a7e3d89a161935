"""Other requests of the kinds of the twelve cases, made at random in all dialects, through the library."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ullage
from tests.conversations import LISTS, Talk, talks
from tests.strategies import dialects
from ullage.core.wire import DIALECTS, Dialect
from ullage.testing.strict import find_refusal

from .checks import CHECKS, Case, Judged, Outcome
from .doors import ESTIMATOR, PROFILE, by_library

relaxed = settings(deadline=None, max_examples=60)
thorough = settings(deadline=None, max_examples=200)

ALWAYS = (
    "group_whole",
    "no_invented_result",
    "no_orphan_call",
    "no_orphan_reasoning",
    "no_orphan_result",
    "no_partial_thinking",
    "order_preserved",
    "pin_kept_verbatim",
    "valid_json",
    "within_budget",
)


class Made(NamedTuple):
    """A conversation, and what its plan is made within."""

    talk: Talk
    case: Case


@st.composite
def made(draw: st.DrawFn, *, pins: bool = False) -> Made:
    talk = draw(dialects.flatmap(talks))
    pinned = draw(st.lists(st.integers(0, len(talk.spoken) - 1), max_size=2, unique=True)) if pins else []
    pointers = [f"/{LISTS[talk.dialect]}/{index}" for index in pinned]
    budget = {"scope": draw(st.sampled_from(["messages", "request"])), "pins": pointers}
    return Made(talk, Case(id="made", kind="made", protocol=talk.dialect, request=talk.body, budget=budget))


limits = st.one_of(st.integers(0, 400), st.integers(0, 2_500))


@given(made(pins=True), limits)
@thorough
def test_what_holds_of_the_cases_holds_of_others(drawn: Made, limit: int) -> None:
    judged = Judged(drawn.case, by_library(drawn.case, limit))
    if judged.outcome.status in ("emergency", "fallback"):
        return
    for check in ALWAYS:
        CHECKS[check](judged)


@given(made(), limits)
@thorough
def test_what_a_provider_takes_it_takes_when_planned(drawn: Made, limit: int) -> None:
    outcome = by_library(drawn.case, limit)
    taken = find_refusal(drawn.talk.dialect, drawn.case.request) is None
    if taken and outcome.sent is not None:
        assert find_refusal(drawn.talk.dialect, json.loads(outcome.sent)) is None


@given(made(), limits)
@thorough
def test_the_request_of_the_user_and_the_newest_exchange_stay(drawn: Made, limit: int) -> None:
    """`lost-task` and `in-flight`: design, section 11."""
    outcome = by_library(drawn.case, limit)
    assert drawn.talk.mandatory <= set(outcome.kept)
    if outcome.refused:
        assert outcome.error is not None


@given(made())
@relaxed
def test_a_request_that_fits_is_not_touched(drawn: Made) -> None:
    """`silent-no-op`."""
    judged = Judged(drawn.case, by_library(drawn.case, 10**6))
    for check in ("identical_output", "no_message_removed"):
        CHECKS[check](judged)


@given(made(pins=True), limits, st.data())
@relaxed
def test_a_smaller_limit_keeps_no_more(drawn: Made, limit: int, data: st.DataObject) -> None:
    smaller = by_library(drawn.case, data.draw(st.integers(0, limit)))
    larger = by_library(drawn.case, limit)
    if smaller.status in ("managed", "unchanged") and larger.status in ("managed", "unchanged"):
        assert len(smaller.kept) <= len(larger.kept)


PICTURES: dict[Dialect, Any] = {
    "openai-chat": lambda data: {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{data}"}},
    "openai-responses": lambda data: {"type": "input_image", "image_url": f"data:image/png;base64,{data}"},
    "anthropic": lambda data: {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}},
    "gemini": lambda data: {"inlineData": {"mimeType": "image/png", "data": data}},
}


def pictured(dialect: Dialect, data: str | None) -> Case:
    """A request with a picture in what the user says, or without."""
    picture = [] if data is None else [PICTURES[dialect](data)]
    kind = {"openai-responses": {"type": "input_text"}, "gemini": {}}.get(dialect, {"type": "text"})
    content = [{**kind, "text": "See here."}, *picture]
    message = {"role": "user", "parts" if dialect == "gemini" else "content": content}
    return Case(
        id="p", kind="count-image", protocol=dialect, request={LISTS[dialect]: [message]}, budget={"scope": "messages"}
    )


@pytest.mark.parametrize("dialect", DIALECTS)
@given(length=st.integers(1, 3_000), factor=st.integers(2, 10))
@relaxed
def test_a_picture_costs_what_it_shows_and_not_what_it_weighs(dialect: Dialect, length: int, factor: int) -> None:
    """`count-image`; regressions R37 and R38."""
    small, large, none = (
        by_library(pictured(dialect, data), 10**6).tokens for data in ("A" * length, "A" * length * factor, None)
    )
    assert none < small == large < none + 3_000


CLUSTERS = st.lists(
    st.sampled_from(["🇩🇪", "e\u0301", "漢字", "👩‍💻", "🦊", "ok ", "\n", "한국", "नमस्ते", "👍🏽", "\\n", '"', "\u200b"]),
    min_size=400,
    max_size=900,
).map("".join)


@pytest.mark.parametrize("dialect", DIALECTS)
@given(text=CLUSTERS, limit=st.integers(50, 1_500))
@relaxed
def test_an_excerpt_is_whole_characters_and_says_what_is_missing(dialect: Dialect, text: str, limit: int) -> None:
    """`unicode`."""
    case = with_result(dialect, text)
    outcome = by_library(case, limit)
    if outcome.replaced:
        shown = json.dumps(json.loads(outcome.sent or b""), ensure_ascii=False)
        assert "characters of this result are omitted" in shown
    if dialect != "gemini":  # where a result is an object, not a text
        for check in ("well_formed_text", "valid_json", "marks_omission", "group_whole", "within_budget"):
            CHECKS[check](Judged(case, outcome))


def with_result(dialect: Dialect, text: str) -> Case:
    call, result = {
        "openai-chat": (
            {"role": "assistant", "content": None, "tool_calls": [
                {"id": "a", "type": "function", "function": {"name": "read", "arguments": "{}"}}]},
            {"role": "tool", "tool_call_id": "a", "content": text},
        ),
        "openai-responses": (
            {"type": "function_call", "call_id": "a", "name": "read", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "a", "output": text},
        ),
        "anthropic": (
            {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "read", "input": {}}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": text}]},
        ),
        "gemini": (
            {"role": "model", "parts": [{"functionCall": {"name": "read", "args": {}}}]},
            {"role": "user", "parts": [{"functionResponse": {"name": "read", "response": {"output": text}}}]},
        ),
    }[dialect]  # fmt: skip
    said = [
        {"role": "user", "parts": [{"text": word}]} if dialect == "gemini" else {"role": "user", "content": word}
        for word in ("Read.", "And?")
    ]
    body = {LISTS[dialect]: [said[0], call, result, said[1]]}
    return Case(id="u", kind="unicode", protocol=dialect, request=body, budget={"scope": "messages", "excerpts": True})


@given(made())
@settings(deadline=None, max_examples=10)
def test_the_same_request_has_the_same_plan_a_hundred_times(drawn: Made) -> None:
    conversation = ullage.parse_request(json.dumps(drawn.case.request).encode(), drawn.talk.dialect)
    plans = {
        repr(ullage.plan(conversation, PROFILE, input_limit=300, scope="messages", estimator=ESTIMATOR))
        for _ in range(100)
    }
    assert len(plans) == 1


def test_an_outcome_that_is_refused_has_no_body() -> None:
    case = with_result("anthropic", "x")
    outcome = by_library(case, 0)
    assert isinstance(outcome, Outcome)
    assert (outcome.status, outcome.sent) == ("refused", None)
