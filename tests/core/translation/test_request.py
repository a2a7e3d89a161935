"""What of a request is carried, in which member, what is told, and what is refused."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from tests.core.translation.relay import PNG, SCHEMA
from tests.core.translation.speaking import body_of, chat, codes_of, contents, messages, responses, translate
from ullage.core.translation import Target, TranslationRefused, translate_request
from ullage.core.translation.nouns import Seal
from ullage.core.translation.sealing import wrap
from ullage.core.wire import DIALECTS, Dialect, parse_request
from ullage.testing.strict import find_refusal

HELLO: dict[Dialect, dict[str, Any]] = {
    "openai-chat": chat(),
    "openai-responses": responses(),
    "anthropic": messages(),
    "gemini": contents(),
}
TOOLS: dict[Dialect, list[dict[str, Any]]] = {
    "openai-chat": [{"type": "function", "function": {"name": "weather", "parameters": SCHEMA}}],
    "openai-responses": [{"type": "function", "name": "weather", "parameters": SCHEMA, "strict": False}],
    "anthropic": [{"name": "weather", "input_schema": SCHEMA}],
    "gemini": [{"functionDeclarations": [{"name": "weather", "parametersJsonSchema": SCHEMA}]}],
}
FROM_CHAT: tuple[Dialect, ...] = ("openai-responses", "anthropic", "gemini")

REFUSED: list[tuple[Dialect, dict[str, Any], str]] = [
    ("openai-chat", {"n": 2}, "n: several answers"),
    ("openai-chat", {"logprobs": True}, "logprobs: "),
    ("openai-chat", {"modalities": ["text", "audio"], "audio": {"voice": "x"}}, "audio: spoken"),
    ("openai-chat", {"functions": [{"name": "f"}]}, "functions: the old form"),
    ("openai-chat", {"web_search_options": {}}, "web_search_options: "),
    ("openai-chat", {"max_tokens": "many"}, "max_tokens: it is no number"),
    ("openai-chat", {"max_completion_tokens": 0}, "max_completion_tokens: it is less than 1"),
    ("openai-chat", {"temperature": "hot"}, "temperature: it is no number"),
    ("openai-chat", {"seed": 1.5}, "seed: it is no whole number"),
    ("openai-chat", {"stop": [1]}, "stop: a stop sequence is no text"),
    ("openai-chat", {"tools": {"a": 1}}, "tools: it is no list of objects"),
    ("openai-responses", {"max_output_tokens": -5}, "max_output_tokens: it is less than 1"),
    ("openai-responses", {"tools": ["search"]}, "tools: it is no list of objects"),
    ("anthropic", {"max_tokens": True}, "max_tokens: it is no number"),
    ("anthropic", {"thinking": {"type": "enabled", "budget_tokens": "x"}}, "thinking.budget_tokens: it is no number"),
    ("gemini", {"generationConfig": {"topP": [1]}}, "topP: it is no number"),
    ("openai-responses", {"previous_response_id": "resp_1"}, "previous_response_id: what was said before"),
    ("openai-responses", {"conversation": "conv_1"}, "conversation: "),
    ("openai-responses", {"background": True}, "background: "),
    ("openai-responses", {"prompt": {"id": "p"}}, "prompt: the template"),
    ("openai-responses", {"include": ["message.output_text.logprobs"]}, "include: "),
    ("openai-responses", {"input": [{"type": "item_reference", "id": "x"}]}, "input.item_reference: "),
    ("openai-responses", {"input": [{"type": "compaction_trigger"}]}, "input.compaction_trigger: "),
    ("openai-responses", {"tools": [{"type": "web_search"}]}, "tools.web_search: "),
    ("openai-responses", {"tool_choice": {"type": "web_search"}}, "tool_choice: "),
    ("anthropic", {"mcp_servers": [{"name": "x"}]}, "mcp_servers: "),
    ("anthropic", {"tools": [{"type": "web_search_20250305", "name": "web_search"}]}, "tools.web_search_20250305: "),
    ("anthropic", {"tool_choice": {"type": "any"}}, "tool_choice: a tool must be called, but there are none"),
    ("gemini", {"cachedContent": "cachedContents/x"}, "cachedContent: "),
    ("gemini", {"generationConfig": {"candidateCount": 2}}, "candidateCount: "),
    ("gemini", {"generationConfig": {"responseModalities": ["AUDIO"]}}, "responseModalities: "),
    ("gemini", {"tools": [{"googleSearch": {}}]}, "tools.googleSearch: "),
    ("gemini", {"contents": []}, "messages: there is nothing to answer"),
]


@pytest.mark.parametrize(
    ("source", "members", "reason"), REFUSED, ids=[reason.partition(":")[0] for *_, reason in REFUSED]
)
def test_what_no_target_can_do_is_refused_with_the_reason(
    source: Dialect, members: dict[str, Any], reason: str
) -> None:
    for target in DIALECTS:
        if target != source:
            with pytest.raises(TranslationRefused) as refused:
                translate(source, HELLO[source] | members, target)
            assert refused.value.message.startswith(reason)
            assert refused.value.code == "untranslatable"
            assert refused.value.hint


@pytest.mark.parametrize(
    ("source", "block"),
    [
        ("openai-chat", {"type": "input_audio", "input_audio": {"data": "x", "format": "wav"}}),
        ("openai-chat", {"type": "file", "file": {"file_id": "file_1"}}),
        ("openai-responses", {"type": "input_image", "file_id": "file_1"}),
        ("openai-responses", {"type": "input_audio", "input_audio": {}}),
        ("anthropic", {"type": "image", "source": {"type": "file", "file_id": "file_1"}}),
        ("gemini", {"inlineData": {"mimeType": "audio/wav", "data": "x"}}),
        ("gemini", {"fileData": {"mimeType": "image/png", "fileUri": "gs://bucket/x.png"}}),
    ],
)
def test_parts_that_lie_elsewhere_or_sound_are_refused(source: Dialect, block: dict[str, Any]) -> None:
    held = "parts" if source == "gemini" else "content"
    list_name = {"gemini": "contents", "openai-responses": "input"}.get(source, "messages")
    payload = HELLO[source] | {list_name: [{"role": "user", held: [block]}]}
    for target in DIALECTS:
        if target != source:
            with pytest.raises(TranslationRefused):
                translate(source, payload, target)


@pytest.mark.parametrize(
    ("source", "target", "count"),
    [("anthropic", "openai-chat", 5), ("anthropic", "gemini", 6), ("openai-chat", "openai-responses", 1)],
)
def test_more_stop_sequences_than_the_target_takes_are_refused(source: Dialect, target: Dialect, count: int) -> None:
    name = "stop_sequences" if source == "anthropic" else "stop"
    with pytest.raises(TranslationRefused, match="stop: the target takes at most"):
        translate(source, HELLO[source] | {name: [str(number) for number in range(count)]}, target)


def test_what_the_model_is_known_not_to_take_is_refused() -> None:
    picture = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG}"}}
    with pytest.raises(TranslationRefused, match="takes no pictures"):
        translate("openai-chat", chat({"role": "user", "content": [picture]}), "anthropic", images=False)
    with pytest.raises(TranslationRefused, match="takes no tools"):
        translate("openai-chat", chat(tools=TOOLS["openai-chat"]), "anthropic", tools=False)


# --- Sampling ---


@pytest.mark.parametrize(
    ("target", "model", "found"),
    [
        ("openai-chat", "deepseek-chat", {"max_tokens": 50}),
        ("openai-chat", "openai/gpt-5.2", {"max_completion_tokens": 50}),
        ("openai-responses", "gpt-5.2", {"max_output_tokens": 50}),
        ("gemini", "gemini-2.5-pro", {"generationConfig": {"maxOutputTokens": 50}}),
    ],
)
def test_the_length_of_an_answer_is_said_in_each_dialects_member(
    target: Dialect, model: str, found: dict[str, Any]
) -> None:
    body = body_of("anthropic", messages(max_tokens=50), target, model=model)
    assert {key: body[key] for key in found} == found


def test_anthropic_always_gets_a_length() -> None:
    assert body_of("openai-chat", chat(), "anthropic")["max_tokens"] == 8_192
    assert body_of("openai-chat", chat(), "anthropic", max_output_tokens=32_000)["max_tokens"] == 32_000


def test_a_longer_answer_than_the_model_can_give_is_cut_and_told() -> None:
    payload = chat(max_tokens=100_000)
    assert body_of("openai-chat", payload, "anthropic", max_output_tokens=32_000)["max_tokens"] == 32_000
    assert codes_of("openai-chat", payload, "anthropic", max_output_tokens=32_000) == [("max_tokens", "max_tokens")]


SAMPLED = {"temperature": 1.7, "top_p": 0.5, "top_k": 40, "seed": 7, "presence_penalty": 0.5, "stop": "END"}


@pytest.mark.parametrize(
    ("target", "model", "found", "told"),
    [
        (
            "anthropic",
            "claude-sonnet-4-5",
            {"top_p": 0.5, "top_k": 40, "stop_sequences": ["END"]},
            ["presence_penalty", "seed", "temperature"],
        ),
        ("anthropic", "claude-opus-4-7", {"stop_sequences": ["END"]}, ["presence_penalty", "seed", "temperature"]),
        (
            "gemini",
            "gemini-2.5-pro",
            {
                "generationConfig": {
                    "temperature": 1.7,
                    "topP": 0.5,
                    "topK": 40,
                    "stopSequences": ["END"],
                    "presencePenalty": 0.5,
                    "seed": 7,
                }
            },
            [],
        ),
    ],
)
def test_sampling_is_carried_within_what_the_model_takes(
    target: Dialect, model: str, found: dict[str, Any], told: list[str]
) -> None:
    payload = chat(**SAMPLED)
    body = body_of("openai-chat", payload, target, model=model)
    assert {key: body[key] for key in found} == found
    assert sorted(where for _, where in codes_of("openai-chat", payload, target, model=model)) == told


def test_anthropic_takes_a_temperature_or_top_p() -> None:
    payload = chat(temperature=0.3, top_p=0.5)
    body = body_of("openai-chat", payload, "anthropic")
    assert (body["temperature"], body.get("top_p")) == (0.3, None)
    assert codes_of("openai-chat", payload, "anthropic") == [("sampling", "top_p")]


def test_models_that_reason_at_openai_take_no_sampling() -> None:
    payload = messages(temperature=0.3)
    body = body_of("anthropic", payload, "openai-chat", model="gpt-5.2")
    assert "temperature" not in body
    assert codes_of("anthropic", payload, "openai-chat", model="gpt-5.2") == [("sampling", "temperature")]


# --- Tools ---

CHOICES: list[tuple[str, dict[Dialect, Any]]] = [
    (
        "auto",
        {
            "openai-chat": "auto",
            "openai-responses": "auto",
            "anthropic": {"type": "auto"},
            "gemini": {"functionCallingConfig": {"mode": "AUTO"}},
        },
    ),
    (
        "none",
        {
            "openai-chat": "none",
            "openai-responses": "none",
            "anthropic": {"type": "none"},
            "gemini": {"functionCallingConfig": {"mode": "NONE"}},
        },
    ),
    (
        "required",
        {
            "openai-chat": "required",
            "openai-responses": "required",
            "anthropic": {"type": "any"},
            "gemini": {"functionCallingConfig": {"mode": "ANY"}},
        },
    ),
    (
        "one tool",
        {
            "openai-chat": {"type": "function", "function": {"name": "weather"}},
            "openai-responses": {"type": "function", "name": "weather"},
            "anthropic": {"type": "tool", "name": "weather"},
            "gemini": {"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["weather"]}},
        },
    ),
]


@pytest.mark.parametrize("choice", [choice for _, choice in CHOICES], ids=[name for name, _ in CHOICES])
@pytest.mark.parametrize("source", DIALECTS)
def test_the_choice_of_tools_means_the_same_everywhere(source: Dialect, choice: dict[Dialect, Any]) -> None:
    member = {"gemini": "toolConfig"}
    payload = HELLO[source] | {"tools": TOOLS[source], member.get(source, "tool_choice"): choice[source]}
    for target in DIALECTS:
        assert body_of(source, payload, target)[member.get(target, "tool_choice")] == choice[target]


def test_only_the_tools_that_may_be_called_are_offered() -> None:
    more = {"type": "function", "function": {"name": "other", "parameters": SCHEMA}}
    allowed = {"mode": "required", "tools": [{"type": "function", "function": {"name": "weather"}}]}
    choice = {"type": "allowed_tools", "allowed_tools": allowed}
    payload = chat(tools=[*TOOLS["openai-chat"], more], tool_choice=choice)
    body = body_of("openai-chat", payload, "anthropic")
    assert [tool["name"] for tool in body["tools"]] == ["weather"]
    assert body["tool_choice"] == {"type": "any"}
    assert codes_of("openai-chat", payload, "anthropic") == [("tools_left_out", "tool_choice")]


def test_a_single_call_at_a_time_is_said_where_it_can_be() -> None:
    payload = chat(tools=TOOLS["openai-chat"], parallel_tool_calls=False)
    assert body_of("openai-chat", payload, "anthropic")["tool_choice"] == {
        "type": "auto",
        "disable_parallel_tool_use": True,
    }
    assert body_of("openai-chat", payload, "openai-responses")["parallel_tool_calls"] is False
    assert codes_of("openai-chat", payload, "gemini") == [("parallel_tools", "parallel_tool_calls")]
    back = body_of("anthropic", body_of("openai-chat", payload, "anthropic"), "openai-chat")
    assert back["parallel_tool_calls"] is False


GRAMMAR = {"type": "grammar", "syntax": "lark", "definition": "start: WORD"}
PATCH = {"type": "custom", "name": "apply_patch", "description": "Patches.", "format": GRAMMAR}


def test_a_tool_of_free_input_is_a_function_of_one_text_elsewhere() -> None:
    call = {"type": "custom_tool_call", "call_id": "c1", "name": "apply_patch", "input": "*** Begin"}
    output = {"type": "custom_tool_call_output", "call_id": "c1", "output": "Done."}
    asked = {"role": "user", "content": "Patch."}
    body = body_of("openai-responses", responses(asked, call, output, tools=[PATCH]), "anthropic")
    tool = body["tools"][0]
    assert tool["description"] == "Patches.\n\nThe input must follow this lark:\nstart: WORD"
    assert tool["input_schema"]["required"] == ["input"]
    assert body["messages"][1]["content"][0]["input"] == {"input": "*** Begin"}


def test_names_that_not_all_targets_take_are_changed_alike_everywhere() -> None:
    name = "mcp.server/tool:" + "x" * 80
    tool = {"functionDeclarations": [{"name": name, "parametersJsonSchema": SCHEMA}]}
    call = {"role": "model", "parts": [{"functionCall": {"name": name, "args": {}}}]}
    result = {"role": "user", "parts": [{"functionResponse": {"name": name, "response": {"output": "x"}}}]}
    asked = {"role": "user", "parts": [{"text": "Go."}]}
    translated = translate("gemini", contents(asked, call, result, tools=[tool]), "anthropic")
    (changed,) = translated.terms.names
    assert translated.terms.names == {changed: name}
    assert len(changed) == 64
    assert translated.body.count(changed.encode()) == 2


def test_mistral_gets_ids_of_nine_characters() -> None:
    use = {"type": "tool_use", "id": "toolu_01", "name": "ls", "input": {}}
    result = {"type": "tool_result", "tool_use_id": "toolu_01", "content": "a"}
    said = [
        {"role": "user", "content": "List."},
        {"role": "assistant", "content": [use]},
        {"role": "user", "content": [result]},
    ]
    body = body_of("anthropic", messages(*said), "openai-chat", model="mistralai/devstral-medium")
    call_id = body["messages"][1]["tool_calls"][0]["id"]
    assert len(call_id) == 9
    assert call_id.isalnum()
    assert body["messages"][2]["tool_call_id"] == call_id


def test_calls_of_another_model_are_marked_so_for_gemini_3() -> None:
    use = [{"type": "tool_use", "id": f"t{number}", "name": "ls", "input": {}} for number in (1, 2)]
    results = [{"type": "tool_result", "tool_use_id": f"t{number}", "content": "a"} for number in (1, 2)]
    said = [
        {"role": "user", "content": "List."},
        {"role": "assistant", "content": use},
        {"role": "user", "content": results},
    ]
    parts = body_of("anthropic", messages(*said), "gemini", model="gemini-3-pro-preview")["contents"][1]["parts"]
    assert [part.get("thoughtSignature") for part in parts] == ["skip_thought_signature_validator", None]
    older = body_of("anthropic", messages(*said), "gemini", model="gemini-2.5-pro")["contents"][1]["parts"]
    assert all("thoughtSignature" not in part for part in older)


# --- Answers of a form ---

STRICT = {
    "type": "object",
    "properties": {"title": {"type": "string"}},
    "required": ["title"],
    "additionalProperties": False,
}
FORMS: dict[Dialect, dict[str, Any]] = {
    "openai-chat": {
        "response_format": {"type": "json_schema", "json_schema": {"name": "answer", "schema": STRICT, "strict": True}}
    },
    "openai-responses": {
        "text": {"format": {"type": "json_schema", "name": "answer", "schema": STRICT, "strict": True}}
    },
    "anthropic": {"output_config": {"format": {"type": "json_schema", "schema": STRICT}}},
    "gemini": {"generationConfig": {"responseMimeType": "application/json", "responseJsonSchema": STRICT}},
}


@pytest.mark.parametrize("source", DIALECTS)
def test_a_schema_of_the_answer_is_carried(source: Dialect) -> None:
    payload = HELLO[source] | FORMS[source]
    chat_body = body_of(source, payload, "openai-chat", model="gpt-4.1")
    assert chat_body["response_format"] == FORMS["openai-chat"]["response_format"]
    assert body_of(source, payload, "openai-responses")["text"] == FORMS["openai-responses"]["text"]
    assert body_of(source, payload, "anthropic")["output_config"] == FORMS["anthropic"]["output_config"]
    config = body_of(source, payload, "gemini")["generationConfig"]
    assert config["responseMimeType"] == "application/json"
    assert config["responseSchema"] == {
        "type": "OBJECT",
        "properties": {"title": {"type": "STRING"}},
        "required": ["title"],
    }


@pytest.mark.parametrize(
    ("target", "model"),
    [("anthropic", "claude-3-haiku"), ("anthropic", "claude-sonnet-4-20250514"), ("openai-chat", "deepseek-chat")],
)
def test_a_schema_is_asked_for_in_words_where_it_must_be(target: Dialect, model: str) -> None:
    payload = responses(**FORMS["openai-responses"])
    translated = translate("openai-responses", payload, target, model=model)
    assert b"It must fit this JSON schema" in translated.body
    assert [loss.code for loss in translated.dropped] == ["format_in_words"]


def test_json_without_a_schema_is_asked_of_anthropic_in_words() -> None:
    payload = chat(response_format={"type": "json_object"})
    assert body_of("openai-chat", payload, "anthropic")["system"][-1]["text"].startswith("Answer with one JSON object")
    assert codes_of("openai-chat", payload, "anthropic") == [("format_in_words", "response_format")]
    assert body_of("openai-chat", payload, "openai-responses")["text"] == {"format": {"type": "json_object"}}


@pytest.mark.parametrize("source", DIALECTS)
def test_an_answer_with_members_of_any_name_is_asked_of_anthropic_in_words(source: Dialect) -> None:
    """Its schemas have closed objects only: one of any members would always be empty."""
    of_any: dict[str, Any] = {
        "type": "object",
        "properties": {"m": {"type": "object", "additionalProperties": {"type": "string"}}},
    }
    payload = HELLO[source] | json.loads(json.dumps(FORMS[source]).replace(json.dumps(STRICT), json.dumps(of_any)))
    body = body_of(source, payload, "anthropic")
    assert "output_config" not in body
    assert '"additionalProperties":{"type":"string"}' in body["system"][-1]["text"]
    assert codes_of(source, payload, "anthropic") == [("format_in_words", "response_format")]
    assert codes_of(source, payload, "gemini") == [("schema", "response_format")]


@pytest.mark.parametrize("form", [{"type": "json_object"}, FORMS["openai-chat"]["response_format"]])
def test_json_beside_tools_is_asked_of_an_older_gemini_in_words(form: dict[str, Any]) -> None:
    """It refuses a request for both."""
    payload = chat(tools=TOOLS["openai-chat"], response_format=form)
    body = body_of("openai-chat", payload, "gemini", model="gemini-2.5-pro")
    assert "generationConfig" not in body
    assert body["systemInstruction"]["parts"][-1]["text"].startswith("Answer with one JSON")
    told = codes_of("openai-chat", payload, "gemini", model="gemini-2.5-pro")
    assert ("format_in_words", "response_format") in told
    newer = body_of("openai-chat", payload, "gemini", model="gemini-3-pro-preview")
    assert newer["generationConfig"]["responseMimeType"] == "application/json"


# --- Pictures where not everybody has them ---

PICTURE = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG}"}}


@pytest.mark.parametrize("target", FROM_CHAT)
def test_a_picture_in_a_result_of_chat_is_carried(target: Dialect) -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "shot", "arguments": "{}"}}
    payload = chat(
        {"role": "user", "content": "Look."},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": [{"type": "text", "text": "Here."}, PICTURE]},
    )
    assert PNG.encode() in translate("openai-chat", payload, target).body
    assert codes_of("openai-chat", payload, target) == []


def test_what_a_result_of_chat_cannot_hold_is_told() -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "shot", "arguments": "{}"}}
    content = [{"type": "refusal", "refusal": "No."}, {"type": "odd"}]
    payload = chat(
        {"role": "user", "content": "Look."},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": content},
    )
    told = codes_of("openai-chat", payload, "anthropic")
    assert told == [("not_carried", "messages.odd"), ("not_carried", "messages.tool")]


@pytest.mark.parametrize(
    ("source", "payload", "where"),
    [
        (
            "openai-chat",
            chat({"role": "system", "content": [PICTURE]}, {"role": "user", "content": "Hi"}),
            "messages.system",
        ),
        ("anthropic", messages(system=[{"type": "image", "source": {}}]), "system"),
        ("gemini", contents(systemInstruction={"parts": [{"inlineData": {}}]}), "systemInstruction"),
    ],
)
def test_what_is_no_text_among_instructions_is_told(source: Dialect, payload: dict[str, Any], where: str) -> None:
    target: Dialect = "openai-responses"
    assert codes_of(source, payload, target) == [("not_carried", where)]


@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("https://x.example/a.JPG?v=1", {"mimeType": "image/jpeg"}),
        ("https://x.example/a.webp#top", {"mimeType": "image/webp"}),
        ("https://x.example/picture", {}),
    ],
)
def test_the_kind_of_a_picture_by_its_address_is_told_to_gemini_where_it_shows(url: str, told: dict[str, str]) -> None:
    content = [{"type": "image", "source": {"type": "url", "url": url}}]
    part = body_of("anthropic", messages({"role": "user", "content": content}), "gemini")["contents"][0]["parts"][0]
    assert part == {"fileData": {**told, "fileUri": url}}


def test_the_line_for_anthropics_bills_is_no_part_of_a_prompt() -> None:
    """Claude Code's first line differs from request to request, so that no other provider's cache would ever be warm."""
    line = {"type": "text", "text": "x-anthropic-billing-header: cc_version=2.1.332.3fe; cc_entrypoint=cli;"}
    payload = messages(system=[line, {"type": "text", "text": "Be brief."}])
    assert body_of("anthropic", payload, "openai-responses")["instructions"] == "Be brief."
    assert codes_of("anthropic", payload, "openai-responses") == []


# --- Thinking ---


def test_what_stands_for_a_signature_of_google_is_no_thought() -> None:
    call = {"functionCall": {"name": "ls", "args": {}}, "thoughtSignature": "skip_thought_signature_validator"}
    payload = contents(
        {"role": "user", "parts": [{"text": "Look."}]},
        {"role": "model", "parts": [call]},
        {"role": "user", "parts": [{"functionResponse": {"name": "ls", "response": {"output": "a"}}}]},
    )
    assert codes_of("gemini", payload, "openai-chat") == []


@pytest.mark.parametrize(
    ("target", "model", "found"),
    [
        ("openai-chat", "gpt-5.2", {"reasoning_effort": "low"}),
        ("openai-responses", "gpt-5.2", {"reasoning": {"effort": "low"}}),
        (
            "gemini",
            "gemini-2.5-pro",
            {"generationConfig": {"maxOutputTokens": 9_000, "thinkingConfig": {"thinkingBudget": 2_048}}},
        ),
        (
            "gemini",
            "gemini-3-pro-preview",
            {"generationConfig": {"maxOutputTokens": 9_000, "thinkingConfig": {"thinkingLevel": "low"}}},
        ),
        ("anthropic", "claude-opus-4-6", {"thinking": {"type": "adaptive"}, "output_config": {"effort": "low"}}),
        ("anthropic", "claude-sonnet-4-5", {"thinking": {"type": "enabled", "budget_tokens": 2_048}}),
    ],
)
def test_a_budget_of_thinking_is_the_nearest_level_of_the_model(
    target: Dialect, model: str, found: dict[str, Any]
) -> None:
    payload = messages(max_tokens=9_000, thinking={"type": "enabled", "budget_tokens": 4_000})
    body = body_of("anthropic", payload, target, model=model)
    assert {key: body.get(key) for key in found} == found


@pytest.mark.parametrize(
    ("source", "members"),
    [
        ("openai-chat", {"reasoning_effort": "high"}),
        ("openai-responses", {"reasoning": {"effort": "high"}}),
        ("gemini", {"generationConfig": {"thinkingConfig": {"thinkingLevel": "HIGH"}}}),
        ("gemini", {"generationConfig": {"thinkingConfig": {"thinkingBudget": 16_384}}}),
        ("anthropic", {"thinking": {"type": "adaptive"}, "output_config": {"effort": "high"}}),
    ],
)
def test_every_way_of_asking_for_thought_is_understood(source: Dialect, members: dict[str, Any]) -> None:
    payload = HELLO[source] | members
    assert body_of(source, payload, "openai-chat", model="gpt-5.2")["reasoning_effort"] == "high"


@pytest.mark.parametrize("source", ["openai-chat", "anthropic"])
def test_no_thought_is_asked_for_as_such(source: Dialect) -> None:
    off: dict[str, Any] = (
        {"reasoning_effort": "none"} if source == "openai-chat" else {"thinking": {"type": "disabled"}}
    )
    payload = HELLO[source] | off
    assert body_of(source, payload, "openai-responses")["reasoning"] == {"effort": "none"}
    assert codes_of(source, payload, "openai-responses") == []
    assert "thinking" not in body_of(source, payload, "anthropic")


@pytest.mark.parametrize(
    ("asked", "level", "body", "told"),
    [
        ({}, "high", {"effort": "high"}, "high"),
        ({"reasoning_effort": "low"}, "high", {"effort": "high"}, "high"),
        ({"reasoning_effort": "high"}, "off", {"effort": "none"}, "off"),
        ({"reasoning_effort": "high"}, None, {"effort": "high"}, "high"),
        ({}, None, None, ""),
    ],
)
def test_a_level_that_was_chosen_stands_in_place_of_the_clients(
    asked: dict[str, Any], level: Any, body: dict[str, str] | None, told: str
) -> None:
    conversation = parse_request(json.dumps(chat(**asked)).encode(), "openai-chat")
    found = translate_request(conversation, Target(dialect="openai-responses", model="gpt-5.2"), level=level)
    assert json.loads(found.body).get("reasoning") == body
    assert (found.thinking, found.dropped) == (told, ())


def test_thought_that_nobody_can_ask_a_model_for_is_told() -> None:
    payload = messages(thinking={"type": "adaptive"})
    assert codes_of("anthropic", payload, "openai-chat", model="qwen3-coder") == [("effort", "effort")]


@pytest.mark.parametrize("provider", ["mistral", "groq", "deepseek"])
def test_hosts_of_chat_completions_get_nothing_that_they_refuse(provider: str) -> None:
    """anon-kode#53: Mistral refuses the wish for usage; crush#1590: and thinking of the loop; req_llm#772: so does Groq."""
    thought = {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "Hm."}]}
    sealed = wrap(Seal(owner="openai-chat", family="m", data="x"), "openai-responses")
    call = {"type": "function_call", "call_id": "abcdef123", "name": "ls", "arguments": "{}"}
    items = (
        {"role": "user", "content": "Look."},
        {**thought, "encrypted_content": sealed},
        call,
        {"type": "function_call_output", "call_id": "abcdef123", "output": "a"},
    )
    tools = [{"type": "function", "name": "ls", "parameters": {"type": "object", "properties": {}}}]
    payload = responses(*items, tools=tools, stream=True)
    body = body_of("openai-responses", payload, "openai-chat", model="m", provider=provider)
    assert ("stream_options" in body) == (provider != "mistral")
    assert ("reasoning_content" in body["messages"][1]) == (provider == "deepseek")
    assert find_refusal("openai-chat", body) is None


def test_a_loop_that_began_without_thinking_goes_on_without() -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "weather", "arguments": "{}"}}
    said = [
        {"role": "user", "content": "Weather?"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": "Sun."},
    ]
    payload = chat(*said, reasoning_effort="high", tools=TOOLS["openai-chat"])
    assert "thinking" not in body_of("openai-chat", payload, "anthropic")
    assert ("effort", "effort") in codes_of("openai-chat", payload, "anthropic")


def test_thinking_is_shown_to_who_asks_to_see_it() -> None:
    payload = contents(generationConfig={"thinkingConfig": {"thinkingBudget": 8_192, "includeThoughts": True}})
    assert body_of("gemini", payload, "anthropic", model="claude-opus-4-6")["thinking"]["display"] == "summarized"
    assert body_of("gemini", payload, "openai-responses")["reasoning"] == {"summary": "auto", "effort": "medium"}
    hidden = messages(thinking={"type": "adaptive"})
    assert "summary" not in body_of("anthropic", hidden, "openai-responses")["reasoning"]


# --- Pictures and documents ---

PDF = base64.b64encode(b"%PDF-1.4").decode()
NOTE = base64.b64encode("Größe: 3".encode()).decode()


def test_a_picture_by_its_address_is_carried() -> None:
    url = "https://example.org/a.png"
    payload = chat({"role": "user", "content": [{"type": "image_url", "image_url": {"url": url, "detail": "low"}}]})
    assert body_of("openai-chat", payload, "anthropic")["messages"][0]["content"][0]["source"] == {
        "type": "url",
        "url": url,
    }
    block = body_of("openai-chat", payload, "openai-responses")["input"][0]["content"][0]
    assert block == {"type": "input_image", "image_url": url, "detail": "low"}
    assert body_of("openai-chat", payload, "gemini")["contents"][0]["parts"][0]["fileData"]["fileUri"] == url


def test_a_document_is_carried_where_both_sides_know_such() -> None:
    source = {"type": "base64", "media_type": "application/pdf", "data": PDF}
    payload = messages({"role": "user", "content": [{"type": "document", "title": "a.pdf", "source": source}]})
    address = f"data:application/pdf;base64,{PDF}"
    file = body_of("anthropic", payload, "openai-chat")["messages"][0]["content"][0]["file"]
    assert file == {"filename": "a.pdf", "file_data": address}
    block = body_of("anthropic", payload, "openai-responses")["input"][0]["content"][0]
    assert (block["filename"], block["file_data"]) == ("a.pdf", address)
    inline = body_of("anthropic", payload, "gemini")["contents"][0]["parts"][0]["inlineData"]
    assert inline == {"mimeType": "application/pdf", "data": PDF}
    back = body_of("openai-chat", body_of("anthropic", payload, "openai-chat"), "anthropic")
    assert back["messages"][0]["content"][0]["source"] == source


def test_a_document_of_text_is_text_for_every_model() -> None:
    file = {"filename": "note.txt", "file_data": f"data:text/plain;base64,{NOTE}"}
    payload = chat({"role": "user", "content": [{"type": "file", "file": file}]})
    assert body_of("openai-chat", payload, "anthropic")["messages"][0]["content"][0]["text"] == "note.txt\n\nGröße: 3"


@pytest.mark.parametrize("target", ["openai-chat", "openai-responses", "gemini"])
def test_a_picture_in_a_result_is_seen_by_the_model(target: Dialect) -> None:
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}}
    use = {"type": "tool_use", "id": "t1", "name": "shot", "input": {}}
    result = {"type": "tool_result", "tool_use_id": "t1", "content": [{"type": "text", "text": "Here."}, image]}
    said = [
        {"role": "user", "content": "Look."},
        {"role": "assistant", "content": [use]},
        {"role": "user", "content": [result]},
    ]
    translated = translate("anthropic", messages(*said), target)
    assert PNG.encode() in translated.body
    assert find_refusal(target, body_of("anthropic", messages(*said), target)) is None


# --- System, users, hints ---


def test_instructions_amid_the_conversation_keep_their_place() -> None:
    said = [
        {"role": "system", "content": "First."},
        {"role": "user", "content": "Hello."},
        {"role": "developer", "content": "Later."},
        {"role": "user", "content": "Go on."},
    ]
    items = body_of("openai-chat", chat(*said), "openai-responses")["input"]
    assert [item["role"] for item in items] == ["user", "developer", "user"]
    body = body_of("openai-chat", chat(*said), "anthropic")
    assert body["system"][0]["text"] == "First."
    texts = [block["text"] for block in body["messages"][0]["content"]]
    assert texts == ["Hello.", "<system-instruction>\nLater.\n</system-instruction>", "Go on."]
    assert codes_of("openai-chat", chat(*said), "anthropic") == [("system_as_user", "messages")]


def test_no_more_than_four_cache_marks_reach_anthropic() -> None:
    mark = {"cache_control": {"type": "ephemeral"}}
    blocks = [{"type": "text", "text": str(number), **mark} for number in range(6)]
    body = body_of("openai-chat", chat({"role": "user", "content": blocks}), "anthropic")
    marked = [block["text"] for block in body["messages"][0]["content"] if "cache_control" in block]
    assert marked == ["0", "3", "4", "5"]


@pytest.mark.parametrize(
    ("target", "path"),
    [("openai-chat", ("user",)), ("openai-responses", ("safety_identifier",)), ("anthropic", ("metadata", "user_id"))],
)
def test_the_id_of_the_user_is_carried(target: Dialect, path: tuple[str, ...]) -> None:
    found: Any = body_of("openai-chat", chat(user="u1"), target)
    for key in path:
        found = found[key]
    assert found == "u1"


def test_an_id_of_the_user_that_is_too_long_is_left_out_and_told() -> None:
    payload = messages(metadata={"user_id": "x" * 200})
    assert "user" not in body_of("anthropic", payload, "openai-chat")
    assert codes_of("anthropic", payload, "openai-chat") == [("user", "user")]


def test_members_that_nobody_knows_are_told_once_each() -> None:
    payload = chat(logit_bias={"1": 2}, service_tier="flex", metadata={"a": "b"}, store=True)
    assert codes_of("openai-chat", payload, "anthropic") == [
        ("not_carried", "logit_bias"),
        ("not_carried", "service_tier"),
        ("not_carried", "metadata"),
        ("not_carried", "store"),
    ]


def test_a_stream_of_chat_completions_is_always_asked_for_its_usage() -> None:
    body = body_of("anthropic", messages(stream=True), "openai-chat")
    assert (body["stream"], body["stream_options"]) == (True, {"include_usage": True})
    assert "stream_options" not in body_of("anthropic", messages(), "openai-chat")


def test_arguments_that_are_no_json_are_never_made_empty() -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "ls", "arguments": '{"path": "/'}}
    said = [
        {"role": "user", "content": "List."},
        {"role": "assistant", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": "Bad arguments."},
    ]
    block = body_of("openai-chat", chat(*said), "anthropic")["messages"][1]["content"][0]
    assert block["input"] == {"INVALID_JSON": '{"path": "/'}
