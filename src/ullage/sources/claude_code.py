"""Session files of Claude Code: rows linked by uuid, several rows a reply, side chains, compactions, rewinds."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from ullage.core.content import Message, Usage
from ullage.core.wire.jsontext import compact
from ullage.core.wire.requests.anthropic import read_message
from ullage.core.wire.requests.parts import text_part

from .claude_attachments import attachment_texts, queued_prompt
from .decoding import decode_object, mapping, sequence, string, whole
from .scan import CallDraft, Scan, Unit
from .session import Compaction
from .trail import ROOT

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ullage.core.content import ToolSpec

    from .records import Rows

_ROW_TYPES = frozenset(
    {
        "agent-name",
        "ai-title",
        "assistant",
        "attachment",
        "custom-title",
        "file-history-snapshot",
        "last-prompt",
        "mode",
        "permission-mode",
        "progress",
        "queue-operation",
        "summary",
        "system",
        "user",
    }
)

_SYNTHETIC = "<synthetic>"


def recognises(row: dict[str, Any]) -> bool:
    """Whether a line is one of Claude Code's: a row of the conversation, or one of its bookkeeping rows."""
    return string(row.get("type")) in _ROW_TYPES and any(
        key in row for key in ("uuid", "sessionId", "leafUuid", "messageId")
    )


def scan(rows: Rows) -> Scan:
    """Goes through a session once."""
    state = _ClaudeScan()
    for record, row in rows:
        state.row(record, row)
    state.finish()
    return state


@dataclass(slots=True)
class _Chain:
    """The main chain or a side chain. `replies` are its calls by message id, with the node of each reply."""

    side: bool = False
    agent: str | None = None
    head: int = ROOT
    replies: dict[str, tuple[CallDraft, int]] = field(default_factory=dict)


class _Place(NamedTuple):
    """Where the conversation stood after a row; `own` is true if the row is part of the message of that node."""

    chain: _Chain
    node: int
    record: int
    own: bool


class _ClaudeScan(Scan):
    """One pass over a Claude Code session.

    A chain goes on in the order of the file: parallel results hang below their own calls, so parents alone would lose
    some. A parent counts in two places: it tells the side chain of a row, and a prompt whose parent lies before an
    answered prompt is a rewind.
    """

    def __init__(self) -> None:
        super().__init__()
        self._main = _Chain()
        self._sides: dict[str, _Chain] = {}
        self._last = self._main
        self._places: dict[str, _Place] = {}
        self._seen: set[int] = set()
        self._turning: set[int] = set()
        self._summary_due: _Chain | None = None
        self._behind_summary: list[list[str]] = []

    def row(self, record: int, row: dict[str, Any]) -> None:
        self.id = self.id or string(row.get("sessionId"))
        uuid = string(row.get("uuid"))
        if uuid is None or self._repeated(uuid, row):
            return
        self._facts(row)
        chain = self._chain(uuid, row)
        node = self._take(record, row, chain)
        own = node is not None
        self._places[uuid] = _Place(chain, chain.head if node is None else node, record, own)
        self._last = chain

    def finish(self) -> None:
        """The conversation stands where the main chain does; in a file of a sub-agent, where that one does."""
        if self._main.head != ROOT:
            self.head = self._main.head
            return
        self.head = self._last.head
        if self._last.agent is not None:
            self.id, self.parent = self._last.agent, self.id

    def _repeated(self, uuid: str, row: dict[str, Any]) -> bool:
        """Whether the row was there before: a resumed session may repeat rows."""
        message, attachment = mapping(row.get("message")), mapping(row.get("attachment"))
        kinds = (row.get("type"), row.get("subtype"), message.get("id"), attachment.get("type"))
        identity = hash((uuid, *map(string, kinds)))
        if identity in self._seen:
            return True
        self._seen.add(identity)
        return False

    def _facts(self, row: dict[str, Any]) -> None:
        self.cwd = self.cwd or string(row.get("cwd"))
        self.time(row.get("timestamp"))
        self.version(row.get("version"))
        parent = string(row.get("parentUuid"))
        if parent is not None and parent not in self._places:
            self.unknown_parents += 1
            self.headless = self.headless or not self._places

    def _chain(self, uuid: str, row: dict[str, Any]) -> _Chain:
        """The chain of a row: side chains go by the agent's id, in older files by their first row."""
        if not row.get("isSidechain"):
            return self._main
        agent = string(row.get("agentId"))
        parent = self._places.get(string(row.get("parentUuid")) or "")
        if agent is None and parent is not None and parent.chain.side:
            return parent.chain
        return self._sides.setdefault(agent or uuid, _Chain(side=True, agent=agent))

    def _take(self, record: int, row: dict[str, Any], chain: _Chain) -> int | None:
        """Puts a row into its chain. Returns the node of the message that it is part of, if it is part of one."""
        match row.get("type"):
            case "assistant":
                return self._reply(record, row, chain)
            case "user" if row.get("isCompactSummary"):
                return self._summary(record, self._summary_due or chain)
            case "user" if not row.get("isVisibleInTranscriptOnly"):
                return self._user(record, row, chain)
            case "attachment" if _has_content(mapping(row.get("attachment"))):
                return self._add(record, chain)
            case "system" if row.get("subtype") == "compact_boundary":
                self._boundary(row, chain)
        return None

    def _add(self, record: int, chain: _Chain) -> int:
        chain.head = self.append(chain.head, Unit((record,)))
        return chain.head

    def _user(self, record: int, row: dict[str, Any], chain: _Chain) -> int:
        if not _is_prompt(row):
            return self._add(record, chain)
        if not chain.side:
            self._rewind(row.get("parentUuid"), chain)
        node = self._add(record, chain)
        self._turning.add(node)
        return node

    def _rewind(self, parent: object, chain: _Chain) -> None:
        """Goes back to the parent of a prompt if a prompt or a reply came after it: the user took the conversation up there.

        Rows of other kinds behind the parent are no sign of it: results of parallel calls, attachments and notes of the client
        hang where they like.
        """
        target = ROOT
        if parent is not None:
            place = self._places.get(str(parent))
            if place is None or place.chain is not chain:
                return
            target = place.node
        common = self.messages.common(chain.head, target)
        left = self.messages.path(chain.head, above=self.messages.depth(common))
        if self._turning.isdisjoint(left) and common == target:
            return
        self.rewinds += 1
        chain.head = target

    def _reply(self, record: int, row: dict[str, Any], chain: _Chain) -> int | None:
        message = mapping(row.get("message"))
        if row.get("isApiErrorMessage"):
            self.calls.append(self._draft(row, message, chain, failed=True))
            return None
        if message.get("model") == _SYNTHETIC:
            return self._add(record, chain)
        name = string(message.get("id")) or string(row.get("uuid")) or ""
        known = chain.replies.get(name)
        if known is not None:
            draft, node = known
            self.grow(node, record)
        else:
            draft = self._draft(row, message, chain, failed=bool(row.get("isAbortedMidStream")))
            node = self._add(record, chain)
            self._turning.add(node)
            draft.reply.append(node)
            self.calls.append(draft)
            chain.replies[name] = draft, node
        _complete(draft, message)
        return node

    def _draft(self, row: dict[str, Any], message: dict[str, Any], chain: _Chain, *, failed: bool) -> CallDraft:
        model = string(message.get("model"))
        return CallDraft(
            prompt=chain.head,
            provider="anthropic" if (model or "").startswith("claude") else None,
            dialect="anthropic",
            model=None if model == _SYNTHETIC else model,
            stop_reason="error" if failed else None,
            time_ms=self.time(row.get("timestamp")),
            response_id=string(message.get("id")),
            failed=failed,
            sidechain=chain.side,
            agent=chain.agent,
        )

    def _boundary(self, row: dict[str, Any], chain: _Chain) -> None:
        """A compaction: the chain begins again. The summary comes with the next row of its kind."""
        metadata = mapping(row.get("compactMetadata"))
        self.compactions.append(
            Compaction(
                before_call=len(self.calls),
                tokens_before=whole(metadata.get("preTokens")),
                tokens_after=whole(metadata.get("postTokens", row.get("postTokens"))),
                trigger=string(metadata.get("trigger")),
            )
        )
        preserved = self._preserved(metadata, chain)
        anchor = mapping(metadata.get("preservedSegment")).get("anchorUuid")
        chain.head = ROOT
        self._summary_due, self._behind_summary = chain, preserved
        if anchor is not None and anchor == row.get("uuid"):
            self._keep(preserved, chain)
            self._behind_summary = []

    def _summary(self, record: int, chain: _Chain) -> int:
        """The summary of a compaction. Old files have no boundary before it; at the start of a file it stands for
        another one."""
        if self._summary_due is None and chain.head == ROOT:
            self.headless = True
        elif self._summary_due is None:
            self.compactions.append(Compaction(before_call=len(self.calls)))
            chain.head = ROOT
        node = self._add(record, chain)
        self._keep(self._behind_summary, chain)
        self._summary_due, self._behind_summary = None, []
        return node

    def _keep(self, preserved: list[list[str]], chain: _Chain) -> None:
        """Repeats preserved messages. Their rows stand here from now on: what follows may name one of them as its parent."""
        for uuids in preserved:
            places = [self._places[uuid] for uuid in uuids]
            node = self.append(chain.head, Unit(tuple(place.record for place in places)))
            if places[0].node in self._turning:
                self._turning.add(node)
            for uuid, place in zip(uuids, places, strict=True):
                self._places[uuid] = place._replace(node=node)
            chain.head = node

    def _preserved(self, metadata: dict[str, Any], chain: _Chain) -> list[list[str]]:
        """The rows that stay verbatim, by message: those listed, or all from the first to the last one named."""
        listed = [str(uuid) for uuid in sequence(mapping(metadata.get("preservedMessages")).get("uuids"))]
        messages: dict[int, list[str]] = {}
        for uuid in listed or self._segment(mapping(metadata.get("preservedSegment")), chain):
            place = self._places.get(uuid)
            if place is not None and place.own:
                messages.setdefault(place.node, []).append(uuid)
        return list(messages.values())

    def _segment(self, segment: dict[str, Any], chain: _Chain) -> list[str]:
        first = self._places.get(str(segment.get("headUuid")))
        last = self._places.get(str(segment.get("tailUuid")))
        if first is None or last is None:
            return []
        nodes = set(self.messages.path(last.node, above=max(self.messages.depth(first.node) - 1, 0)))
        return [uuid for uuid, place in self._places.items() if place.chain is chain and place.node in nodes]


def _is_prompt(row: dict[str, Any]) -> bool:
    if row.get("isMeta"):
        return False
    blocks = map(mapping, sequence(mapping(row.get("message")).get("content")))
    return all(block.get("type") != "tool_result" for block in blocks)


def _has_content(attachment: dict[str, Any]) -> bool:
    return bool(queued_prompt(attachment) or attachment_texts(attachment))


def _complete(draft: CallDraft, message: dict[str, Any]) -> None:
    """Takes from a further row of a reply what it adds. Each row repeats the usage of the call, the largest is the true one."""
    draft.stop_reason = string(message.get("stop_reason")) or draft.stop_reason
    draft.visible_chars += _visible_chars(message)
    usage = _usage(message.get("usage"))
    if usage is not None and (usage.total or 0) >= (draft.usage.total or 0 if draft.usage else 0):
        draft.usage = usage


def _visible_chars(message: dict[str, Any]) -> int:
    chars = 0
    for block in map(mapping, sequence(message.get("content"))):
        chars += len(string(block.get("text")) or "")
        if block.get("type") == "tool_use":
            chars += len(compact(block.get("input")))
    return chars


def _usage(value: object) -> Usage | None:
    """The three inputs add up; `cache_creation` only splits the second by time to live."""
    if not isinstance(value, dict):
        return None
    split = mapping(value.get("cache_creation"))
    details = mapping(value.get("output_tokens_details"))
    return Usage(
        input_fresh=whole(value.get("input_tokens")),
        cache_read=whole(value.get("cache_read_input_tokens")),
        cache_write=whole(value.get("cache_creation_input_tokens")),
        cache_write_5m=whole(split.get("ephemeral_5m_input_tokens")),
        cache_write_1h=whole(split.get("ephemeral_1h_input_tokens")),
        output=whole(value.get("output_tokens")),
        reasoning=whole(details.get("thinking_tokens")),
        raw=value,
    )


def read_messages(records: Sequence[bytes], items: Sequence[int | None]) -> list[Message]:
    """The message of one row, or of all rows of a reply, as often as it is asked for."""
    rows = [decode_object(record) for record in records]
    attachment = mapping(rows[0].get("attachment"))
    if attachment:
        return [_read_attachment(attachment)] * len(items)
    messages = [mapping(row.get("message")) for row in rows]
    if len(messages) == 1:
        return [read_message(messages[0])] * len(items)
    blocks = [block for message in messages for block in sequence(message.get("content"))]
    return [read_message({"role": "assistant", "content": blocks})] * len(items)


def _read_attachment(attachment: dict[str, Any]) -> Message:
    kind = string(attachment.get("type")) or "attachment"
    blocks = queued_prompt(attachment)
    if blocks:
        return read_message({"role": "user", "content": blocks})
    return Message(role="user", parts=tuple(text_part(text, kind) for text in attachment_texts(attachment)))


def read_prelude(records: Sequence[bytes]) -> tuple[tuple[str, ...], tuple[ToolSpec, ...]]:
    """Nothing: system prompt and tools are not in the file."""
    return (), ()
