"""Session files of Pi, versions 1 to 3, and of forks that write the same format."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from ullage.core.content import Media, Message, Part, ToolSpec, Usage, source_line
from ullage.core.evidence import ds4
from ullage.core.wire.media import from_base64
from ullage.core.wire.requests.parts import call_part, media_part, other_part, result_part, text_part, thinking_part

from .decoding import decode_object, mapping, sequence, string, whole
from .scan import CallDraft, Scan, Unit
from .session import Compaction
from .trail import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ullage.core.content import Role
    from ullage.core.wire import Dialect

    from .records import Rows

_ENTRY_TYPES = frozenset(
    {
        "branch_summary",
        "compaction",
        "context_edit",
        "custom",
        "custom_message",
        "label",
        "message",
        "model_change",
        "session",
        "session_info",
        "thinking_level_change",
        "usage",
    }
)

_DIALECTS: dict[str, Dialect] = {
    "anthropic-messages": "anthropic",
    "azure-openai-responses": "openai-responses",
    "google-generative-ai": "gemini",
    "google-vertex": "gemini",
    "mistral-conversations": "openai-chat",
    "openai-codex-responses": "openai-responses",
    "openai-completions": "openai-chat",
    "openai-responses": "openai-responses",
}

_FAILED = frozenset({"aborted", "error"})

_ROLES: dict[str, Role] = {"assistant": "assistant", "toolResult": "tool"}
"""Everything else that is sent goes out as user text."""

_SENT_ROLES = frozenset(
    {"assistant", "branchSummary", "compactionSummary", "custom", "hookMessage", "toolResult", "user"}
)

_FIELD_NAMES = frozenset({"reasoning", "reasoning_content", "reasoning_details", "reasoning_text"})
"""What a thinking block has for a signature where the provider takes its text back as a field of that name: nothing
is sealed."""

_REFERENCE = "blob:"

OUR_ENTRIES = "ullage.kept"
"""What our extension calls an entry with a change to pins and memories."""

_LEFT = frozenset({OUR_ENTRIES, *ds4.CUSTOM_TYPES})


def recognises(row: dict[str, Any]) -> bool:
    """Whether a line is one of Pi's: its header, an entry with tree links, or a message of version 1."""
    kind = string(row.get("type"))
    if kind not in _ENTRY_TYPES or "uuid" in row or "sessionId" in row:
        return False
    if kind == "session":
        return "id" in row and ("cwd" in row or "version" in row)
    return "parentId" in row or "role" in mapping(row.get("message")) or "firstKeptEntryIndex" in row


def scan(rows: Rows) -> Scan:
    """Goes through a session once."""
    state = _PiScan()
    for record, row in rows:
        state.entry(record, row)
    state.finish()
    return state


class _Place(NamedTuple):
    """Where the session stands after an entry, as nodes.

    `history` is the path of all messages, `sent` the path of those that are sent. While the compaction number
    `pending` is not known to have taken effect, `uncut` is what would be sent without it.
    """

    history: int
    sent: int
    uncut: int
    pending: int | None
    prelude: int


class _Entry(NamedTuple):
    record: int
    before: _Place
    after: _Place
    parent: str | int | None = None


_START = _Place(ROOT, ROOT, ROOT, None, ROOT)


class _PiScan(Scan):
    """One pass over a Pi session.

    Every entry has a place behind its parent's, so a branch begins where its parent stands. Version 1 has no ids:
    there each entry follows the one before it and is named by its number among the lines. A fork compacts while the
    agent runs on with the whole context, so a call whose prompt is no smaller than before the compaction was made
    without it.
    """

    def __init__(self) -> None:
        super().__init__()
        self._entries: dict[str | int, _Entry] = {}
        self._last: str | int | None = None
        self._labels: dict[str, str | None] = {}
        self._places: set[str] = set()

    def entry(self, record: int, row: dict[str, Any]) -> None:
        kind = row.get("type")
        if kind == "session":
            self._header(row)
        elif record == 0:
            self.headless = True
        name: str | int = string(row.get("id")) or record
        if kind == "session":
            name = record
        self.time(row.get("timestamp"))
        parent = self._find_parent(row)
        before = self._place(parent)
        self._entries[name] = _Entry(record, before, before, parent)
        after = self._follow(record, row, before)
        self._entries[name] = _Entry(record, before, after, parent)
        self._last = name

    def finish(self) -> None:
        """The conversation stands where its last entry does."""
        place = self._place(self._last)
        self.head, self.prelude = place.sent, place.prelude
        self._settle_marks()

    def _settle_marks(self) -> None:
        """Of an entry's labels the newest holds, where it does not take the others back."""
        for name, label in self._labels.items():
            if label and (entry := self._entries.get(name)) is not None:
                self.labels[entry.record] = label
        if self._places:
            self.places = frozenset(self._places.intersection(self._branch()))

    def _branch(self) -> set[str | int]:
        """The entries from the newest back to the root. Where a name was given twice, they may lead back to each other."""
        branch: set[str | int] = set()
        name = self._last
        while name is not None and name not in branch:
            branch.add(name)
            name = self._entries[name].parent
        return branch

    def _header(self, row: dict[str, Any]) -> None:
        self.id = string(row.get("id"))
        self.cwd = string(row.get("cwd"))
        self.format_version = whole(row.get("version")) or 1
        self.parent = string(row.get("parentSession")) or string(row.get("branchedFrom"))

    def _place(self, name: str | int | None) -> _Place:
        return _START if name is None else self._entries[name].after

    def _find_parent(self, row: dict[str, Any]) -> str | int | None:
        """The entry that an entry follows. A parent that is not in the file counts as the line before."""
        if "parentId" not in row:
            return self._last
        parent = string(row["parentId"])
        if parent is not None and parent not in self._entries:
            self.unknown_parents += 1
            return self._last
        if parent != self._last and self._place(parent) != self._place(self._last):
            self.rewinds += 1
        return parent

    def _follow(self, record: int, row: dict[str, Any], place: _Place) -> _Place:
        match row.get("type"):
            case "message":
                return self._message(record, row, place)
            case "custom_message" | "branch_summary":
                return self._add(record, row, place)
            case "compaction":
                return self._compaction(record, row, place)
            case "context_edit":
                return self._edit(record, row, place)
            case "label":
                self._labels[string(row.get("targetId")) or ""] = string(row.get("label"))
            case "custom" if row.get("customType") in _LEFT:
                self._leave(record, row)
        return place

    def _leave(self, record: int, row: dict[str, Any]) -> None:
        self.left.append(record)
        if place := string(mapping(mapping(row.get("data")).get("item")).get("branchLeafId")):
            self._places.add(place)

    def _message(self, record: int, row: dict[str, Any], place: _Place) -> _Place:
        message = mapping(row.get("message"))
        role = string(message.get("role"))
        if role == "system":
            self.complete = True
            return place._replace(prelude=self.prepend(place.prelude, record))
        if role == "assistant":
            return self._reply(record, row, message, place)
        if role in _SENT_ROLES or (role == "bashExecution" and not message.get("excludeFromContext")):
            return self._add(record, row, place)
        return place

    def _reply(self, record: int, row: dict[str, Any], message: dict[str, Any], place: _Place) -> _Place:
        failed = string(message.get("stopReason")) in _FAILED
        usage = _usage(message.get("usage"))
        place, late = self._settle(place, usage)
        after = place
        if not failed or ("id" not in row and _visible_chars(message)):
            after = self._add(record, row, place)
        api = string(message.get("api"))
        self.calls.append(
            CallDraft(
                prompt=place.uncut if late else place.sent,
                prelude=place.prelude,
                reply=[] if after is place else [after.uncut if late else after.sent],
                provider=string(message.get("provider")),
                api=api,
                dialect=_DIALECTS.get(api or ""),
                model=string(message.get("model")),
                usage=usage,
                stop_reason=string(message.get("stopReason")),
                time_ms=self.time(message.get("timestamp")) or self.time(row.get("timestamp")),
                response_id=string(message.get("responseId")),
                failed=failed,
                visible_chars=_visible_chars(message),
            )
        )
        return after

    def _settle(self, place: _Place, usage: Usage | None) -> tuple[_Place, bool]:
        """The place once a call's prompt is known, and whether the call was made without the last compaction."""
        prompt = usage.prompt if usage is not None else None
        if place.pending is None or not prompt:
            return place, False
        compaction = self.compactions[place.pending]
        if compaction.tokens_before and prompt >= compaction.tokens_before:
            return place, True
        self.compactions[place.pending] = msgspec.structs.replace(compaction, before_call=len(self.calls))
        return place._replace(uncut=place.sent, pending=None), False

    def _add(self, record: int, row: dict[str, Any], place: _Place) -> _Place:
        """A message at the end of all paths."""
        evicted = mapping(row.get("evictedContent"))
        if evicted:
            self.evicted_texts += len(mapping(evicted.get("payloads"))) or 1
        sent = self.append(place.sent, Unit((record,)), lossy=bool(evicted))
        return self._moved(place, {place.sent: sent}, lambda path: self.messages.extend(path, [sent]))

    def _moved(self, place: _Place, moved: dict[int, int], move: Callable[[int], int]) -> _Place:
        """The place with each of its paths moved; paths that are one stay one."""
        for path in (place.sent, place.history, place.uncut):
            if path not in moved:
                moved[path] = move(path)
        return place._replace(history=moved[place.history], sent=moved[place.sent], uncut=moved[place.uncut])

    def _compaction(self, record: int, row: dict[str, Any], place: _Place) -> _Place:
        self.compactions.append(
            Compaction(
                before_call=len(self.calls),
                tokens_before=whole(row.get("tokensBefore")),
                trigger="extension" if row.get("fromHook") or row.get("fromExtension") else None,
            )
        )
        prelude = place.prelude
        if mapping(row.get("systemMessage")):
            self.complete = True
            prelude = self.prepend(ROOT, record)
        summary = self.append(ROOT, Unit((record,)))
        sent = self.messages.extend(summary, self._kept(row, place.history))
        return _Place(place.history, sent, place.sent, len(self.compactions) - 1, prelude)

    def _kept(self, row: dict[str, Any], path: int) -> list[int]:
        """The messages that a compaction keeps: those of the path from the entry it names on.

        Without such an entry Pi keeps nothing; where the head of the file is missing, so may the entry be, and all is kept.
        """
        first = row.get("firstKeptEntryId", row.get("firstKeptEntryIndex"))
        entry = self._entries.get(first) if isinstance(first, str | int) else None
        if entry is None:
            return self.messages.path(path) if self.headless else []
        start = entry.before.history
        if self.messages.common(start, path) != start:
            return []
        return self.messages.path(path, above=self.messages.depth(start))

    def _edit(self, record: int, row: dict[str, Any], place: _Place) -> _Place:
        """An entry of the branch gets other content, or leaves it where there is none."""
        target = self._entries.get(string(row.get("targetId")) or "")
        if target is None:
            return place
        edit = record if mapping(row.get("replacement")) else None
        return self._moved(place, {}, lambda path: self._edited(path, target.record, edit))

    def _edited(self, path: int, target: int, edit: int | None) -> int:
        nodes = self.messages.path(path)
        places = [n for n, node in enumerate(nodes) if self.units[self.messages.unit(node)].records[0] == target]
        if not places:
            return path
        place = places[-1]
        parent = nodes[place - 1] if place else ROOT
        if edit is not None:
            parent = self.append(parent, Unit((target, edit)))
        return self.messages.extend(parent, nodes[place + 1 :])


def _usage(value: object) -> Usage | None:
    if not isinstance(value, dict):
        return None
    return Usage(
        input_fresh=whole(value.get("input")),
        cache_read=whole(value.get("cacheRead")),
        cache_write=whole(value.get("cacheWrite")),
        output=whole(value.get("output")),
        reasoning=whole(value.get("reasoning")),
        raw=value,
    )


def _visible_chars(message: dict[str, Any]) -> int:
    blocks = map(mapping, sequence(message.get("content")))
    return sum(len(string(block.get("text")) or "") for block in blocks if block.get("type") == "text")


def read_messages(records: Sequence[bytes], items: Sequence[int | None]) -> list[Message]:
    """The message that these records make, as often as it is asked for: records never hold several."""
    return [read_message(records)] * len(items)


def read_message(records: Sequence[bytes]) -> Message:
    """The message of an entry; a second record is the edit of it."""
    row = decode_object(records[0])
    if row.get("type") in ("compaction", "branch_summary"):
        return _user_text(string(row.get("summary")) or "", row["type"])
    message = mapping(row.get("message")) or {"role": "custom", "content": row.get("content")}
    if len(records) > 1:
        message = {**message, **mapping(decode_object(records[1]).get("replacement"))}
    return _read_message(message)


def _read_message(message: dict[str, Any]) -> Message:
    role = string(message.get("role")) or "user"
    match role:
        case "bashExecution":
            return _user_text(_shell_text(message), role)
        case "branchSummary" | "compactionSummary":
            return _user_text(string(message.get("summary")) or "", role)
        case "toolResult":
            return Message(role="tool", parts=(_tool_result(message),))
    parts = _parts(message.get("content"))
    if string(message.get("stopReason")) in _FAILED:
        parts = tuple(part for part in parts if part.kind == "text")
    return Message(role=_ROLES.get(role, "user"), parts=parts)


def _user_text(text: str, wire_type: str) -> Message:
    return Message(role="user", parts=(text_part(text, wire_type),))


def _shell_text(message: dict[str, Any]) -> str:
    """A command that the user ran, as the model reads it; the few words that Pi puts around it are not all known."""
    lines = [f"Ran `{message.get('command', '')}`", "```", string(message.get("output")) or "", "```"]
    if message.get("exitCode"):
        lines.append(f"exit code {message['exitCode']}")
    return "\n".join(lines)


def _tool_result(message: dict[str, Any]) -> Part:
    return result_part(
        _parts(message.get("content")),
        call_id=message.get("toolCallId"),
        name=message.get("toolName"),
        is_error=message.get("isError") is True,
        wire_type="toolResult",
    )


def _parts(content: object) -> tuple[Part, ...]:
    if isinstance(content, str):
        return (text_part(content),)
    return tuple(_part(block) for block in map(mapping, sequence(content)))


def _part(block: dict[str, Any]) -> Part:
    match block.get("type"):
        case "text":
            return text_part(block.get("text"))
        case "thinking":
            return _thinking(block)
        case "toolCall":
            return call_part(
                block.get("name"),
                block.get("arguments", {}),
                call_id=block.get("id"),
                sealed=block.get("thoughtSignature"),
                wire_type="toolCall",
            )
        case "image":
            return media_part(_image(block), wire_type="image")
        case _:
            return other_part(block)


def _thinking(block: dict[str, Any]) -> Part:
    seal = string(block.get("thinkingSignature"))
    if seal in _FIELD_NAMES:
        seal = None
    part = thinking_part("" if block.get("redacted") else block.get("thinking"), sealed=seal, wire_type="thinking")
    if seal is not None and not _replays(seal):
        return msgspec.structs.replace(part, carries_reasoning=False)
    return part


def _replays(seal: str) -> bool:
    """Whether a signature brings hidden reasoning back: of an OpenAI item only its encrypted content does, an id
    alone does not."""
    if not seal.startswith("{"):
        return True
    try:
        return bool(decode_object(seal.encode()).get("encrypted_content"))
    except ValueError:
        return True


def _image(block: dict[str, Any]) -> Media:
    """A picture. Forks keep the data elsewhere and a reference to them here: then nothing but the type is known."""
    mime, data = block.get("mimeType"), string(block.get("data")) or ""
    if data.startswith(_REFERENCE):
        return Media(kind="image", mime=string(mime))
    return from_base64("image", data, mime=mime)


def read_prelude(records: Sequence[bytes]) -> tuple[tuple[str, ...], tuple[ToolSpec, ...]]:
    """System prompt and tools after the system messages of a branch (Pi 0.86 and later): each adds to or changes the
    ones before."""
    texts: list[str] = []
    sections: dict[str, str] = {}
    tools: dict[str, ToolSpec] = {}
    for row in map(decode_object, records):
        message = mapping(row.get("systemMessage")) or mapping(row.get("message"))
        texts += [part.text for part in _parts(message.get("content")) if part.text]
        for name, text in mapping(message.get("sections")).items():
            sections[name] = text if isinstance(text, str) else ""
        for removed in map(mapping, sequence(message.get("toolsRemoved"))):
            tools.pop(string(removed.get("name")) or "", None)
        for added in map(mapping, sequence(message.get("toolsAdded"))):
            tool = _tool(added)
            tools[tool.name] = tool
    return (*texts, *filter(None, sections.values())), tuple(tools.values())


def _tool(value: dict[str, Any]) -> ToolSpec:
    parameters = value.get("parameters")
    return ToolSpec(
        name=string(value.get("name")) or "",
        description=string(value.get("description")) or "",
        parameters=parameters if isinstance(parameters, dict) else None,
        source=source_line(value.get("sourceInfo")),
    )
