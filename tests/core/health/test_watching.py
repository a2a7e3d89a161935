from __future__ import annotations

import gzip
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ullage.core.content import Usage
from ullage.core.health import AnswerWatch, Failure, Sign
from ullage.core.wire import DIALECTS, Dialect
from ullage.testing import Fault, Reply, ToolUse
from ullage.testing.dialects import DIALECT_MODULES
from ullage.testing.faults import spoil_events
from ullage.testing.prompt import Generation, Prompt

REPLIES = {
    "text": Reply(thinking="I think about it.", text="Hello there."),
    "tool": Reply(thinking="I think.", tool_calls=(ToolUse(name="bash", arguments={"command": "ls"}),)),
}
SPOKEN = {"text": b"Hello", "tool": b"bash"}


def _events(dialect: Dialect, reply: Reply, fault: Fault | None = None) -> list[bytes]:
    module = DIALECT_MODULES[dialect]
    prompt = Prompt(dialect=dialect, model="fake", stream=True, wants_thinking=True)
    generation = Generation(number=1, prompt=prompt, reply=reply, usage=Usage(input_fresh=9, output=9), created_s=1)
    error = module.error_event(529, "Overloaded")
    return spoil_events(module.events(generation), fault or Fault(), error=error, ping=module.PING, end=module.END)


def _signs(dialect: Dialect, events: list[bytes]) -> tuple[list[Sign], Failure | None]:
    watch = AnswerWatch(dialect, 200, streamed=True)
    return [watch.feed(event) for event in events], watch.close()


@pytest.mark.parametrize("kind", REPLIES)
@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_stream_is_the_clients_from_its_first_text_or_call_on(dialect: Dialect, kind: str) -> None:
    events = _events(dialect, REPLIES[kind], Fault(comments=True))
    signs, failure = _signs(dialect, events)
    first = next(index for index, event in enumerate(events) if SPOKEN[kind] in event)
    assert signs == ["nothing"] * first + ["output"] * (len(events) - first)
    assert failure is None


@pytest.mark.parametrize("dialect", DIALECTS)
def test_an_error_after_thinking_is_a_failure_and_not_the_clients(dialect: Dialect) -> None:
    events = _events(dialect, REPLIES["text"])
    spoken = next(index for index, event in enumerate(events) if SPOKEN["text"] in event)
    signs, failure = _signs(dialect, _events(dialect, REPLIES["text"], Fault(error_event=spoken)))
    assert signs == ["nothing"] * spoken + ["failure"]
    assert failure is not None
    assert (failure.retryable, failure.counts, failure.status >= 500) == (True, True, True)
    assert failure.message == "Overloaded"


@pytest.mark.parametrize("dialect", DIALECTS)
def test_an_error_after_text_changes_nothing_of_that(dialect: Dialect) -> None:
    events = _events(dialect, REPLIES["text"])
    spoken = next(index for index, event in enumerate(events) if SPOKEN["text"] in event)
    signs, failure = _signs(dialect, _events(dialect, REPLIES["text"], Fault(error_event=spoken + 1)))
    assert signs[spoken:] == ["output", "output"]
    assert failure is not None


@pytest.mark.parametrize("dialect", ["anthropic", "openai-responses", "openai-chat"])
def test_a_stream_that_ends_too_early_is_cut(dialect: Dialect) -> None:
    _, failure = _signs(dialect, _events(dialect, REPLIES["text"], Fault(end_after_events=3)))
    assert failure is not None
    assert (failure.status, failure.retryable, failure.counts) == (503, True, True)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_pings_and_an_end_are_no_answer(dialect: Dialect) -> None:
    signs, failure = _signs(dialect, _events(dialect, REPLIES["text"], Fault(only_pings=5)))
    assert set(signs) == {"nothing"}
    assert failure is not None
    assert failure.retryable


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_body_is_the_clients_when_it_is_whole(dialect: Dialect) -> None:
    prompt = Prompt(dialect=dialect, model="fake", stream=False)
    generation = Generation(
        number=1, prompt=prompt, reply=REPLIES["tool"], usage=Usage(input_fresh=9, output=9), created_s=1
    )
    body = DIALECT_MODULES[dialect].answer(generation)
    whole, half = (AnswerWatch(dialect, 200, streamed=False) for _ in range(2))
    assert (whole.feed(body), whole.close()) == ("nothing", None)
    half.feed(body[: len(body) // 2])
    failure = half.close()
    assert failure is not None
    assert (failure.status, failure.retryable) == (503, True)


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("streamed", [True, False])
def test_the_words_of_an_error_answer_are_read(dialect: Dialect, streamed: bool) -> None:
    watch = AnswerWatch(dialect, 503, streamed=streamed)
    assert watch.feed(DIALECT_MODULES[dialect].error(503, "We are overloaded.", None, None)) == "nothing"
    failure = watch.close()
    assert failure is not None
    assert (failure.kind, failure.status, failure.message) == ("server", 503, "We are overloaded.")


def test_a_page_of_some_proxy_is_no_answer() -> None:
    watch = AnswerWatch("anthropic", 200, streamed=True)
    watch.feed(b"<html><body>Please log in</body></html>")
    failure = watch.close()
    assert failure is not None
    assert (failure.status, failure.retryable) == (503, True)


def _event(**payload: Any) -> bytes:
    return b"data: " + json.dumps(payload).encode() + b"\n\n"


def _item(kind: str, **fields: Any) -> bytes:
    return _event(type="response.output_item.added", output_index=0, item={"type": kind, "id": "i", **fields})


@pytest.mark.parametrize(
    ("dialect", "event", "speaks"),
    [
        ("anthropic", _event(type="content_block_start", index=0, content_block={"type": "text", "text": ""}), False),
        ("anthropic", _event(type="content_block_start", index=0, content_block={"type": "redacted_thinking"}), False),
        ("anthropic", _event(type="content_block_start", index=0, content_block={"type": "server_tool_use"}), True),
        ("anthropic", _event(type="content_block_delta", index=0, delta={"type": "signature_delta"}), False),
        ("anthropic", _event(type="content_block_stop", index=0), True),
        ("anthropic", _event(type="message_start", message={"id": "m", "content": []}), False),
        ("openai-chat", _event(choices=[{"delta": {"role": "assistant", "content": ""}}]), False),
        ("openai-chat", _event(choices=[{"delta": {"reasoning": "hm"}}]), False),
        ("openai-chat", _event(choices=[], usage={"prompt_tokens": 3}), False),
        ("openai-chat", _event(choices=[{"delta": {"refusal": "No."}}]), True),
        ("openai-chat", _event(choices=[{"delta": {"tool_calls": [{"index": 0, "id": "c"}]}}]), True),
        ("openai-chat", _event(choices=[{"delta": {"images": [{"type": "image_url"}]}}]), True),
        ("openai-responses", _item("reasoning"), False),
        ("openai-responses", _item("message", content=[]), False),
        ("openai-responses", _item("function_call", name="ls", arguments=""), True),
        ("openai-responses", _item("web_search_call"), True),
        ("openai-responses", _event(type="response.output_text.done", text=""), True),
        ("openai-responses", _event(type="response.in_progress", response={"id": "r"}), False),
        ("gemini", _event(candidates=[{"content": {"parts": [{"text": "hm", "thought": True}]}}]), False),
        ("gemini", _event(candidates=[{"content": {"parts": [{"text": ""}]}}]), False),
        ("gemini", _event(candidates=[{"content": {"parts": [{"inlineData": {"data": "x"}}]}}]), True),
        ("gemini", _event(candidates=[{"content": {"parts": [{"functionCall": {"name": "ls"}}]}}]), True),
    ],
)
def test_what_speaks_and_what_does_not(dialect: Dialect, event: bytes, speaks: bool) -> None:
    assert AnswerWatch(dialect, 200, streamed=True).feed(event) == ("output" if speaks else "nothing")


def test_the_end_of_a_block_of_thinking_says_nothing() -> None:
    watch = AnswerWatch("anthropic", 200, streamed=True)
    watch.feed(_event(type="content_block_start", index=0, content_block={"type": "thinking", "thinking": ""}))
    assert watch.feed(_event(type="content_block_stop", index=0)) == "nothing"


@given(st.sampled_from(DIALECTS), st.sampled_from(sorted(REPLIES)), st.integers(1, 50))
def test_where_the_bytes_are_cut_does_not_matter(dialect: Dialect, kind: str, size: int) -> None:
    whole = b"".join(_events(dialect, REPLIES[kind]))
    watch = AnswerWatch(dialect, 200, streamed=True)
    fed = 0
    for start in range(0, len(whole), size):
        fed = start + size
        if watch.feed(whole[start:fed]) != "nothing":
            break
    assert SPOKEN[kind] in whole[:fed]
    assert watch.feed(whole[fed:]) == "output"
    assert watch.close() is None


@given(st.binary(max_size=200), st.sampled_from(DIALECTS), st.sampled_from([200, 500]), st.booleans())
def test_no_bytes_make_it_fail(noise: bytes, dialect: Dialect, status: int, streamed: bool) -> None:
    watch = AnswerWatch(dialect, status, streamed=streamed)
    watch.feed(noise)
    watch.feed(gzip.compress(noise))
    assert watch.close(cut=True) is not None
