"""The interface of a store and the records it keeps.

Records hold metadata only: numbers, ids, names, hashes, reasons. What the user asked to keep is the exception: it is text.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from msgspec import Struct

from ullage.core.evidence.mutations import Mutation

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .ledger import Ledger, LedgerReader
    from .route_records import AttemptRecord, FeedbackRecord, OutcomeRecord, RouteOverride, TallyRecord

SAMPLES_KEPT = 200
"""Samples of one provider, model and estimator that stay, the newest (planner specification, section 29.4)."""

ATTEMPTS_READ = 2_000
"""Calls that are learned from, unless it is said otherwise: some months of a person's tasks."""


NO_END_MS = (1 << 63) - 1
"""A time that never comes."""


class SessionRecord(Struct, frozen=True, kw_only=True):
    """One session of one client as the gateway sees it. Times are epoch milliseconds.

    `identity` says how the id was found: `header` (ours), `client` (the client's own id) or `fingerprint`.
    `parent` is the session a branch or sub-agent came from. `tip` is the end of its chain of message hashes, by which a
    session without an id is found again after a restart. `targets` are the `provider/model` it was on, the newest last.
    `routing` and `tails` are what its routes and the tails of its conversations need to know again after a restart, as plain
    data.
    """

    id: str
    client: str
    client_version: str | None = None
    identity: str
    agent: str | None = None
    parent: str | None = None
    started_ms: int
    last_ms: int
    calls: int = 0
    provider: str | None = None
    model: str | None = None
    project: str | None = None
    targets: tuple[str, ...] = ()
    tip: dict[str, Any] | None = None
    routing: dict[str, Any] | None = None
    tails: tuple[dict[str, Any], ...] = ()


class CallRecord(Struct, frozen=True, kw_only=True):
    """One provider request: the observer's manifest (planner.md 25, metadata only).

    `kind`: `conversation`, or the helper's name (`title`, `compaction`, `count_tokens`, …). `outcome`: `ok`, `error`, `cut`
    (upstream broke), `left` (client left), `answered` (by us), `unparsed`. `asked`: somebody was asked for an answer; a client
    may leave, and a limit refuse, before. `breakdown` is the context report (interface.md 3)
    without content. `first_output_ms` is when the first text or call of a tool of a stream passed: thinking is no output.
    `expected` is what was made of the prompt from the session's last usage before this one was known: `tokens`, `low`, `high`,
    `pairs` learned from, `method`. `awareness` is what limits were drawn from: `profile`, `calibration`, `budget`, `adaptive`,
    `drift`, `auto_tune`, `cache_shares`, `switch` (planner.md 25). `sample` says what was learned: `estimator`, `estimated`,
    `actual`, `ratio`, `accepted`; or `refused` with the reason. `cache` is what was expected warm and what was read, with the
    likely cause of a miss. `plan` is what managed mode made of the request. `project` is the absolute path of the project it was
    asked for in, `traceparent` the span that its client says it belongs to (W3C Trace Context). `usage` has the disjoint names of
    docs/decisions/0001. Sizes in bytes, times in milliseconds.

    `route` is of a routed call why it went where it did: `task_id`, `target` (the one it was sent to), `task` with `kinds` and
    `complexity`, `policy`, `reason` (`user`, `continuation`, `retry`, `helper`), `notes` of what befell it. Where it was decided
    with this call it also has `ranked`, the scores of all candidates, `propensities` and `shadow`. A call whose route has a
    `task_id` is found by it.

    `spend` is what the call cost, `usd`, `None` where nobody knows; of one that was held to a limit also what was reserved for
    it, and of a limit that it went beyond its name and the action.
    """

    id: str
    session: str
    client: str | None = None
    traceparent: str | None = None
    created_ms: int
    dialect: str
    kind: str
    path: str
    provider: str
    model: str | None
    project: str | None = None
    answered_by: str | None = None
    status: int | None = None
    asked: bool = True
    outcome: str
    streamed: bool = False
    request_bytes: int = 0
    answer_bytes: int = 0
    first_byte_ms: float | None = None
    first_output_ms: float | None = None
    duration_ms: float | None = None
    stop_reason: str | None = None
    tool_calls: tuple[str, ...] = ()
    estimator: str | None = None
    estimated_input_tokens: int | None = None
    expected: dict[str, Any] | None = None
    awareness: dict[str, Any] | None = None
    sample: dict[str, Any] | None = None
    cache: dict[str, Any] | None = None
    plan: dict[str, Any] | None = None
    route: dict[str, Any] | None = None
    spend: dict[str, Any] | None = None
    usage: dict[str, Any] | None = None
    breakdown: dict[str, Any] | None = None
    prefix_messages: int | None = None
    warnings: tuple[str, ...] = ()


class EventRecord(Struct, frozen=True, kw_only=True):
    """Something that happened: `branch`, `rewrite`, `compaction_asked`, `compaction`, `model_switch`, … with plain details."""

    created_ms: int
    kind: str
    session: str | None = None
    call: str | None = None
    project: str | None = None
    details: dict[str, Any] = {}


class SampleRecord(Struct, frozen=True, kw_only=True):
    """What one call taught: our raw estimate of its prompt beside what the provider reported, never corrected (planner.md 7).

    `id` is the call's: a call makes at most one sample of each estimator, and a sample that is put twice changes nothing. All
    figures are tokens. `pair` is what `growth-v1` learns from a call that goes on from another one, as plain data; `None` for a
    call that does not.
    """

    id: str
    created_ms: int
    provider: str
    model: str
    estimator: str
    client: str
    session: str
    estimated: int
    input_fresh: int
    cache_read: int
    cache_write: int
    output: int | None = None
    window: int | None = None
    pair: dict[str, Any] | None = None

    @property
    def prompt(self) -> int:
        """The whole prompt as the provider counted it."""
        return self.input_fresh + self.cache_read + self.cache_write


class PrefixRecord(Struct, frozen=True, kw_only=True):
    """A prefix that a provider may hold warm: of one target, the newest request of one session (design.md 6 and 7).

    It is `depth` slices long in the order in which the provider reads them (tools, system, messages), `chain` is one hash of
    them all, and `tokens` is what they count. `read` and `written` are what the provider reported of it. Times are epoch
    milliseconds.
    """

    provider: str
    model: str
    session: str
    used_ms: int
    ttl_ms: int
    depth: int
    chain: str
    tokens: int
    read: int | None = None
    written: int | None = None


MutationRecord = Mutation
"""One change to pins or memory, as the core replays it."""


class ArtifactRecord(Struct, frozen=True, kw_only=True):
    """A large tool result that a session was sent a reference to, without its text: that lies in a file named by `sha256`.

    `id` is the one in the reference. `used_ms` is when it was last sent, epoch milliseconds. `size_bytes` are of its UTF-8,
    `chars` UTF-16 units. Tokens are of the whole text and of its reference, by the estimator of the plan. `project` is the
    absolute path of the project whose folder holds the file, `None` for that of the user.
    """

    id: str
    session: str
    used_ms: int
    project: str | None = None
    sha256: str
    size_bytes: int
    chars: int
    tool: str | None = None
    call_id: str | None = None
    is_error: bool = False
    tokens_before: int | None = None
    tokens_after: int | None = None
    classification: str = "normal"


class Reader(Protocol):
    """The reading half, safe to use from any thread. Every read raises `StoreError` when the database cannot be used.

    What is looked up while requests go by (`find_session`, `samples`, `sample_keys`, `prefixes`, `mutations`,
    `mutation_version`, `route_overrides`) is answered soon by a store that is open for writing: while another process keeps
    everyone out of the database it fails (`store_busy`), others wait.
    """

    @property
    def ledger(self) -> LedgerReader:
        """What was spent."""
        ...

    def sessions(self, *, limit: int = 50) -> list[SessionRecord]:
        """Newest activity first."""
        ...

    def find_session(self, session_id: str) -> SessionRecord | None: ...

    def session_ids(self, prefix: str, *, limit: int = 10) -> list[str]:
        """Ids that begin with `prefix`, in the order of their bytes."""
        ...

    def calls(self, session_id: str | None = None, *, kind: str | None = None, limit: int = 50) -> list[CallRecord]:
        """Newest first; `kind` filters."""
        ...

    def find_call(self, call_id: str) -> CallRecord | None: ...

    def call_ids(self, prefix: str, *, limit: int = 10) -> list[str]:
        """Ids that begin with `prefix`, in the order of their bytes."""
        ...

    def events(self, session_id: str | None = None, *, limit: int = 100) -> list[EventRecord]:
        """Newest first."""
        ...

    def samples(
        self, provider: str, model: str, estimator: str, *, client: str | None = None, limit: int = SAMPLES_KEPT
    ) -> list[SampleRecord]:
        """Newest first: by `created_ms`, then `id`, both descending. `client` filters. Never more than the 200 that stay."""
        ...

    def sample_keys(self) -> list[tuple[str, str, str]]:
        """Provider, model and estimator of everything that was sampled, in their order."""
        ...

    def prefixes(self, *, since_ms: int = 0, limit: int = 500) -> list[PrefixRecord]:
        """Those used since then, the newest first."""
        ...

    def mutations(
        self, *, kind: str | None = None, session: str | None = None, project: str | None = None
    ) -> list[MutationRecord]:
        """The changes to pins and memory in the order in which they were put; what is given filters."""
        ...

    def mutation_version(self) -> int:
        """A number that is another one once there are more changes: cheap enough to ask before every request."""
        ...

    def artifacts(
        self, session_id: str | None = None, *, project: str | None = None, prefix: str = "", limit: int = 50
    ) -> list[ArtifactRecord]:
        """Those whose ids begin with `prefix`, the one used last first; what is given filters."""
        ...

    def decisions(self, session_id: str | None = None, *, task: str | None = None, limit: int = 50) -> list[CallRecord]:
        """The calls that were routed, the newest first: those with a task. What is given filters."""
        ...

    def attempts(
        self, session_id: str | None = None, *, since_ms: int = 0, limit: int = ATTEMPTS_READ
    ) -> list[AttemptRecord]:
        """What is to be learned from calls made since then, routed or not, the newest first. A session filters."""
        ...

    def walk_calls(
        self, session_id: str | None = None, *, since_ms: int = 0, until_ms: int = NO_END_MS
    ) -> Iterator[AttemptRecord]:
        """The facts of all calls made from then until then, the oldest first, read little by little. A session filters."""
        ...

    def walk_events(
        self, session_id: str | None = None, *, since_ms: int = 0, until_ms: int = NO_END_MS
    ) -> Iterator[EventRecord]:
        """The same of events."""
        ...

    def feedback(self) -> list[FeedbackRecord]:
        """All votes, in the order in which they were put."""
        ...

    def outcomes(self) -> list[OutcomeRecord]:
        """All that users said of tasks, in the order in which it was put."""
        ...

    def tallies(self) -> list[TallyRecord]:
        """All that other programs had counted, in the order in which it was put."""
        ...

    def route_overrides(self, session_id: str = "") -> dict[str, Any]:
        """What holds for the routes of a session, by key: what was set for it, and for all where nothing was."""
        ...

    def problems(self) -> tuple[str, ...]:
        """What went wrong, as sentences: a file moved aside, writes waiting, records dropped with their number. The store has
        logged them itself, each once."""
        ...

    def close(self, timeout_s: float = 5.0) -> None:
        """Writes what waits, for at most `timeout_s`, and logs what could not be written. Closing twice is allowed."""
        ...


class Store(Reader, Protocol):
    """Synchronous, safe to use from any thread. Writes return at once and are made durable by one writer in groups.

    A write never raises for a full disk or a locked file: the record stays queued (bounded) and is tried again; `problems()`
    says what went wrong. A call or session written twice under one id is replaced by the newer record. A record is copied when
    it is put; it can be read once it is durable.
    """

    @property
    def ledger(self) -> Ledger:
        """What was spent. It does not wait for the writer: what is counted there is counted when the call returns."""
        ...

    def put_session(self, record: SessionRecord) -> None: ...

    def put_call(self, record: CallRecord) -> None: ...

    def put_event(self, record: EventRecord) -> None: ...

    def put_sample(self, record: SampleRecord) -> None:
        """Keeps a sample, unless the call has one of this estimator; of each provider, model and estimator the newest 200 stay
        (planner.md 29.4)."""
        ...

    def put_prefix(self, record: PrefixRecord) -> None:
        """Keeps the prefix of a target and session that was used last, in whatever order they are put."""
        ...

    def put_mutation(self, record: MutationRecord) -> None:
        """Adds a change to the log of pins and memory, unless one of that id is in it. Nothing is ever removed from it."""
        ...

    def put_artifact(self, record: ArtifactRecord) -> None:
        """Keeps what was used last of one id in one session, in whatever order they are put."""
        ...

    def put_feedback(self, record: FeedbackRecord) -> None:
        """Adds a vote, unless one of that id is there. Nothing is ever removed of votes, outcomes and tallies."""
        ...

    def put_outcome(self, record: OutcomeRecord) -> None:
        """Adds what a user says of a task, unless there is something of that id."""
        ...

    def put_tally(self, record: TallyRecord) -> None:
        """Adds what another program has counted, unless there is something of that id."""
        ...

    def put_route_override(self, record: RouteOverride) -> None:
        """Keeps what was set last of one key for one session, in whatever order it is put."""
        ...

    def drop_route_override(self, session: str, key: str, at_ms: int) -> None:
        """Forgets what was set of a key for a session up to a time, epoch milliseconds: nothing is kept of it."""
        ...

    def flush(self, timeout_s: float = 5.0) -> bool:
        """Waits until everything written before the call is durable. False if that did not happen in time."""
        ...
