"""The working folder that each client names, in its own words."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from ullage.core.wire import Conversation, Dialect, find_project, parse_request

DATA = Path(__file__).parents[2] / "data" / "clients"


def anthropic(text: str) -> Conversation:
    body = {"model": "m", "system": [{"type": "text", "text": text}], "messages": [{"role": "user", "content": "x"}]}
    return parse_request(msgspec.json.encode(body), "anthropic")


@pytest.mark.parametrize(
    ("client", "text", "folder"),
    [
        ("claude-code", "environment: \n - Primary working directory: /home/a/proj\n - Is a git", "/home/a/proj"),
        ("claude-code", "<env>\nWorking directory: /home/a b/ü\nIs directory", "/home/a b/ü"),
        ("opencode", "<env>\n  Working directory: C:\\work\\proj\n  Workspace", "C:\\work\\proj"),
        ("pi", "</skills>\n\n<cwd>\n/home/a/proj\n</cwd>", "/home/a/proj"),
        ("pi", "Current date: 2026-11-30\nCurrent working directory: /home/a/proj", "/home/a/proj"),
        ("codex", "<environment_context>\n  <cwd>/home/a/proj</cwd>\n", "/home/a/proj"),
        ("gemini-cli", "- **Workspace Directories:**\n  - /home/a/proj\n- **Directory", "/home/a/proj"),
    ],
)
def test_each_client_names_its_folder_in_its_own_words(client: str, text: str, folder: str) -> None:
    assert find_project(anthropic(text), client) == folder


@pytest.mark.parametrize("name", ["codex-0.171.0", "codex-0.171.0-default-model", "pi-1.6.0", "pi-0.74.2"])
def test_requests_of_real_clients_name_it(name: str) -> None:
    recorded = msgspec.json.decode((DATA / f"{name}.json").read_bytes())
    found = {find_project(conversation, recorded["client"]) for conversation in conversations(recorded)}
    assert found - {None}
    assert found <= {None, "/home/user/project", "/home/user/project/sub"}


def conversations(recorded: dict[str, Any]) -> list[Conversation]:
    dialects: dict[str, Dialect] = {
        "/messages": "anthropic",
        "/responses": "openai-responses",
        "/chat/completions": "openai-chat",
    }
    return [
        parse_request(msgspec.json.encode(request["body"]), dialect)
        for request in recorded["requests"]
        for ending, dialect in dialects.items()
        if request["body"] and request["target"].split("?")[0].endswith(ending)
    ]


def test_the_words_of_another_client_mean_nothing() -> None:
    assert find_project(anthropic("<cwd>/home/a</cwd>"), "openai-sdk") is None


@pytest.mark.parametrize("path", ["relative/path", "", "/with\x07bell", "/" + "x" * 5000])
def test_what_is_no_absolute_printable_path_is_none(path: str) -> None:
    assert find_project(anthropic(f"<cwd>{path}</cwd>"), "codex") is None


def test_only_the_first_messages_are_searched() -> None:
    messages = [{"role": "user", "content": f"m{number}"} for number in range(9)]
    messages[8]["content"] = "<cwd>/home/a</cwd>"
    body = msgspec.json.encode({"model": "m", "messages": messages})
    assert find_project(parse_request(body, "openai-chat"), "codex") is None
