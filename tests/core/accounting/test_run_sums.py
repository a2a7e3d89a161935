from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ullage.core.accounting import Breakdown, Section, account, assemble, make_meter, measure_message, run_sums
from ullage.core.accounting.assemble import message_entries
from ullage.core.accounting.run_sums import RUN, is_shown
from ullage.core.accounting.sections import SESSION, make_sections
from ullage.core.content import Context, Message, Part

from .test_assemble import MODELS, contexts, messages

CONVERSATIONS = st.lists(messages, max_size=12).map(lambda drawn: Context(messages=tuple(drawn)))


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(contexts | CONVERSATIONS, st.sampled_from(MODELS), st.integers(1, 5))
def test_in_runs_of_any_length_messages_add_up_to_the_same(
    monkeypatch: pytest.MonkeyPatch, context: Context, target: tuple[str, str | None, str], length: int
) -> None:
    dialect, provider, model = target
    meter = make_meter(dialect=dialect, provider=provider, model=model, client=None)
    at_once = account(context, meter)
    with monkeypatch.context() as patch:
        patch.setattr(run_sums, "RUN", length)
        assert account(context, meter) == at_once


@settings(max_examples=150, deadline=None)
@given(CONVERSATIONS, st.sampled_from(MODELS))
def test_added_up_messages_make_the_rows_that_they_make_one_by_one(
    context: Context, target: tuple[str, str | None, str]
) -> None:
    dialect, provider, model = target
    meter = make_meter(dialect=dialect, provider=provider, model=model, client=None)
    measures = [measure_message(message, meter) for message in context.messages]
    one_by_one = [entry for entries in message_entries(meter, measures) for entry in entries if is_shown(entry)]
    summed = assemble(meter, system=[], tools=[], messages=measures).sections
    expected = [section for section in make_sections(one_by_one) if section.id in SESSION]
    assert [section for section in summed if section.id in SESSION and not made_once(section.id)] == expected


def made_once(section: str) -> bool:
    return section in ("framing", "reasoning")


def test_a_result_in_the_next_run_has_the_name_of_its_call() -> None:
    said = [Message(role="user", parts=(Part(kind="text", text="go", wire_type="text"),))] * (RUN - 1)
    called = Message(role="assistant", parts=(Part(kind="tool_call", name="read", text="{}", call_id="c1"),))
    answered = Message(role="tool", parts=(Part(kind="tool_result", text="done", call_id="c1"),))
    assert names_of_results(said, called, answered) == ["read"]


def test_a_call_id_that_comes_again_names_the_last_tool_as_ever() -> None:
    first = Message(role="assistant", parts=(Part(kind="tool_call", name="read", text="{}", call_id="0"),))
    second = Message(role="assistant", parts=(Part(kind="tool_call", name="write", text="{}", call_id="0"),))
    answered = Message(role="tool", parts=(Part(kind="tool_result", text="done", call_id="0"),))
    assert names_of_results([first, answered] * (RUN // 2), second, answered) == ["write"]


def names_of_results(said: list[Message], *more: Message) -> list[str]:
    meter = make_meter(dialect="openai-chat", provider="openai", model="gpt-5.4", client=None)
    breakdown = account(Context(messages=(*said, *more)), meter)
    return [item.name for item in section(breakdown, "tool_outputs").items]


def section(breakdown: Breakdown, name: str) -> Section:
    return next(section for section in breakdown.sections if section.id == name)
