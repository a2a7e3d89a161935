"""The smallest generation of a captured request: what the probe sends where nobody counts (accounting specification, 16.2).

Members that bear on the prompt pass byte for byte; whatever steers the answer is left out, output is capped, thinking is off.
"""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING
from urllib.parse import quote

import msgspec
from msgspec import Struct

from .cases import case_members, json_object, names_a_tool

if TYPE_CHECKING:
    from collections.abc import Container

    from ullage.core.accounting.isolation import Case
    from ullage.core.wire import Conversation, Dialect


class Generation(Struct, frozen=True, kw_only=True):
    """How a dialect is asked for next to nothing.

    `kept` are the members that bear on the prompt; `choice` goes where tools are. `fixed` are members of ours. `cap` is the
    member that caps the output, and `least` its smallest value.
    """

    path: str
    kept: tuple[str, ...]
    cap: str
    least: int
    choice: str = "tool_choice"
    fixed: dict[str, bytes] = {}


GENERATIONS: dict[Dialect, Generation] = {
    "openai-chat": Generation(
        path="/v1/chat/completions",
        kept=("model", "messages", "tools", "functions"),
        cap="max_tokens",
        least=1,
    ),
    "openai-responses": Generation(
        path="/v1/responses",
        kept=("model", "instructions", "input", "tools"),
        cap="max_output_tokens",
        least=16,  # the API refuses less
        fixed={"store": b"false"},
    ),
    "anthropic": Generation(
        path="/v1/messages",
        kept=("model", "system", "tools", "messages"),
        cap="max_tokens",
        least=1,
    ),
    "gemini": Generation(
        path="/v1beta/models/{model}:generateContent",
        kept=("systemInstruction", "tools", "contents"),
        choice="toolConfig",
        cap="maxOutputTokens",
        least=1,
    ),
}

# What a model that thinks unasked is told, by dialect and name; the first match counts. Anthropic thinks only when asked.
_THINKING_OFF: tuple[tuple[Dialect, str, dict[str, bytes]], ...] = (
    ("openai-chat", "*glm-*", {"thinking": b'{"type":"disabled"}'}),
    ("openai-chat", "*deepseek-*", {"thinking": b'{"type":"disabled"}'}),
    ("openai-chat", "*qwen*", {"enable_thinking": b"false"}),
    ("openai-chat", "*gpt-5.[1-9]*", {"reasoning_effort": b'"none"'}),
    ("openai-chat", "*gpt-5*", {"reasoning_effort": b'"minimal"'}),
    ("openai-chat", "*gpt-6*", {"reasoning_effort": b'"none"'}),
    ("openai-responses", "*gpt-5.[1-9]*", {"reasoning": b'{"effort":"none"}'}),
    ("openai-responses", "*gpt-5*", {"reasoning": b'{"effort":"minimal"}'}),
    ("openai-responses", "*gpt-6*", {"reasoning": b'{"effort":"none"}'}),
    ("gemini", "*gemini-2.5-pro*", {"thinkingConfig": b'{"thinkingBudget":128}'}),
    ("gemini", "*gemini-2.5*", {"thinkingConfig": b'{"thinkingBudget":0}'}),
    ("gemini", "*gemini-3*", {"thinkingConfig": b'{"thinkingLevel":"low"}'}),
)

# Chat Completions renamed its cap with the models that think; other hosts of the dialect know the old name only.
_RENAMED_CAP = "max_completion_tokens"
_RENAMED_FOR = ("*gpt-5*", "*gpt-6*", "o[1-9]*", "openai/o[1-9]*")

# A cap that upstreams take which refuse to stop after one token.
ROOMY_CAP = 16


class Tiny(Struct, frozen=True, kw_only=True):
    """A generation ready to be sent. `output_cap` is the most tokens it may answer with, thinking included."""

    case: str
    path: str
    body: bytes
    output_cap: int


def tiny_request(conversation: Conversation, case: Case, model: str, *, plain: bool = False) -> Tiny:
    """The smallest generation of a case.

    `plain` leaves out what switches thinking off and asks for a few tokens instead of one, for upstreams that refuse either.
    """
    dialect = conversation.dialect
    row = GENERATIONS[dialect]
    members = case_members(conversation, case, model=model)
    kept = {name: members[name] for name in row.kept if name in members}
    choice = members.get(row.choice)
    if choice is not None and case.tools and not (case.minimal and names_a_tool(choice)):
        kept[row.choice] = choice
    cap = max(row.least, ROOMY_CAP) if plain else row.least
    limits = {
        cap_member(dialect, model, members): msgspec.json.encode(cap),
        **({} if plain else thinking_off(dialect, model)),
    }
    if dialect == "gemini":
        limits = {"generationConfig": json_object(limits)}
    return Tiny(
        case=case.id,
        path=row.path.replace("{model}", quote(model.removeprefix("models/"), safe="")),
        body=json_object({**kept, **row.fixed, **limits}),
        output_cap=cap,
    )


def cap_member(dialect: Dialect, model: str, members: Container[str]) -> str:
    """The member that caps the output: on Chat the newer one for models that refuse the older, or where the client uses it."""
    if dialect != "openai-chat":
        return GENERATIONS[dialect].cap
    renamed = _RENAMED_CAP in members or any(fnmatchcase(model.lower(), pattern) for pattern in _RENAMED_FOR)
    return _RENAMED_CAP if renamed else GENERATIONS[dialect].cap


def left_out(conversation: Conversation) -> tuple[str, ...]:
    """The members of the captured request that no generation of ours carries."""
    row = GENERATIONS[conversation.dialect]
    spelled = {name.replace("_", "").lower() for name in (*row.kept, row.choice)}
    names = (member.key for member in conversation.members)
    return tuple(name for name in names if name.replace("_", "").lower() not in spelled)


def thinking_off(dialect: Dialect, model: str) -> dict[str, bytes]:
    """The members that keep a model from thinking; none where that is its nature, or where nothing is known of it."""
    name = model.lower()
    return next((found for wire, pattern, found in _THINKING_OFF if wire == dialect and fnmatchcase(name, pattern)), {})
