"""What a plan needs to know of a message, without its text: made once per slice, kept by its hash.

The nouns of `core.content` say what a message holds; here is what follows from it for keeping or leaving it: whether it opens a
turn, which calls it makes and answers, and what it must travel with.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from msgspec import Struct

from ullage.core.content import Role

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ullage.core.content import Message, Part
    from ullage.core.wire import Dialect

_MEDIA = frozenset({"image", "document", "audio", "video"})
_SPOKEN = _MEDIA | {"text"}

# Calls that the provider answers itself, in the same item or in one beside it, or not at all: no client owes a result.
_HOSTED = frozenset(
    {
        "code_interpreter_call",
        "executableCode",
        "file_search_call",
        "image_generation_call",
        "mcp_call",
        "mcp_tool_use",
        "server_tool_use",
        "tool_search_call",
        "web_search_call",
    }
)

# Items that are refused without the one that follows: reasoning without what came of it, a consent without what was allowed.
# What an item reference stands for is not known, so it may be one of them.
_LEADING = frozenset({"reasoning", "mcp_approval_response", "item_reference"})

# Where a host adds words of its own to what the user sends, in the client's request and beside tool results.
_HOST_WORDS = "<system-reminder>"

# What Claude Code (2.1.332) says in a system message of its own behind each message of the user. Kept like other system messages,
# those of old turns would pile up, each contradicting the one before.
_PASSING = re.compile(r"\s*<total_tokens>\d+ tokens left</total_tokens>\s*")

SYSTEM_ROLES: frozenset[Role] = frozenset({"system", "developer"})


NO_ID = "\0"
"""Begins the key of a call or a result without an id; its name follows, where it has one."""


class ResultFacts(Struct, frozen=True, kw_only=True, gc=False):
    """A tool result in a message.

    `ordinal` counts the results that the message holds, the order by which `replace_result` of `core.wire` finds one; `None`
    for one that cannot be replaced. `text_chars` are the code points of its texts, joined by line breaks.
    """

    call_id: str | None
    tool: str | None
    text_chars: int
    ordinal: int | None = 0


class SliceFacts(Struct, frozen=True, kw_only=True, gc=False):
    """What matters of one message for a plan.

    `calls` are the calls that wait for a result, `hosted` those that the provider answers itself, and `answers` the calls that
    the message's results belong to: each by its id, one without an id by `NO_ID` and the tool's name. `results` are those results
    in order. `opens_turn`: a message of the user without a tool result (design, section 11). `says`: words of the user beside
    tool results. `leads`: must be followed by what comes next. `opaque`: may be anything, even a call. `compaction`: stands for
    everything before it by the provider's own rule. `thinking`: signed thinking, with which an open tool loop must begin
    (Anthropic alone). `media` counts pictures, documents, sounds and films, nested ones too.
    """

    role: Role
    opens_turn: bool = False
    calls: tuple[str, ...] = ()
    hosted: tuple[str, ...] = ()
    answers: tuple[str, ...] = ()
    results: tuple[ResultFacts, ...] = ()
    says: bool = False
    leads: bool = False
    opaque: bool = False
    summary: bool = False
    compaction: bool = False
    thinking: bool = False
    media: int = 0

    @property
    def system(self) -> bool:
        """A system or developer message inside the list: a fixed part of the request, like the prompt outside of it."""
        return self.role in SYSTEM_ROLES


def facts_of(message: Message, dialect: Dialect, *, summary: bool = False) -> SliceFacts:
    """What matters of a message. `summary` is what a host knows that has summaries as messages of their own kind."""
    parts = message.parts
    # What only says how things stood belongs to its turn, and leaves with it.
    role: Role = "user" if message.role == "system" and _is_passing(parts) else message.role
    results = [part for part in parts if part.kind == "tool_result"]
    calls = [part for part in parts if part.kind == "tool_call"]
    return SliceFacts(
        role=role,
        opens_turn=message.role == "user" and not summary and not results and _is_spoken(parts, dialect),
        calls=tuple(_key(part, dialect) for part in calls if part.wire_type not in _HOSTED),
        hosted=tuple(_key(part, dialect) for part in calls if part.wire_type in _HOSTED),
        answers=tuple(_key(part, dialect) for part in results),
        results=tuple(_result_facts(results, hosted=message.role == "assistant")),
        says=message.role == "tool" and any(map(is_said, parts)),
        leads=len(parts) == 1 and parts[0].wire_type in _LEADING,
        opaque=dialect == "openai-responses" and any(_is_opaque(part) for part in parts),
        summary=summary,
        compaction=any(part.wire_type == "compaction" for part in parts),
        thinking=dialect == "anthropic" and any(part.kind == "thinking" and part.carries_reasoning for part in parts),
        media=sum(map(_count_media, parts)),
    )


def _is_passing(parts: tuple[Part, ...]) -> bool:
    return len(parts) == 1 and _PASSING.fullmatch(parts[0].text) is not None


def _is_spoken(parts: tuple[Part, ...], dialect: Dialect) -> bool:
    """Whether the user says something. In Responses an item that is no message reads as the user's, too, but says nothing."""
    return dialect != "openai-responses" or not parts or any(part.kind in _SPOKEN for part in parts)


def is_said(part: Part) -> bool:
    """Whether it is what the user says, and not what the client adds to that."""
    if part.kind == "text":
        said = part.text.lstrip()
        return said != "" and not said.startswith(_HOST_WORDS)
    return part.kind in _MEDIA


def _is_opaque(part: Part) -> bool:
    return part.kind == "other" and part.wire_type != "compaction"


def _key(part: Part, dialect: Dialect) -> str:
    """What pairs a call with its result. Gemini pairs by name and order: ids are missing, or on one side only."""
    if part.call_id is not None and dialect != "gemini":
        return part.call_id
    return NO_ID + (part.name or "")


def _result_facts(results: list[Part], *, hosted: bool) -> Iterator[ResultFacts]:
    """`hosted` results stand in the message of the model, as the provider wrote them; nobody else may."""
    ordinal = 0
    for part in results:
        replaceable = not hosted and part.wire_type != "codeExecutionResult"
        yield ResultFacts(
            call_id=part.call_id,
            tool=part.name,
            text_chars=_text_chars(part),
            ordinal=ordinal if replaceable else None,
        )
        ordinal += replaceable


def _text_chars(part: Part) -> int:
    texts = [part.text] if not part.parts else [nested.text for nested in part.parts if nested.kind == "text"]
    return len("\n".join(texts))


def _count_media(part: Part) -> int:
    return (part.kind in _MEDIA) + sum(map(_count_media, part.parts))
