"""Trajectories of OpenHands: an array of events, or one row of an evaluation output with the array under `history`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ullage.core.content import Message, ToolSpec, Usage
from ullage.core.wire.jsontext import compact
from ullage.core.wire.media import from_url
from ullage.core.wire.requests import openai_chat
from ullage.core.wire.requests.parts import call_part, media_part, result_part, text_part

from .decoding import decode_object, mapping, sequence, string, whole
from .scan import CallDraft, Scan, Unit
from .session import Compaction
from .trail import ROOT

if TYPE_CHECKING:
    from collections.abc import Container, Sequence

    from ullage.core.content import Part

    from .records import Rows

_BOOKKEEPING = frozenset(
    {
        "agent_state_changed",
        "change_agent_state",
        "condensation_request",
        "null",
        "recall",
    }
)
"""Actions and observations that bring nothing."""


def recognises(event: dict[str, Any]) -> bool:
    """Whether an object is one of OpenHands' events."""
    return "source" in event and ("action" in event or "observation" in event)


def scan(rows: Rows) -> Scan:
    """Goes through a trajectory once."""
    state = _OpenHandsScan(rows.members)
    for record, event in rows:
        state.event(record, event)
    state.finish()
    return state


class _OpenHandsScan(Scan):
    """One pass over a trajectory. One reply stands in several events, with its calls and their results: it is taken once."""

    def __init__(self, members: dict[str, Any]) -> None:
        super().__init__()
        self._members = members
        self._replies: set[str] = set()
        self._event_ids: dict[int, int | None] = {}

    def event(self, record: int, event: dict[str, Any]) -> None:
        moment = self.time(event.get("timestamp"))
        action = event.get("action")
        if action == "system":
            self._system(record, event)
        elif action == "condensation":
            self._condensation(record, mapping(event.get("args")))
        elif action is not None and event.get("tool_call_metadata"):
            self._reply(record, event, moment)
        elif event.get("observation") == "recall":
            self._recall(record, event)
        elif _reaches_model(event):
            self._add(record, event)

    def finish(self) -> None:
        """What an evaluation row says beside its events: its id, and the usage of calls whose reply has none."""
        self.id = string(self._members.get("instance_id"))
        metrics = mapping(self._members.get("metrics"))
        rows = map(mapping, sequence(metrics.get("token_usages")))
        known = {string(row.get("response_id")): row for row in rows}
        for call in self.calls:
            if call.usage is None and call.response_id in known:
                call.usage = _metrics_usage(known[call.response_id])

    def _system(self, record: int, event: dict[str, Any]) -> None:
        self.prelude = self.prepend(ROOT, record)
        self.complete = True
        self.version(mapping(event.get("args")).get("openhands_version"))

    def _recall(self, record: int, event: dict[str, Any]) -> None:
        """What was looked up for a prompt. Evaluations record it but run without: in both recorded rows the first
        prompt is met with the same rest of 1,690 tokens (tools told in words) if the recall, which differs by 930
        tokens, is left out.
        """
        config = mapping(mapping(self._members.get("metadata")).get("agent_config"))
        is_evaluation = "instance_id" in self._members
        if _recall_texts(event) and (not is_evaluation or config.get("enable_prompt_extensions")):
            self._add(record, event)

    def _add(self, record: int, event: dict[str, Any]) -> None:
        self.head = self.append(self.head, Unit((record,)))
        self._event_ids[self.messages.unit(self.head)] = whole(event.get("id"))

    def _reply(self, record: int, event: dict[str, Any], moment: int | None) -> None:
        response = mapping(mapping(event.get("tool_call_metadata")).get("model_response"))
        name = string(response.get("id"))
        if name in self._replies:
            return
        if name is not None:
            self._replies.add(name)
        prompt = self.head
        self._add(record, event)
        choice = _choice(response)
        model = string(response.get("model"))
        self.calls.append(
            CallDraft(
                prompt=prompt,
                prelude=self.prelude,
                reply=[self.head],
                dialect="anthropic" if "claude" in (model or "") else "openai-chat",
                model=model,
                usage=_usage(response.get("usage")),
                stop_reason=string(choice.get("finish_reason")),
                time_ms=moment,
                response_id=name,
                visible_chars=len(string(mapping(choice.get("message")).get("content")) or ""),
            )
        )

    def _condensation(self, record: int, args: dict[str, Any]) -> None:
        """Events are forgotten; a summary, where there is one, takes the place of the first."""
        forgotten = _forgotten(args)
        kept = []
        place = None
        for node in self.messages.path(self.head):
            if self._event_ids.get(self.messages.unit(node)) not in forgotten:
                kept.append(node)
            elif place is None:
                place = len(kept)
        if place is None:
            return
        self.compactions.append(Compaction(before_call=len(self.calls)))
        self.head = self.messages.extend(ROOT, kept[:place])
        if string(args.get("summary")):
            self.head = self.append(self.head, Unit((record,)))
        self.head = self.messages.extend(self.head, kept[place:])


def _forgotten(args: dict[str, Any]) -> Container[int | None]:
    """The ids of events that a condensation names, one by one or from the first to the last."""
    listed = args.get("forgotten_event_ids")
    if isinstance(listed, list):
        return {whole(event) for event in listed}
    first = whole(args.get("forgotten_events_start_id"))
    last = whole(args.get("forgotten_events_end_id"))
    return range(first, last + 1) if first is not None and last is not None else ()


def _reaches_model(event: dict[str, Any]) -> bool:
    """Whether an event without a reply of its own is sent: prompts, texts of the agent, and every observation with content."""
    kind = string(event.get("action")) or string(event.get("observation"))
    if kind in _BOOKKEEPING:
        return False
    if "action" in event:
        return event.get("source") == "agent" or kind == "message"
    return True


def _choice(response: dict[str, Any]) -> dict[str, Any]:
    return next(iter(map(mapping, sequence(response.get("choices")))), {})


def _usage(value: object) -> Usage | None:
    """The prompt contains what was read from and written to the cache."""
    if not isinstance(value, dict):
        return None
    details = mapping(value.get("prompt_tokens_details"))
    read = whole(details.get("cached_tokens"))
    return Usage(
        **_inputs(
            whole(value.get("prompt_tokens")),
            whole(value.get("cache_read_input_tokens")) if read is None else read,
            whole(value.get("cache_creation_input_tokens")),
        ),
        output=whole(value.get("completion_tokens")),
        reasoning=whole(mapping(value.get("completion_tokens_details")).get("reasoning_tokens")),
        raw=value,
    )


def _metrics_usage(value: dict[str, Any]) -> Usage:
    return Usage(
        **_inputs(
            whole(value.get("prompt_tokens")),
            whole(value.get("cache_read_tokens")),
            whole(value.get("cache_write_tokens")),
        ),
        output=whole(value.get("completion_tokens")),
        raw=value,
    )


def _inputs(prompt: int | None, read: int | None, write: int | None) -> dict[str, int | None]:
    fresh = None if prompt is None else max(0, prompt - (read or 0) - (write or 0))
    return {"input_fresh": fresh, "cache_read": read, "cache_write": write}


def read_messages(records: Sequence[bytes], items: Sequence[int | None]) -> list[Message]:
    """The message of one event, as often as it is asked for."""
    return [_read_event(decode_object(records[0]))] * len(items)


def _read_event(event: dict[str, Any]) -> Message:
    metadata = mapping(event.get("tool_call_metadata"))
    if "observation" in event:
        return _read_observation(event, metadata)
    args = mapping(event.get("args"))
    if event.get("action") == "condensation":
        return Message(role="user", parts=(text_part(args.get("summary"), "condensation"),))
    if metadata:
        return openai_chat.read_message(mapping(_choice(mapping(metadata.get("model_response"))).get("message")))
    if event.get("source") == "user":
        images = [media_part(from_url("image", url), wire_type="image_url") for url in sequence(args.get("image_urls"))]
        return Message(role="user", parts=(text_part(args.get("content"), "message"), *images))
    return Message(role="assistant", parts=tuple(_action_parts(event, args)))


def _action_parts(event: dict[str, Any], args: dict[str, Any]) -> list[Part]:
    """An action of the agent whose reply is not in the file: its words, and what it did as far as the arguments tell."""
    words = [string(args.get(name)) for name in ("thought", "content", "final_thought")]
    parts = [text_part(text) for text in words if text]
    done = {name: args[name] for name in ("command", "code", "path", "url") if string(args.get(name))}
    if done:
        parts.append(call_part(event.get("action"), done, wire_type="action"))
    return parts


def _read_observation(event: dict[str, Any], metadata: dict[str, Any]) -> Message:
    kind = string(event.get("observation")) or "observation"
    if kind == "recall":
        return Message(role="user", parts=tuple(text_part(text, kind) for text in _recall_texts(event)))
    text = _observed_text(event)
    if not metadata:
        return Message(role="user", parts=(text_part(text, kind),))
    part = result_part(
        [text_part(text)],
        call_id=metadata.get("tool_call_id"),
        name=metadata.get("function_name"),
        is_error=kind == "error",
        wire_type=kind,
    )
    return Message(role="tool", parts=(part,))


def _observed_text(event: dict[str, Any]) -> str:
    """What the model sees of an observation: of a command also where it ran, with what interpreter, and how it ended.

    Older files keep the difference that an edit made as its content, and what the tool answered apart.
    """
    extras = mapping(event.get("extras"))
    shell = mapping(extras.get("metadata"))
    content = string(extras.get("formatted_output_and_error")) or string(event.get("content")) or ""
    if not shell:
        return content
    lines = [f"{shell.get('prefix') or ''}{content}{shell.get('suffix') or ''}"]
    if shell.get("working_dir"):
        lines.append(f"[Current working directory: {shell['working_dir']}]")
    if shell.get("py_interpreter_path"):
        lines.append(f"[Python interpreter: {shell['py_interpreter_path']}]")
    if shell.get("exit_code") not in (None, -1):
        lines.append(f"[Command finished with exit code {shell['exit_code']}]")
    return "\n".join(lines)


def _recall_texts(event: dict[str, Any]) -> list[str]:
    """What a recall brings: facts of the workspace, and the texts of the microagents that were triggered."""
    extras = mapping(event.get("extras"))
    facts = [extras.get(name) for name in ("repo_instructions", "additional_agent_instructions", "date")]
    hosts = mapping(extras.get("runtime_hosts"))
    known = [mapping(entry).get("content") for entry in sequence(extras.get("microagent_knowledge"))]
    return [text for text in (*facts, compact(hosts) if hosts else None, *known) if isinstance(text, str) and text]


def read_prelude(records: Sequence[bytes]) -> tuple[tuple[str, ...], tuple[ToolSpec, ...]]:
    """System prompt and tool schemas of the newest system event."""
    args = mapping(decode_object(records[-1]).get("args"))
    text = string(args.get("content"))
    return (text,) if text else (), tuple(openai_chat.read_tool(tool) for tool in sequence(args.get("tools")))
