"""What was counted once is not read again, however often a client sends it (design: work is proportional to what is new)."""

from __future__ import annotations

import gc
from collections import Counter
from typing import Any

import pytest

from tests.engine.observing import Bench, asked, recorded
from ullage.core.accounting import make_meter
from ullage.core.wire import DIALECTS, Dialect, parse_request
from ullage.engine import measuring
from ullage.engine.measuring import Measuring
from ullage.testing import make_request, make_tools, make_turns

READERS = ("read_system", "read_tool", "read_message", "canonical_hash")


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often each reader of slices was called."""
    counter: Counter[str] = Counter()
    for name in READERS:
        original = getattr(measuring, name)

        def counting(*arguments: Any, name: str = name, original: Any = original) -> Any:
            counter[name] += 1
            return original(*arguments)

        monkeypatch.setattr(measuring, name, counting)
    return counter


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_request_with_one_new_message_reads_that_message_alone(dialect: Dialect, reads: Counter[str]) -> None:
    turns = make_turns(41, 200)
    with Bench() as bench:
        for count in (39, 41):
            request = make_request(dialect, turns=turns[:count], tools=make_tools(12), system="Be brief.")
            bench.ask(asked(request.path, request.body))
            first = count == 39
            assert reads["read_message"] == (39 + (dialect == "openai-chat") if first else 2)
            assert reads["canonical_hash"] == reads["read_message"] + reads["read_system"]
            assert reads["read_tool"] == (12 if first else 0)
            assert reads["read_system"] == (0 if dialect == "openai-chat" or not first else 1)
            reads.clear()


def test_a_real_client_pays_for_what_it_changed_alone(reads: Counter[str]) -> None:
    first, tool_result = recorded("claude-code-2.1.332", "first", "tool-result")
    with Bench() as bench:
        bench.ask(first)
        reads.clear()
        bench.ask(tool_result)
    # The system message went from a list to a string; call and result are new.
    assert reads["read_message"] <= 4
    assert reads["read_tool"] == 0


def test_the_same_slice_is_counted_anew_for_another_meter(reads: Counter[str]) -> None:
    body = make_request("anthropic", turns=make_turns(3, 50)).body
    conversation = parse_request(body, "anthropic")
    measured = Measuring()
    for model in ("claude-opus-4-8", "claude-opus-4-8", "gpt-5.5"):
        meter = make_meter(dialect="anthropic", provider="anthropic", model=model, client=None)
        measured.measure(conversation, meter)
    assert reads["read_message"] == 6


def test_measures_are_the_same_from_memory_as_at_first_sight() -> None:
    request = make_request("openai-responses", turns=make_turns(5, 300), tools=make_tools(3), system="Be brief.")
    conversation = parse_request(request.body, "openai-responses")
    meter = make_meter(dialect="openai-responses", provider="openai", model="gpt-5.5", client=None)
    measured = Measuring()
    first, again = measured.measure(conversation, meter), measured.measure(conversation, meter)
    assert first == again == Measuring().measure(conversation, meter)
    assert [len(part) for part in first] == [1, 3, 5]


def test_what_is_remembered_is_no_work_for_the_garbage_collector() -> None:
    """A collection holds the interpreter for as long as it takes to look at everything that is tracked."""
    request = make_request("anthropic", turns=make_turns(3, 50), tools=make_tools(2), system="Be brief.")
    meter = make_meter(dialect="anthropic", provider="anthropic", model="claude-opus-4-8", client=None)
    measured = Measuring().measure(parse_request(request.body, "anthropic"), meter)
    measures = [measure for part in measured for measure in part]
    gc.collect()  # tuples of untracked values are let go at the first sight
    assert not [
        each for measure in measures for each in (measure, measure.entries, *measure.entries) if gc.is_tracked(each)
    ]


def test_weights_are_the_wrapper_arithmetic_of_the_planner() -> None:
    """Planner specification, section 6: user, "Hello world" = 8 + 1 + 3, and 4 for a text block."""
    body = b'{"model":"m","messages":[{"role":"user","content":"Hello world"}]}'
    conversation = parse_request(body, "openai-chat")
    meter = make_meter(dialect="openai-chat", provider="openai", model="m", client=None, estimator="chars-v1")
    measuring = Measuring()
    weights = measuring.weigh(conversation, meter)
    assert weights.messages == (16,)
    assert weights.total == 16
    assert measuring.weigh(conversation, meter) == weights


def test_what_a_router_asks_of_each_message_is_asked_of_new_ones_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    looked_at: list[str] = []
    for name in ("may_step", "without_thinking"):
        original = getattr(measuring, name)

        def counting(piece: Any, *more: Any, name: str = name, original: Any = original) -> Any:
            looked_at.append(name)
            return original(piece, *more)

        monkeypatch.setattr(measuring, name, counting)
    turns = make_turns(41, 50)
    measured = Measuring()
    for count in (39, 41):
        looked_at.clear()
        conversation = parse_request(make_request("anthropic", turns=turns[:count]).body, "anthropic")
        assert measured.steps(conversation) == ()
        assert measured.thinking(conversation, measured.facts(conversation)) == ()
    assert Counter(looked_at) == {"may_step": 2, "without_thinking": 1}


@pytest.mark.parametrize("dialect", DIALECTS)
def test_messages_that_lose_something_without_their_thinking_are_known(dialect: Dialect) -> None:
    raw = {
        "anthropic": b'{"messages":[{"role":"user","content":"a"},{"role":"assistant","content":[{"type":"thinking",'
        b'"thinking":"t","signature":"s"},{"type":"text","text":"b"}]},{"role":"user","content":"@again-high c"}]}',
        "openai-chat": b'{"messages":[{"role":"user","content":"a"},{"role":"assistant","reasoning_content":"t",'
        b'"content":"b"},{"role":"user","content":"@again-high c"}]}',
        "openai-responses": b'{"input":[{"role":"user","content":"a"},{"role":"assistant","id":"m","content":"b"},'
        b'{"role":"user","content":"@again-high c"}]}',
        "gemini": b'{"contents":[{"role":"user","parts":[{"text":"a"}]},{"role":"model","parts":[{"text":"t",'
        b'"thought":true},{"text":"b"}]},{"role":"user","parts":[{"text":"@again-high c"}]}]}',
    }[dialect]
    conversation = parse_request(raw, dialect, path_model="m", path_stream=False)
    measured = Measuring()
    assert measured.thinking(conversation, measured.facts(conversation)) == (1,)
    assert measured.steps(conversation) == (2,)
