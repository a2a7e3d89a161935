"""A recorded session: calls with their usage, and what was sent in each, read from disk when it is asked for.

How the numbers fit together, for call `n` of a session `s`:

- `s.context(n).messages` is what was sent. It has `s.calls[n].messages` entries.
- The reply follows at the indexes `s.calls[n].reply` of every context that goes on from call `n`, so
  `s.context(m).messages[s.calls[n].messages:]` is what call `m` added to call `n`, the reply of `n` among it, whenever `m`
  goes on from `n`. `s.calls[m].previous` names the nearest such `n`; `s.steps()` lists all these pairs.
- `s.context(None)` is what the next call would send, `s.anchor()` the call whose usage it is to be measured from, and
  `s.messages_before(s.anchor())` the number of its messages that this usage covers as prompt.
- A side chain (a sub-agent inside the file) has a context of its own. Its calls are never in the past of the main chain.

Indexes count messages, and one message is: an entry of Pi; a reply of Claude Code with all its rows, or one other row; an item
of Codex; an event of OpenHands, or a reply with all its calls. A client may join several of them on the wire (Claude Code sends
neighbouring rows of one role as one message).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from msgspec import Struct

from ullage.core.content import Usage
from ullage.core.wire import Dialect

if TYPE_CHECKING:
    from ullage.core.content import Context, Message


class Call(Struct, frozen=True, kw_only=True):
    """One provider call found in a session file.

    `trusted` is false for aborted and failed calls, for all-zero usage and for usage that is missing (accounting
    specification, section 8). `output_unsure` marks an output figure that is smaller than the visible reply allows:
    the client logged the first chunk's. `time_ms` is epoch milliseconds. `provider`, `api` and `stop_reason` are the
    client's own words ("error" and "aborted" are ours for failures without one); `dialect` is ours for `api`.
    `sidechain` calls belong to a sub-agent, `agent` names it where the file does.

    `messages` is the number of messages sent, `reply` the indexes of the reply's messages in any context that goes on
    from this call: empty when the client drops the reply, as it does with failed ones. A context goes on from a call
    if the call's prompt and its reply stand at its beginning. `previous` is the nearest earlier call that this one goes
    on from; `None` at the start, after a compaction, a rewind beyond every reply, or on a new side chain.
    `lossy` is true when a text that was sent is no longer in the file, so that the call cannot be counted again.
    """

    index: int
    provider: str | None = None
    api: str | None = None
    dialect: Dialect | None = None
    model: str | None = None
    usage: Usage | None = None
    stop_reason: str | None = None
    time_ms: int | None = None
    trusted: bool = True
    output_unsure: bool = False
    sidechain: bool = False
    agent: str | None = None
    response_id: str | None = None
    messages: int = 0
    reply: tuple[int, ...] = ()
    previous: int | None = None
    lossy: bool = False


class Step(Struct, frozen=True, kw_only=True):
    """Two calls in a row on one branch, and what lies between them: the unit of measured growth.

    `before` and `after` are indexes into `calls`. `start` and `stop` bound the messages that call `after` sent and
    call `before` had not: `session.messages(after, start, stop)`. `reply` are those among them that call `before`
    produced; its `usage.output` covers them. `shrank` is true when the prompt fell although nothing was removed in
    the file: tool results were cleared or reasoning dropped without a mark, so the step measures nothing. `switched`
    is true when provider, API or model changed, `lossy` when a text of these messages other than the reply is no
    longer in the file.

    Calls that are not trusted are passed over: where `after.previous` is not `before`, broken-off replies may lie in between.
    """

    before: int
    after: int
    start: int
    stop: int
    reply: tuple[int, ...]
    shrank: bool
    switched: bool
    lossy: bool


class Compaction(Struct, frozen=True, kw_only=True):
    """A compaction: it stands before call `before_call`. `tokens_before` and `tokens_after` as the client wrote them."""

    before_call: int
    tokens_before: int | None = None
    tokens_after: int | None = None
    trigger: str | None = None


class Left(NamedTuple):
    """What an extension has left in a session file, under a name of its own."""

    name: str
    data: Any


class Problems(Struct, frozen=True, kw_only=True):
    """What could not be read, counted: nothing of it loses the session.

    `malformed_lines` were skipped. `repaired_lines` held lone surrogates, control characters or bytes that are no UTF-8, and
    were read leniently. `unknown_parents` are entries whose parent is not in the file; they were joined to the entry before.
    `evicted_texts` were moved out of the file by the client. `headless` says that the beginning of the file is missing.
    `further_documents` counts sessions behind the first one in the same file.
    """

    malformed_lines: int = 0
    repaired_lines: int = 0
    truncated_last_line: bool = False
    unknown_parents: int = 0
    evicted_texts: int = 0
    headless: bool = False
    further_documents: int = 0


class Session(Protocol):
    """What a reader of `sources` returns. Holds an index of the file, never all its texts.

    `client` is "pi", "claude-code", "codex" or "openhands", `client_versions` all its versions that wrote the file and
    `client_version` the last of them to appear.
    `window` is the context window in tokens where the file states it.
    `parent` is the session this one was forked from, or whose sub-agent it is. `rewinds` counts the times the user went back to
    an earlier point. `handmade` is true when the file carries time stamps that no client writes: its figures measure nothing.
    `places` are entries on its branch at which something is pinned.
    """

    path: str
    client: str
    client_version: str | None
    client_versions: tuple[str, ...]
    format_version: int | None
    id: str | None
    parent: str | None
    cwd: str | None
    window: int | None
    calls: tuple[Call, ...]
    compactions: tuple[Compaction, ...]
    rewinds: int
    problems: Problems
    handmade: bool
    places: frozenset[str]

    def context(self, call: int | None = None) -> Context:
        """What was sent in call number `call`; with `None`, what the next call would send (everything now in the window).

        Raises `SessionError` if the file has been shortened or replaced since it was read.
        """
        ...

    def prelude(self, call: int | None = None) -> Context:
        """`context(call)` without its messages: system prompt and tools. Asked for call after call it is the same object for as
        long as they do not change, so that whoever measures them need not do so again."""
        ...

    def messages(self, call: int | None = None, start: int = 0, stop: int | None = None) -> tuple[Message, ...]:
        """`context(call).messages[start:stop]`, reading nothing but those from disk."""
        ...

    def messages_before(self, call: int, within: int | None = None) -> int:
        """How many leading messages of `context(within)` were already sent in call `call`.

        All `calls[call].messages` if `within` begins with the prompt of `call`; the messages above the fork if the two
        are on different branches; zero after a compaction.
        """
        ...

    def anchor(self, call: int | None = None) -> int | None:
        """The last trusted call that `context(call)` goes on from, to measure it by; `None` if there is none.

        The anchor may be of another model than `call`: compare before using its figures (accounting specification, section 11).
        """
        ...

    def steps(self) -> tuple[Step, ...]:
        """Every trusted call with the trusted call before it on its branch, in the order of the file."""
        ...

    def labels(self, call: int | None = None) -> dict[int, str]:
        """The user's labels on messages of `context(call)`, by their indexes. Pi has labels."""
        ...

    def left(self) -> tuple[Left, ...]:
        """What extensions have left in the file about what is to be kept, in its order: in Pi's, DS4's and our own entries."""
        ...
