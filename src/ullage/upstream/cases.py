"""A case of an isolation as the raw members of a request: what a count and a tiny generation are built from."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec

from ullage.core.wire import parse_request, render

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ullage.core.accounting.isolation import Case
    from ullage.core.wire import Conversation, Dialect

# The smallest message (accounting specification, section 15.2), and the member that holds the messages.
_MINIMAL: dict[Dialect, tuple[str, bytes]] = {
    "openai-chat": ("messages", b'{"role":"user","content":"hi"}'),
    "openai-responses": ("input", b'{"role":"user","content":"hi"}'),
    "anthropic": ("messages", b'{"role":"user","content":"hi"}'),
    "gemini": ("contents", b'{"role":"user","parts":[{"text":"hi"}]}'),
}
_WORD = re.compile(r"_([a-z])")
# Members that no case without its tools can have: they name one of them.
_NAMES_A_TOOL = re.compile(rb'"(?:name|function|tools|allowed_?[fF]unction_?[nN]ames)"\s*:')


def case_members(conversation: Conversation, case: Case, *, model: str | None = None) -> dict[str, bytes]:
    """The raw members of the request that holds the slices of the case and nothing else of its kind; `model` replaces its model.

    A minimal case has the message `hi` behind the messages it keeps. Gemini's two spellings become one.
    """
    body = render(conversation, messages=case.messages, tools=case.tools, system=case.system, model=model)
    selected = parse_request(body, conversation.dialect)
    members = {member.key: body[member.value : member.end] for member in selected.members}
    if conversation.dialect == "gemini":
        members = {_WORD.sub(lambda match: match[1].upper(), key): value for key, value in members.items()}
    if case.minimal:
        key, message = _MINIMAL[conversation.dialect]
        members[key] = b"[" + b",".join([*(piece.raw for piece in selected.messages), message]) + b"]"
    return members


def names_a_tool(choice: bytes) -> bool:
    """Whether a tool choice demands certain tools by name."""
    return _NAMES_A_TOOL.search(choice) is not None


def json_object(members: Mapping[str, bytes], wrapper: Iterable[str] = ()) -> bytes:
    """The object of these raw members, inside the objects that `wrapper` names from the outermost."""
    body = b"{" + b",".join(msgspec.json.encode(key) + b":" + value for key, value in members.items()) + b"}"
    for key in reversed(list(wrapper)):
        body = b"{" + msgspec.json.encode(key) + b":" + body + b"}"
    return body
