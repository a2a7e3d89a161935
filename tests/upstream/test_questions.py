"""Questions to models in each dialect, and the texts of their answers."""

from __future__ import annotations

import msgspec
import pytest

from ullage.core.wire import DIALECTS, parse_request
from ullage.settings import UpstreamSettings
from ullage.testing import FakeProvider, Reply
from ullage.upstream import UpstreamClient
from ullage.upstream.asking import Target, ask
from ullage.upstream.questions import read_text, word_question


@pytest.mark.parametrize("dialect", DIALECTS)
async def test_a_question_is_answered_in_words(dialect) -> None:
    worded = word_question(dialect, "m/1", instructions="Be short.", text='Say "no" \U0001f642', output_cap=128)
    parse_request(worded.body, dialect, path_model="m/1")
    async with FakeProvider([Reply(text="No.", thinking="Hm.")], strict=True) as provider:
        client = UpstreamClient(UpstreamSettings())
        try:
            answer = await ask(client, Target(provider.url, dialect, None), worded.path, worded.body)
        finally:
            await client.close()
        seen = provider.requests[0].body
    assert read_text(answer, dialect) == "No."
    assert b"128" in seen
    assert b'\\"no\\"' in seen
    assert b'"stream":true' not in seen


@pytest.mark.parametrize(
    ("dialect", "model", "member"),
    [
        ("openai-chat", "gpt-5-mini", {"max_completion_tokens": 128, "reasoning_effort": "minimal"}),
        ("openai-chat", "llama-3", {"max_tokens": 128}),
        ("openai-responses", "gpt-5.1", {"max_output_tokens": 128, "reasoning": {"effort": "none"}, "store": False}),
        (
            "gemini",
            "gemini-2.5-flash",
            {"generationConfig": {"maxOutputTokens": 128, "thinkingConfig": {"thinkingBudget": 0}}},
        ),
    ],
)
def test_models_that_think_unasked_are_told_not_to(dialect, model, member) -> None:
    body = msgspec.json.decode(word_question(dialect, model, instructions="a", text="b", output_cap=128).body)
    assert body | member == body


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"<html>",
        b"[]",
        b"null",
        b"{}",
        b'{"choices":[],"output":[3],"content":"x","candidates":[null]}',
        b'{"choices":[{"message":{"content":null}}],"output":[{"type":"message","content":3}],"content":[{"type":"tool_use"}]}',
        b'{"choices":[{"message":3}],"output":{},"content":[null],"candidates":[{"content":{"parts":[{"thought":true,"text":"a"}]}}]}',
    ],
)
def test_an_answer_without_words_has_no_text(dialect, answer) -> None:
    assert read_text(answer, dialect) is None


def test_texts_in_parts_are_one() -> None:
    assert read_text(b'{"choices":[{"message":{"content":[{"text":"a"},{"text":"b"}]}}]}', "openai-chat") == "ab"
