"""The session that is made of a pass over a file: answers from the index, reads texts from disk."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Protocol

import msgspec

from ullage.core.content import Context

from .decoding import decode_object
from .records import changed
from .session import Call, Left, Step
from .trail import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ullage.core.content import Message, ToolSpec

    from .records import Records
    from .scan import CallDraft, Scan
    from .session import Problems

VISIBLE_CHARS_PER_TOKEN = 5
"""A reply with more visible characters than this for each logged output token was logged short. Measured on the
recorded sessions: of 1,000 replies whose figures are sound none passes 4.8, of those logged from the first chunk
nearly all do."""


class Texts(Protocol):
    """Turns records back into what was sent. Takes whatever the pass took, and never fails on it."""

    def messages(self, records: list[bytes], items: list[int | None]) -> list[Message]:
        """The messages that these records make: one for each of `items`, its place in them where they hold several."""
        ...

    def prelude(self, records: list[bytes]) -> tuple[tuple[str, ...], tuple[ToolSpec, ...]]:
        """System prompt and tools after these records, in the order they were written."""
        ...


class RecordedSession:
    """A `Session` over a file that was gone through once. Holds numbers; every text is read when it is asked for."""

    def __init__(self, client: str, records: Records, scan: Scan, texts: Texts, problems: Problems) -> None:
        self.path = str(records.path)
        self.client = client
        self.client_versions = tuple(scan.client_versions)
        self.client_version = self.client_versions[-1] if self.client_versions else None
        self.format_version = scan.format_version
        self.id = scan.id
        self.parent = scan.parent
        self.cwd = scan.cwd
        self.window = scan.window
        self.compactions = tuple(scan.compactions)
        self.rewinds = scan.rewinds
        self.problems = problems
        self.handmade = scan.handmade
        self.places = scan.places
        self._records = records
        self._texts = texts
        self._messages = scan.messages
        self._preludes = scan.preludes
        self._units = scan.units
        self._complete = scan.complete
        self._labels = scan.labels
        self._left = scan.left
        self._ends = [(draft.prompt, draft.prelude) for draft in scan.calls]
        self._now = (scan.head, scan.prelude)
        self._last_prelude: tuple[int, Context] | None = None
        self.calls, self._last_call = self._calls(scan.calls)

    def context(self, call: int | None = None) -> Context:
        node, _ = self._end(call)
        messages = tuple(self._read(self._messages.path(node)))
        return msgspec.structs.replace(self.prelude(call), messages=messages)

    def prelude(self, call: int | None = None) -> Context:
        _, prelude = self._end(call)
        if self._last_prelude is None or self._last_prelude[0] != prelude:
            system, tools = self._read_prelude(prelude)
            complete = self._complete and prelude != ROOT
            self._last_prelude = prelude, Context(system=system, tools=tools, complete=complete)
        return self._last_prelude[1]

    def messages(self, call: int | None = None, start: int = 0, stop: int | None = None) -> tuple[Message, ...]:
        node, _ = self._end(call)
        length = self._messages.depth(node)
        first, end, _ = slice(start, stop).indices(length)
        if end <= first:
            return ()
        last = self._messages.at_depth(node, end)
        return tuple(self._read(self._messages.path(last, above=first)))

    def messages_before(self, call: int, within: int | None = None) -> int:
        node, _ = self._end(within)
        return self._messages.depth(self._messages.common(self._ends[call][0], node))

    def anchor(self, call: int | None = None) -> int | None:
        before = self._last_call if call is None else self.calls[call].previous
        while before is not None and not self.calls[before].trusted:
            before = self.calls[before].previous
        return before

    def steps(self) -> tuple[Step, ...]:
        pairs = ((self.anchor(call.index), call) for call in self.calls if call.trusted)
        return tuple(self._step(self.calls[before], after) for before, after in pairs if before is not None)

    def labels(self, call: int | None = None) -> dict[int, str]:
        if not self._labels:
            return {}
        node, _ = self._end(call)
        records = (self._units[self._messages.unit(step)].records[0] for step in self._messages.path(node))
        labels = ((index, self._labels.get(record)) for index, record in enumerate(records))
        return {index: label for index, label in labels if label is not None}

    def left(self) -> tuple[Left, ...]:
        texts = self._records.read((record,) for record in self._left)
        try:
            rows = [decode_object(record) for (record,) in texts]
            return tuple(Left(str(row["customType"]), row.get("data")) for row in rows)
        except (LookupError, TypeError, ValueError) as error:
            raise changed(self._records.path) from error

    def _step(self, before: Call, after: Call) -> Step:
        node, _ = self._ends[after.index]
        added = enumerate(self._messages.path(node, above=before.messages), before.messages)
        return Step(
            before=before.index,
            after=after.index,
            start=before.messages,
            stop=after.messages,
            reply=before.reply,
            shrank=_prompt(after) < _prompt(before),
            switched=(before.provider, before.api, before.model) != (after.provider, after.api, after.model),
            lossy=any(self._messages.lossy(step, alone=True) for index, step in added if index not in before.reply),
        )

    def _end(self, call: int | None) -> tuple[int, int]:
        return self._now if call is None else self._ends[call]

    def _calls(self, drafts: list[CallDraft]) -> tuple[tuple[Call, ...], int | None]:
        """The calls, and the one that the conversation as it stands goes on from.

        A path goes on from a call if it passes the end of its reply; where no reply was kept, the end of its prompt.
        """
        ends: dict[int, int] = {}
        calls = []
        for index, draft in enumerate(drafts):
            calls.append(self._call(index, draft, self._nearest(ends, draft.prompt)))
            ends[draft.reply[-1] if draft.reply else draft.prompt] = index
        return tuple(calls), self._nearest(ends, self._now[0])

    def _nearest(self, ends: dict[int, int], node: int) -> int | None:
        while node != ROOT and node not in ends:
            node = self._messages.parent(node)
        return ends.get(node) if node != ROOT else None

    def _call(self, index: int, draft: CallDraft, previous: int | None) -> Call:
        usage = draft.usage
        output = usage.output if usage is not None else None
        return Call(
            index=index,
            provider=draft.provider,
            api=draft.api,
            dialect=draft.dialect,
            model=draft.model,
            usage=usage,
            stop_reason=draft.stop_reason,
            time_ms=draft.time_ms,
            trusted=usage is not None and bool(usage.prompt) and not draft.failed,
            output_unsure=output is not None and draft.visible_chars > VISIBLE_CHARS_PER_TOKEN * output,
            sidechain=draft.sidechain,
            agent=draft.agent,
            response_id=draft.response_id,
            messages=self._messages.depth(draft.prompt),
            reply=tuple(self._messages.depth(node) - 1 for node in draft.reply),
            previous=previous,
            lossy=self._messages.lossy(draft.prompt),
        )

    def _read_prelude(self, node: int) -> tuple[tuple[str, ...], tuple[ToolSpec, ...]]:
        numbers = [self._preludes.unit(step) for step in self._preludes.path(node)]
        if not numbers:
            return (), ()
        [records] = self._records.read([numbers])
        try:
            return self._texts.prelude(records)
        except (LookupError, TypeError, ValueError) as error:
            raise changed(self._records.path) from error

    def _read(self, nodes: list[int]) -> Iterator[Message]:
        """The messages of these nodes. Records that hold several messages in a row are read once."""
        units = (self._units[self._messages.unit(node)] for node in nodes)
        groups = [
            (records, [unit.item for unit in members])
            for records, members in groupby(units, key=lambda unit: unit.records)
        ]
        texts = self._records.read(records for records, _ in groups)
        for (_, items), records in zip(groups, texts, strict=True):
            try:
                yield from self._texts.messages(records, items)
            except (LookupError, TypeError, ValueError) as error:
                # All of it was read once, so other bytes lie there now.
                raise changed(self._records.path) from error


def _prompt(call: Call) -> int:
    return (call.usage.prompt or 0) if call.usage is not None else 0
