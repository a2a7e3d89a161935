"""Names that stand for the router, and requests that may carry one."""

from __future__ import annotations

from typing import Any

import pytest

from ullage.engine import Endpoint
from ullage.engine.virtual import VirtualModels

CHAT = Endpoint(dialect="openai-chat", purpose="generate", path="/v1/chat/completions")
NAMES = VirtualModels(["cheap", "team/best"])


@pytest.mark.parametrize(
    ("body", "may"),
    [
        (b'{"model":"auto"}', True),
        (b' { "model" : "ullage/auto", "messages": [] }', True),
        (b'{"model":"ullage\\/auto"}', True),
        (b'{"model":"pi-auto-model/auto"}', True),
        (b'{"model":"cheap"}', True),
        (b'{"model":"team/best"}', True),
        (b'{"messages":[],"model":"team/best"}', True),
        (b'{"messages":[{"role":"user","content":"hi"}], "model" :\n"auto","stream":true}', True),
        (b'{"model":"gpt-5"}', False),
        (b'{"model":"gpt-5","tool_choice":"auto"}', False),
        (b'{"model":"auto-2"}', False),
        (b'{"messages":[{"content":"say \\"model\\":\\"auto\\""}],"model":"gpt-5"}', False),
        (b"", False),
        (b"no json", False),
    ],
)
def test_a_name_is_seen_without_reading_the_request(body: bytes, may: bool) -> None:
    assert NAMES.may_name(CHAT, {}, body) is may


@pytest.mark.parametrize(
    ("endpoint", "headers", "may"),
    [
        (CHAT, {"content-encoding": "zstd"}, True),
        (CHAT, {"content-encoding": "identity"}, False),
        (CHAT, {"content-encoding": "unheard-of"}, False),
        (Endpoint(dialect="gemini", purpose="generate", path="", model="ullage/auto", stream=True), {}, True),
        (Endpoint(dialect="gemini", purpose="generate", path="", model="gemini-2.5-pro", stream=True), {}, False),
        (Endpoint(dialect="openai-chat", purpose="other", path="/v1/embeddings"), {}, False),
    ],
)
def test_what_cannot_be_seen_may_be_there(endpoint: Endpoint, headers: dict[str, str], may: bool) -> None:
    assert NAMES.may_name(endpoint, headers, b"(compressed)") is may


@pytest.mark.parametrize("named", ["auto", "ullage/auto", "cheap"])
def test_switched_off_there_are_none(named: str) -> None:
    names: Any = VirtualModels(["cheap"], enabled=False)
    assert named not in names and not names.listed
    assert not names.may_name(CHAT, {}, b'{"model":"auto"}')


def test_lists_show_the_router_and_the_aliases() -> None:
    assert NAMES.listed == ("ullage/auto", "cheap", "team/best")
    assert (NAMES.alias_of("cheap"), NAMES.alias_of("auto"), NAMES.alias_of("gpt-5")) == ("cheap", None, None)
