"""Conversations with gold evidence: what is asked at their end, and which messages answer it.

A folder of such data holds `conversations.jsonl` (or the same with `.xz`) and `queries.jsonl`. The query of a case is the current
request; the messages before it are what a selection chooses from. Query and system prompt stand outside of the budget.
"""

from __future__ import annotations

import lzma
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec
from msgspec import Struct, field

from ullage.core.accounting import make_meter
from ullage.core.errors import InputError
from ullage.core.planning.assembling import RequestFacts, count_within, read_facts
from ullage.core.wire import parse_request

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from ullage.core.accounting import Meter

ESTIMATOR = "wire-v1"
PROVIDER, MODEL = "openai", "gpt-4.1"
"""A model whose texts o200k_base counts exactly: histories name none."""

_CONVERSATIONS = ("conversations.jsonl.xz", "conversations.jsonl")
_QUERIES = "queries.jsonl"

_R = TypeVar("_R", bound=Struct)


class ToolCall(Struct, frozen=True, kw_only=True):
    """A tool call of a history, its arguments as JSON text."""

    id: str
    name: str
    arguments: str


class BenchMessage(Struct, frozen=True, kw_only=True):
    """One message of a history. `turn` is the number of the user turn, -1 for the system prompt."""

    id: str
    role: str
    content: str
    turn: int
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str | None = None
    pinned: bool = False


class Query(Struct, frozen=True, kw_only=True):
    """One case. `gold_messages` are what a good plan keeps; `gold_groups` and `gold_any_of` need at least one of theirs each;
    `stale_messages` are earlier values of what changed later; `group_members` are a batch of parallel calls with their results.
    """

    id: str
    conv: str
    type: str
    query: str
    gold_messages: frozenset[str] = frozenset()
    gold_groups: dict[str, frozenset[str]] = field(default_factory=dict)
    gold_any_of: dict[str, frozenset[str]] = field(default_factory=dict)
    stale_messages: frozenset[str] = frozenset()
    group_members: frozenset[str] = frozenset()


class History(Struct, frozen=True, kw_only=True):
    """A conversation before its queries, with facts and tokens of its messages. System prompts are outside of every budget, and
    weigh nothing."""

    id: str
    messages: tuple[BenchMessage, ...]
    facts: RequestFacts


class _Conversation(Struct, frozen=True, kw_only=True):
    id: str
    messages: tuple[BenchMessage, ...]


class Bench(Struct, frozen=True, kw_only=True):
    """One set of cases, by the name of its folder."""

    name: str
    histories: dict[str, History]
    queries: tuple[Query, ...]


def find_benches(roots: tuple[Path, ...]) -> list[Path]:
    """The folders among and below the given ones that hold a set. Raises `InputError` if one holds none."""
    found: dict[Path, None] = {}
    for root in roots:
        below = sorted(path.parent for path in root.rglob(_QUERIES)) if root.is_dir() else []
        if not below:
            raise InputError(
                f"{root} holds no set of cases.", hint=f"Give a folder with {_CONVERSATIONS[1]} and {_QUERIES}."
            )
        found |= dict.fromkeys(below)
    return list(found)


def read_bench(folder: Path) -> Bench:
    """Reads and weighs a set. Raises `InputError` for files that are not there or hold something else."""
    meter = make_meter(dialect="openai-chat", provider=PROVIDER, model=MODEL, client=None, estimator=ESTIMATOR)
    path = next((folder / name for name in _CONVERSATIONS if (folder / name).is_file()), folder / _CONVERSATIONS[0])
    histories = {one.id: _history(one, meter) for one in _records(path, _Conversation)}
    queries = tuple(_records(folder / _QUERIES, Query))
    unknown = next((query.conv for query in queries if query.conv not in histories), None)
    if unknown is not None:
        raise InputError(f"{folder / _QUERIES}: there is no conversation {unknown!r}.")
    return Bench(name=folder.name, histories=histories, queries=queries)


def _records(path: Path, kind: type[_R]) -> Iterator[_R]:
    """The lines of a file, one record each."""
    decoder = msgspec.json.Decoder(kind)
    try:
        with lzma.open(path) if path.suffix == ".xz" else path.open("rb") as file:
            for line in file:
                if line.strip():
                    yield decoder.decode(line)
    except (msgspec.MsgspecError, lzma.LZMAError, EOFError) as error:
        raise InputError(f"{path} cannot be read: {error}.", hint="Its lines are described in the manual.") from error
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}.", code="not_found") from error


def _history(conversation: _Conversation, meter: Meter) -> History:
    """The history as an OpenAI Chat request would hold it."""
    body = msgspec.json.encode({"model": MODEL, "messages": list(map(_as_chat, conversation.messages))})
    facts = count_within(read_facts(parse_request(body, "openai-chat"), meter), "messages")
    return History(id=conversation.id, messages=conversation.messages, facts=facts)


def _as_chat(message: BenchMessage) -> dict[str, Any]:
    chat: dict[str, Any] = {"role": message.role, "content": message.content}
    if message.tool_calls:
        chat["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
            for call in message.tool_calls
        ]
    if message.tool_call_id is not None:
        chat["tool_call_id"] = message.tool_call_id
    return chat
