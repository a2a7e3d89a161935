"""Rules: which reply serves, how often, and how they are written in a file."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from ullage.core.errors import InputError
from ullage.testing import Fault, Reply, Rule, ToolUse, load_script
from ullage.testing.prompt import Prompt
from ullage.testing.script import Script

if TYPE_CHECKING:
    from pathlib import Path

PROMPT = Prompt(dialect="anthropic", model="claude-x-5", stream=True, user_text="List the files.", result_text=None)

TOML = """
[[rules]]
dialect = "anthropic"
model = "claude-*"
times = 2
reply = { text = "Hello.", thinking = "Hm.", tool_calls = [{ name = "Bash", arguments = { command = "ls" } }] }

[[rules]]
fault = { status = 429, retry_after_s = 2 }
"""
JSON = """{"rules": [
  {"dialect": "anthropic", "model": "claude-*", "times": 2, "reply":
    {"text": "Hello.", "thinking": "Hm.", "tool_calls": [{"name": "Bash", "arguments": {"command": "ls"}}]}},
  {"fault": {"status": 429, "retry_after_s": 2}}]}"""


@pytest.mark.parametrize(
    ("rule", "matches"),
    [
        (Rule(), True),
        (Rule(dialect="gemini"), False),
        (Rule(model="claude-*"), True),
        (Rule(model="gpt-*"), False),
        (Rule(user_text="list THE"), True),
        (Rule(user_text="delete"), False),
        (Rule(after_tool=False), True),
        (Rule(after_tool=True), False),
        (Rule(stream=True), True),
        (Rule(stream=False), False),
        (Rule(route="count"), False),
    ],
)
def test_a_rule_serves_when_all_it_asks_for_holds(rule: Rule, matches: bool) -> None:
    assert (Script([rule]).pick("generate", PROMPT) is rule) is matches


def test_rules_serve_in_order_and_as_often_as_they_say() -> None:
    first, second, last = Rule(times=1), Rule(times=2), Rule()
    script = Script([first, second, last])
    assert [script.pick("generate", PROMPT) for _ in range(5)] == [first, second, second, last, last]


def test_bare_replies_and_faults_serve_once_each() -> None:
    script = Script([Reply(text="a"), Fault(status=500)])
    picked = [script.pick("generate", PROMPT) for _ in range(3)]
    assert picked == [Rule(reply=Reply(text="a"), times=1), Rule(fault=Fault(status=500), times=1), None]


def test_rules_can_be_added_and_dropped_while_it_runs() -> None:
    script = Script()
    script.add(Reply(text="a"))
    script.clear()
    script.add(Reply(text="b"))
    rule = script.pick("generate", PROMPT)
    assert rule is not None
    assert rule.reply == Reply(text="b")


def test_a_fixed_reply_cannot_depend_on_text() -> None:
    with pytest.raises(ValueError, match="fixed"):
        Rule(user_text="x", reply=Reply(fixed=True))


def test_arguments_may_be_raw_text() -> None:
    assert ToolUse(name="a", arguments='{"broken').arguments_json == '{"broken'


@pytest.mark.parametrize(("name", "text"), [("script.toml", TOML), ("script.json", JSON)])
def test_a_script_is_read_from_toml_or_json(tmp_path: Path, name: str, text: str) -> None:
    path = tmp_path / name
    path.write_text(text)
    call = ToolUse(name="Bash", arguments={"command": "ls"})
    assert load_script(path) == (
        Rule(
            dialect="anthropic",
            model="claude-*",
            times=2,
            reply=Reply(text="Hello.", thinking="Hm.", tool_calls=(call,)),
        ),
        Rule(fault=Fault(status=429, retry_after_s=2)),
    )


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("[[rules]]\nmodle = 'x'", "modle"),
        ("[[rules]]\ntimes = 'x'", r"rules\[0\]\.times"),
        ("not toml", "line 1"),
        ("[[rules]]\nuser_text = 'x'\nreply = {fixed = true}", "fixed"),
    ],
)
def test_a_script_that_cannot_be_read_says_where(tmp_path: Path, text: str, place: str) -> None:
    path = tmp_path / "script.toml"
    path.write_text(text)
    with pytest.raises(InputError, match=place):
        load_script(path)
