"""What of a request is changed for a model that its client did not know of, within one dialect."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.core.translation.speaking import chat, contents, messages, responses
from ullage.core.profiles.thinking import THINKING_LEVELS
from ullage.core.translation import Target, TranslationRefused, fit_members, translate_request
from ullage.core.wire import DIALECTS, Dialect, parse_request, render
from ullage.testing.members import find_bad_member

MODELS = ("gpt-5", "openai/o4-mini", "gpt-5.4", "gpt-4.1", "claude-haiku-4-5", "claude-opus-5", "gemini-2.5-pro")
MORE = ("gemini-3-flash", "mistral-large-latest", "deepseek-chat")


def fitted(dialect: Dialect, payload: dict[str, Any], model: str, most: int | None = None) -> Any:
    """The body as sent, and the codes of what is lost."""
    conversation = parse_request(json.dumps(payload).encode(), dialect)
    options, losses = fit_members(conversation, Target(dialect=dialect, model=model, max_output_tokens=most))
    body = json.loads(render(conversation, options=options))
    return {key: value for key, value in body.items() if key not in ("model", "messages", "input", "contents")}, [
        (loss.code, loss.where) for loss in losses
    ]


@pytest.mark.parametrize(
    ("provider", "members", "sent"),
    [
        (
            "mistral",
            {"stream_options": {"include_usage": True}, "seed": 7, "prompt_cache_key": "k"},
            {"random_seed": 7},
        ),
        (
            "groq",
            {"stream_options": {"include_usage": True}, "prompt_cache_key": "k"},
            {"stream_options": {"include_usage": True}},
        ),
        ("other", {"seed": 7, "prompt_cache_key": "k"}, {"seed": 7, "prompt_cache_key": "k"}),
    ],
)
def test_hosts_are_not_sent_what_they_refuse(provider: str, members: dict[str, Any], sent: dict[str, Any]) -> None:
    conversation = parse_request(json.dumps(chat(**members)).encode(), "openai-chat")
    options, losses = fit_members(conversation, Target(dialect="openai-chat", provider=provider, model="m"))
    body = json.loads(render(conversation, options=options))
    assert {key: value for key, value in body.items() if key not in ("model", "messages")} == sent
    assert losses == ()


def test_models_that_refuse_to_be_told_of_parallel_calls_are_not() -> None:
    for parallel in (True, False):
        assert fitted("openai-chat", chat(parallel_tool_calls=parallel), "o4-mini") == ({}, [])
    assert fitted("openai-chat", chat(parallel_tool_calls=True), "gpt-5") == ({"parallel_tool_calls": True}, [])


@pytest.mark.parametrize(
    ("model", "members", "sent", "lost"),
    [
        ("gpt-5", {"max_tokens": 900}, {"max_completion_tokens": 900}, []),
        ("openai/o4-mini", {"max_tokens": 900, "max_completion_tokens": 800}, {"max_completion_tokens": 800}, []),
        ("gpt-5", {"max_tokens": None}, {}, []),
        ("gpt-5", {"temperature": 0.2, "top_p": 0.9}, {}, [("sampling", "temperature")]),
        ("gpt-5", {"temperature": 1, "top_p": 1}, {"temperature": 1, "top_p": 1}, []),
        ("gpt-5", {"frequency_penalty": 0.5, "presence_penalty": 0}, {}, [("sampling", "penalties")]),
        ("gpt-5", {"presence_penalty": 0}, {}, []),
        ("gpt-4.1", {"max_tokens": 900, "temperature": 0.2}, {"max_tokens": 900, "temperature": 0.2}, []),
        ("gpt-4.1", {"max_completion_tokens": 900, "stop": "."}, {"max_completion_tokens": 900, "stop": "."}, []),
        ("mistral-large-latest", {"max_completion_tokens": 900}, {"max_tokens": 900}, []),
        ("anthropic/claude-opus-5", {"temperature": 0.2}, {}, [("sampling", "temperature")]),
    ],
)
def test_limit_and_sampling_are_said_as_the_model_takes_them(
    model: str, members: dict[str, Any], sent: dict[str, Any], lost: list[tuple[str, str]]
) -> None:
    assert fitted("openai-chat", chat(**members), model) == (sent, lost)


def test_a_longer_answer_than_the_model_can_give_is_asked_for_by_its_own_name_and_told() -> None:
    sent = fitted("openai-chat", chat(max_tokens=90_000), "gpt-5", most=32_000)
    assert sent == ({"max_completion_tokens": 32_000}, [("max_tokens", "max_tokens")])
    assert fitted("anthropic", messages(max_tokens=64), "claude-haiku-4-5", most=64) == ({"max_tokens": 64}, [])


def test_other_protocols_say_the_same_in_their_own_places() -> None:
    assert fitted("openai-responses", responses(temperature=0, max_output_tokens=9), "gpt-5")[0] == {
        "max_output_tokens": 9
    }
    assert fitted("anthropic", messages(temperature=0, top_k=4), "claude-opus-4-7")[0] == {"max_tokens": 100}
    config = {"temperature": 0, "topP": 0.5, "maxOutputTokens": 9}
    assert fitted("gemini", contents(generationConfig=config), "gpt-5")[0] == {
        "generationConfig": {"maxOutputTokens": 9}
    }


@pytest.mark.parametrize("members", [{"stop": ["."]}, {"logprobs": True}])
def test_what_a_model_cannot_do_is_refused_rather_than_left_out(members: dict[str, Any]) -> None:
    with pytest.raises(TranslationRefused):
        fitted("openai-chat", chat(**members), "gpt-5")
    assert fitted("openai-chat", chat(**members), "gpt-4.1")[0] == members


@pytest.mark.parametrize("target", DIALECTS)
@pytest.mark.parametrize("model", [*MODELS, *MORE])
def test_no_model_refuses_what_a_request_of_another_dialect_asks_for(model: str, target: Dialect) -> None:
    asked = {"temperature": 0.2, "top_p": 0.9, "max_tokens": 40_000, "frequency_penalty": 0.5}
    for said in (asked, {}):
        for source, payload in (
            ("openai-chat", chat(**said, reasoning_effort="low")),
            ("anthropic", messages(max_tokens=40_000, thinking={"type": "enabled", "budget_tokens": 9_000})),
        ):
            if source == target:
                continue
            conversation = parse_request(json.dumps(payload).encode(), source)  # type: ignore[arg-type]
            for level in (None, *THINKING_LEVELS):
                found = translate_request(conversation, Target(dialect=target, model=model), level=level)
                assert find_bad_member(target, json.loads(found.body), model) is None, (source, level)
