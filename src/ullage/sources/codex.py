"""Rollout files of Codex: items of the Responses API with events between them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from ullage.core.content import Message, ToolSpec, Usage
from ullage.core.wire.jsontext import compact
from ullage.core.wire.requests.openai_responses import read_message
from ullage.core.wire.requests.parts import text_part

from .decoding import decode_object, mapping, sequence, string, whole
from .scan import CallDraft, Scan, Unit
from .session import Compaction
from .trail import ROOT

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .records import Rows

_LINE_TYPES = frozenset(
    {
        "compacted",
        "event_msg",
        "inter_agent_communication_metadata",
        "response_item",
        "session_meta",
        "turn_context",
        "world_state",
    }
)

_OUTPUTS = frozenset({"custom_tool_call_output", "function_call_output"})

_BYTES_PER_TOKEN = 4
_SERIALISATION_FACTOR = 1.2
"""The client sends of a tool output at most 1.2 times the tokens of its truncation policy at four bytes each, the
first and the last half. Measured on the three outputs in the recorded sessions that are longer: cut so, the next
prompt is met within 20, 14 and 175 tokens; cut at 44,000 or 50,000 bytes, none within 490."""

_NEVER_SENT = frozenset({"compaction_trigger", "ghost_snapshot"})


def recognises(row: dict[str, Any]) -> bool:
    """Whether a line is one of a rollout: a type and a payload."""
    return string(row.get("type")) in _LINE_TYPES and isinstance(row.get("payload"), dict)


def scan(rows: Rows) -> Scan:
    """Goes through a session once."""
    state = _CodexScan()
    for record, row in rows:
        state.line(record, row)
    state.lose_call(None)
    return state


class _CodexScan(Scan):
    """One pass over a rollout.

    A call ends with its `token_count`. Its reply is what a model can have made since the call before, its prompt all
    that stands above the first of that. Running totals name a call: a count that repeats them repeats the call.
    """

    def __init__(self) -> None:
        super().__init__()
        self._provider: str | None = None
        self._model: str | None = None
        self._policy: int | None = None
        self._output_bytes: int | None = None
        self._prompt = ROOT
        self._reply: list[int] = []
        self._totals: set[tuple[int | None, ...]] = set()
        self._children: dict[tuple[int, int], int] = {}
        self._replaying = False
        self._metas = 0
        self._sub_agent = False
        self._agent: str | None = None

    def line(self, record: int, row: dict[str, Any]) -> None:
        payload = mapping(row.get("payload"))
        moment = self.time(row.get("timestamp"))
        if record == 0:
            self.headless = row.get("type") != "session_meta"
        match row.get("type"):
            case "session_meta":
                self._meta(record, payload)
            case "turn_context":
                self._turn(record, payload)
            case "response_item":
                self._item(record, payload)
            case "compacted":
                self._compacted(record, payload)
            case "event_msg":
                self._event(payload, moment)

    def lose_call(self, reason: str | None, moment: int | None = None) -> None:
        """A reply that no count came for: it was broken off. Its items stay in the conversation."""
        if self._reply:
            self._call(None, moment, stop_reason=reason, failed=True)

    def _meta(self, record: int, payload: dict[str, Any]) -> None:
        """The header. One more is that of a session resumed or forked, whose items are repeated behind it."""
        self._metas += 1
        self.version(payload.get("cli_version"))
        name = string(payload.get("id"))
        if self._metas == 1:
            self.id = name
            self.cwd = string(payload.get("cwd"))
            self.parent = string(payload.get("forked_from_id")) or string(payload.get("parent_thread_id"))
            self._provider = string(payload.get("model_provider"))
            self._sub_agent = bool(mapping(payload.get("source")).get("subagent"))
            self._agent = string(payload.get("agent_nickname")) or string(payload.get("agent_path"))
        else:
            self._replaying = True
        if any(_static(payload)) and (self.prelude == ROOT or name == self.id):
            self.prelude = self.prepend(ROOT, record)

    def _turn(self, record: int, payload: dict[str, Any]) -> None:
        self._model = string(payload.get("model")) or self._model
        self._policy, self._output_bytes = record, _output_bytes(payload)
        if any(_static(payload)) and self.prelude == ROOT:
            self.prelude = self.prepend(ROOT, record)

    def _item(self, record: int, payload: dict[str, Any]) -> None:
        kind = string(payload.get("type")) or ""
        if kind in _NEVER_SENT or not kind:
            return
        before = self.head
        self.head = self._child(payload, Unit(self._records(record, payload)))
        if _made_by_model(kind, payload):
            if not self._reply:
                self._prompt = before
            self._reply.append(self.head)

    def _records(self, record: int, item: dict[str, Any]) -> tuple[int, ...]:
        """The record of an item; with that of the policy behind it if the item is cut before it is sent."""
        text = item.get("output")
        if self._policy is None or string(item.get("type")) not in _OUTPUTS or not isinstance(text, str):
            return (record,)
        return (record, self._policy) if _cut(text, self._output_bytes) is not text else (record,)

    def _child(self, item: dict[str, Any], unit: Unit) -> int:
        """The node of an item behind the head. While a parent's items are repeated, those that stand there already
        are followed."""
        content = hash(compact(item))
        if self._replaying:
            start = self.head if (self.head, content) in self._children else ROOT
            known = self._children.get((start, content))
            if known is not None:
                return known
            self._replaying = False
        node = self.append(self.head, unit)
        self._children[self.head, content] = node
        return node

    def _compacted(self, record: int, payload: dict[str, Any]) -> None:
        """The history is replaced: by the list of items that stands here, or else by the summary text."""
        self.lose_call(None)
        if not self._replaying:
            self.compactions.append(Compaction(before_call=len(self.calls)))
        self.head = ROOT
        history = payload.get("replacement_history")
        if not isinstance(history, list):
            self.head = self.append(ROOT, Unit((record,)))
        for number, item in enumerate(sequence(history)):
            if string(mapping(item).get("type")) not in _NEVER_SENT:
                self.head = self.append(self.head, Unit((record,), number))

    def _event(self, payload: dict[str, Any], moment: int | None) -> None:
        match payload.get("type"):
            case "token_count":
                self._count(mapping(payload.get("info")), moment)
            case "task_started":
                self.window = whole(payload.get("model_context_window")) or self.window
            case "turn_aborted":
                self.lose_call("aborted", moment)
            case "error":
                self.lose_call("error", moment)

    def _count(self, info: dict[str, Any], moment: int | None) -> None:
        """The usage of a call. Events without it tell of rate limits; those with the totals of an earlier one repeat it."""
        if not info:
            return
        self.window = whole(info.get("model_context_window")) or self.window
        last = mapping(info.get("last_token_usage"))
        totals = tuple(whole(number) for number in mapping(info.get("total_token_usage")).values())
        usage = _usage(last)
        if totals in self._totals or not (usage.total or self._reply):
            self._note_compacted_size(last, usage)
            self._repeat(moment)
            return
        self._totals.add(totals)
        self._call(usage, moment)

    def _repeat(self, moment: int | None) -> None:
        """What stands before a repeated count is a reply that broke off and was asked for again, or one repeated with
        its count."""
        if self._replaying:
            self._reply = []
        self.lose_call("error", moment)

    def _note_compacted_size(self, last: dict[str, Any], usage: Usage) -> None:
        """Behind a compaction the client writes its own estimate of the new context where the total of a call stands."""
        if not usage.total and self.compactions and self.compactions[-1].before_call == len(self.calls):
            size = whole(last.get("total_tokens")) or None
            self.compactions[-1] = msgspec.structs.replace(self.compactions[-1], tokens_after=size)

    def _call(
        self, usage: Usage | None, moment: int | None, *, stop_reason: str | None = None, failed: bool = False
    ) -> None:
        self.calls.append(
            CallDraft(
                prompt=self._prompt if self._reply else self.head,
                prelude=self.prelude,
                reply=self._reply,
                provider=self._provider,
                dialect="openai-responses",
                model=self._model,
                usage=usage,
                stop_reason=stop_reason,
                time_ms=moment,
                failed=failed,
                sidechain=self._sub_agent,
                agent=self._agent,
            )
        )
        self._reply = []


def _output_bytes(turn: dict[str, Any]) -> int | None:
    """How many bytes of a tool output are sent in a turn, where its context says so."""
    policy = mapping(turn.get("truncation_policy"))
    tokens = whole(policy.get("limit")) if policy.get("mode") == "tokens" else None
    return int(tokens * _BYTES_PER_TOKEN * _SERIALISATION_FACTOR) if tokens else None


def _cut(text: str, limit: int | None) -> str:
    """The text without its middle if it is longer than `limit` bytes."""
    if limit is None or len(text) * _BYTES_PER_TOKEN <= limit:
        return text
    data = text.encode("utf-8", "replace")
    if len(data) <= limit:
        return text
    half = limit // 2
    start, end = data[:half].decode("utf-8", "ignore"), data[-half:].decode("utf-8", "ignore")
    return f"{start}…{(len(data) - limit) // _BYTES_PER_TOKEN} tokens cut…{end}"


def _made_by_model(kind: str, item: dict[str, Any]) -> bool:
    return kind == "reasoning" or kind.endswith("_call") or (kind == "message" and item.get("role") == "assistant")


def _usage(last: dict[str, Any]) -> Usage:
    """Cached tokens are a part of the input here, reasoning one of the output."""
    whole_input = whole(last.get("input_tokens"))
    read = whole(last.get("cached_input_tokens"))
    write = whole(last.get("cache_write_input_tokens"))
    return Usage(
        input_fresh=None if whole_input is None else max(0, whole_input - (read or 0) - (write or 0)),
        cache_read=read,
        cache_write=write,
        output=whole(last.get("output_tokens")),
        reasoning=whole(last.get("reasoning_output_tokens")),
        raw=last,
    )


def read_messages(records: Sequence[bytes], items: Sequence[int | None]) -> list[Message]:
    """The messages of a line: its own, or of a replaced history the elements asked for. A second line holds the
    policy of cutting."""
    payload, *turns = (mapping(decode_object(record).get("payload")) for record in records)
    if turns:
        payload = {**payload, "output": _cut(payload["output"], _output_bytes(turns[0]))}
    history = sequence(payload.get("replacement_history"))
    return [_read_item(payload if item is None else mapping(history[item])) for item in items]


def _read_item(item: dict[str, Any]) -> Message:
    match item.get("type"):
        case "agent_message":
            return read_message({**item, "type": "message", "role": "user"})
        case None if "message" in item:
            return Message(role="user", parts=(text_part(item["message"], "compacted"),))
    return read_message(item)


def read_prelude(records: Sequence[bytes]) -> tuple[tuple[str, ...], tuple[ToolSpec, ...]]:
    """The base instructions, and those tools that the file names: dynamic ones. The built-in tools are not in it."""
    return _static(mapping(decode_object(records[-1]).get("payload")))


def _static(payload: dict[str, Any]) -> tuple[tuple[str, ...], tuple[ToolSpec, ...]]:
    instructions = payload.get("base_instructions")
    text = string(mapping(instructions).get("text")) or string(instructions)
    return (text,) if text else (), _tools(payload.get("dynamic_tools"))


def _tools(value: object) -> tuple[ToolSpec, ...]:
    members = value if isinstance(value, list) else mapping(value).get("tools")
    return tuple(_tool(tool) for tool in map(mapping, sequence(members)))


def _tool(tool: dict[str, Any]) -> ToolSpec:
    parameters = tool.get("inputSchema")
    members = _tools(tool.get("tools"))
    return ToolSpec(
        name=string(tool.get("name")) or "",
        description=string(tool.get("description")) or "",
        parameters=parameters if isinstance(parameters, dict) else None,
        kind="namespace" if members else "function",
        deferred=tool.get("deferLoading") is True,
        tools=members,
    )
