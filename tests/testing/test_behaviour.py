"""What is said without a script."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from msgspec.structs import replace

from ullage.core.content import ToolSpec
from ullage.core.wire import DIALECTS, Dialect
from ullage.testing import Exchange, FakeProvider, make_request
from ullage.testing.behaviour import default_reply, example_of
from ullage.testing.dialects import DIALECT_MODULES
from ullage.testing.prompt import OfferedTool

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from tests.testing.conftest import Result
    from ullage.testing.prompt import Prompt

    Ask = Callable[..., Awaitable[Result]]

TEXT = {"type": "string"}
TITLE = {"type": "object", "properties": {"title": {"type": "string"}}, "required": ["title"]}


def read(dialect: Dialect, turns: Any = ("Hello.",), **fields: Any) -> Prompt:
    tools = fields.pop("tools", ())
    payload = make_request(dialect, turns=turns, tools=tools, extra=fields).payload
    return DIALECT_MODULES[dialect].read(payload, "m", True)


def shell(name: str, **properties: Any) -> ToolSpec:
    return ToolSpec(name=name, parameters={"type": "object", "properties": properties, "required": list(properties)})


@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_same_question_gets_the_same_answer(dialect: Dialect) -> None:
    reply = default_reply(read(dialect, ("What is it?",)))
    assert reply == default_reply(read(dialect, ("What is it?",)))
    assert "What is it?" in reply.text


def test_reminders_of_the_client_are_not_echoed() -> None:
    text = "<system-reminder>Be careful.</system-reminder>\n\nSay hello."
    assert "“Say hello.”" in default_reply(read("anthropic", (text,))).text


def test_a_long_question_is_quoted_in_part() -> None:
    assert len(default_reply(read("gemini", ("x" * 10_000,))).text) < 500


def test_a_tool_that_runs_scripts_is_given_one_that_calls_the_shell() -> None:
    prompt = read("openai-responses", ("Use the tool.",), tools=[])
    script = OfferedTool(name="exec", namespace="functions", schema={}, custom=True)
    (call,) = default_reply(replace(prompt, tools=(script,))).tool_calls
    assert call.arguments == 'text(await tools.exec_command({cmd: "ls"}))'


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        (shell("Bash", command=TEXT, description=TEXT), {"command": "ls", "description": "A short answer"}),
        (shell("exec_command", cmd=TEXT), {"cmd": "ls"}),
        (shell("shell", command={"type": "array"}), {"command": ["ls"]}),
        (shell("run_shell_command", command=TEXT), {"command": "ls"}),
    ],
    ids=lambda value: value.name if isinstance(value, ToolSpec) else "",
)
def test_the_shell_tool_is_called_once_when_asked_for(tool: ToolSpec, arguments: dict[str, Any]) -> None:
    turns = ("Please use the tool.", Exchange(tool=tool.name, result="two files"))
    (call,) = default_reply(read("anthropic", turns[:1], tools=(tool,))).tool_calls
    assert (call.name, call.arguments) == (tool.name, arguments)
    after = default_reply(read("anthropic", turns, tools=(tool,)))
    assert after.tool_calls == ()
    assert "two files" in after.text


def test_without_a_shell_tool_or_the_phrase_there_is_no_call() -> None:
    other = shell("search", query={"type": "string"})
    assert not default_reply(read("openai-chat", ("use the tool",), tools=(other,))).tool_calls
    assert not default_reply(read("openai-chat", ("hello",), tools=(shell("bash"),))).tool_calls


@pytest.mark.parametrize(
    ("dialect", "fields"),
    [
        ("anthropic", {"output_config": {"format": {"type": "json_schema", "schema": TITLE}}}),
        ("openai-chat", {"response_format": {"type": "json_schema", "json_schema": {"name": "t", "schema": TITLE}}}),
        ("openai-responses", {"text": {"format": {"type": "json_schema", "name": "t", "schema": TITLE}}}),
        ("gemini", {"generationConfig": {"responseMimeType": "application/json", "responseJsonSchema": TITLE}}),
    ],
)
def test_a_wanted_schema_gets_json_that_follows_it(dialect: Dialect, fields: dict[str, Any]) -> None:
    reply = default_reply(read(dialect, **fields))
    assert isinstance(msgspec.json.decode(reply.text)["title"], str)


def test_json_without_a_schema_is_an_object() -> None:
    fields = {"response_format": {"type": "json_object"}}
    assert msgspec.json.decode(default_reply(read("openai-chat", **fields)).text) == {}


def test_a_compaction_prompt_gets_the_form_it_asks_for() -> None:
    text = default_reply(read("anthropic", ("Wrap it in <summary> tags.",))).text
    assert "<summary>" in text
    assert "</summary>" in text


@pytest.mark.parametrize("stream", [True, False], ids=["stream", "json"])
async def test_a_compaction_trigger_gets_exactly_one_compaction_item(
    ask: Ask, provider: FakeProvider, stream: bool
) -> None:
    items = [{"role": "user", "content": "Hello."}, {"type": "compaction_trigger"}]
    result = await ask(provider, make_request("openai-responses", stream=stream, extra={"input": items}))
    response = result.events[-1]["response"] if stream else result.json
    (item,) = response["output"]
    assert (item["type"], bool(item["encrypted_content"])) == ("compaction", True)


def test_what_was_compacted_is_not_done_again() -> None:
    items = [{"role": "user", "content": "use the tool"}, {"type": "compaction", "encrypted_content": "x"}]
    assert not default_reply(read("openai-responses", tools=(shell("shell"),), input=items)).tool_calls


@pytest.mark.parametrize(
    ("dialect", "fields"),
    [
        ("anthropic", {"thinking": {"type": "adaptive"}}),
        ("openai-responses", {"include": ["reasoning.encrypted_content"]}),
        ("gemini", {"generationConfig": {"thinkingConfig": {"includeThoughts": True}}}),
    ],
)
def test_thinking_comes_when_it_is_asked_for(dialect: Dialect, fields: dict[str, Any]) -> None:
    assert default_reply(read(dialect, **fields)).thinking
    assert not default_reply(read(dialect)).thinking


def test_examples_follow_what_schemas_say() -> None:
    schema = {
        "$defs": {"kind": {"enum": ["b", "a"]}},
        "type": "OBJECT",
        "properties": {
            "kind": {"$ref": "#/$defs/kind"},
            "score": {"type": "INTEGER", "minimum": 3},
            "ok": {"type": "boolean"},
            "rows": {"type": "array", "minItems": 2, "items": {"const": 7}},
            "maybe": {"anyOf": [{"type": "null"}, {"type": "string"}]},
            "many": {"type": ["string", "null"], "minLength": 20, "maxLength": 22},
        },
    }
    value = example_of(schema)
    assert (value["kind"], value["score"], value["ok"], value["rows"], value["maybe"]) == ("b", 3, False, [7, 7], None)
    assert 20 <= len(value["many"]) <= 22


def test_a_schema_that_refers_to_itself_ends() -> None:
    schema = {"type": "object", "properties": {"next": {"$ref": "#"}}}
    assert example_of({**schema, "properties": {"next": {"$ref": "#/properties/next"}}}) is not Ellipsis
