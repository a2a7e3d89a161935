"""What is kept of routing beside calls: what the user has set and judged, and the few facts of a call that are learned from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import msgspec
from msgspec import Struct

from ullage.core.profiles.facts import Prices

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .base import CallRecord

FEEDBACK, OUTCOME, TALLY, OVERRIDE = "feedback", "outcome", "tally", "override"
"""The kinds of records that lie in one table."""

Judgement = Literal["success", "failure", "unknown"]
"""What a user says of a task; `unknown` takes back what was said before (routing specification, section 27)."""


class RouteOverride(Struct, frozen=True, kw_only=True, tag_field="type", tag=OVERRIDE):
    """What a user has set for the routes of a session, or of all where `session` is empty: a `key` and its plain `value`, `None`
    for one that holds no more. Of several the one set last holds; `at_ms` is epoch milliseconds."""

    session: str = ""
    key: str
    value: Any
    at_ms: int


class FeedbackRecord(Struct, frozen=True, kw_only=True, tag_field="type", tag=FEEDBACK):
    """One vote of a user for or against a target, at tasks of these kinds (routing specification, section 23.1).

    `reason` is text of the user. `task` is the one that was voted on, where there is one. `created_ms` is epoch milliseconds.
    """

    id: str
    created_ms: int
    target: str
    good: bool
    kinds: tuple[str, ...] = ()
    session: str | None = None
    task: str | None = None
    reason: str | None = None


class OutcomeRecord(Struct, frozen=True, kw_only=True, tag_field="type", tag=OUTCOME):
    """What a user says became of a task; of several about one task the newest holds (routing specification, section 27).

    `target` is the one that ended the task. `created_ms` is when it was said, epoch milliseconds.
    """

    id: str
    created_ms: int
    task: str
    judgement: Judgement
    target: str
    kinds: tuple[str, ...] = ()
    session: str | None = None


class TallyRecord(Struct, frozen=True, kw_only=True, tag_field="type", tag=TALLY):
    """What another program has counted before us: `attempts` and `successes` of deliveries, decayed up to `created_ms`.

    They are of a target, at tasks of one `kind` where that is set, or of a whole `provider` where `target` is `None`; or they are
    an `offset` that votes have left, and no attempts. `source` says whose figures these are.
    """

    id: str
    created_ms: int
    source: str
    provider: str
    target: str | None = None
    kind: str | None = None
    attempts: float = 0.0
    successes: float = 0.0
    offset: float | None = None


RoutingRecord = FeedbackRecord | OutcomeRecord | TallyRecord | RouteOverride
"""Any of them, told apart by its tag."""


class AttemptTask(Struct, frozen=True, kw_only=True):
    """What is kept of the task of a routed call."""

    kinds: tuple[str, ...] = ()
    complexity: float | None = None


class AttemptMade(Struct, frozen=True, kw_only=True):
    """One target that was asked for an answer, at `at_ms` (epoch milliseconds), and what came of it within `ms` milliseconds.
    `dialect` is its protocol, where that is told. `committed`: its answer went to the client. Where nobody knows what it cost,
    `usd`, what was reserved for it stays."""

    target: str
    dialect: str | None = None
    status: int | None = None
    failure: str | None = None
    ms_to_first: float | None = None
    ms_to_output: float | None = None
    usd: float | None = None
    reserved_usd: float | None = None
    committed: bool = False
    at_ms: int | None = None
    ms: float | None = None

    @property
    def ttft_ms(self) -> float | None:
        """How long it took until it said something; until it began, where that is not known."""
        return self.ms_to_first if self.ms_to_output is None else self.ms_to_output


class QuestionPut(Struct, frozen=True, kw_only=True):
    """A question to a small model about a task, and what it cost; `None` where nobody knows."""

    target: str
    usd: float | None = None


class AttemptRoute(Struct, frozen=True, kw_only=True):
    """What is kept of a route without the scores of its candidates. `attempts` are those of this call, the last one included;
    `question` was put before a target was chosen."""

    task_id: str | None = None
    target: str | None = None
    policy: str | None = None
    reason: str | None = None
    rule: str | None = None
    kept: bool = False
    confidence: float | None = None
    thinking: str | None = None
    notes: tuple[str, ...] = ()
    task: AttemptTask = AttemptTask()
    attempts: tuple[AttemptMade, ...] = ()
    question: QuestionPut | None = None
    switch: dict[str, Any] | None = None

    @property
    def escalated(self) -> bool:
        """Whether the task was moved to a stronger target with this call (section 21)."""
        return any(note.startswith("escalated") for note in self.notes)


class AttemptProfile(Struct, frozen=True, kw_only=True):
    """What is kept of the profile of a call's target."""

    prices: dict[str, Any] | None = None


class AttemptAwareness(Struct, frozen=True, kw_only=True):
    """What is kept of what limits were drawn from."""

    profile: AttemptProfile | None = None


class AttemptRecord(Struct, frozen=True, kw_only=True):
    """A call without all that is large: what learning, the account of a task and exports go by. Fields are those of
    `CallRecord`."""

    id: str
    session: str
    client: str | None = None
    traceparent: str | None = None
    created_ms: int
    kind: str
    dialect: str = ""
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
    estimated_input_tokens: int | None = None
    usage: dict[str, Any] | None = None
    awareness: AttemptAwareness | None = None
    cache: dict[str, Any] | None = None
    spend: dict[str, Any] | None = None
    route: AttemptRoute | None = None

    @property
    def target(self) -> str:
        """`provider/model`: where the call was sent."""
        if self.route is not None and self.route.target is not None:
            return self.route.target
        return f"{self.provider}/{self.model}" if self.model else self.provider

    @property
    def routed(self) -> bool:
        """Whether it was routed to somebody; of a virtual model's calls those are not that nobody was let take."""
        return self.route is not None and self.route.target is not None

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of its task; none for a call that was not routed."""
        return self.route.task.kinds if self.route is not None else ()

    @property
    def prices(self) -> Prices | None:
        """The prices that were known of the target when the call was made."""
        profile = self.awareness.profile if self.awareness is not None else None
        return read_prices(profile.prices if profile is not None else None)


def facts_of(call: CallRecord) -> AttemptRecord:
    """What a store gives back of a call as an attempt. Raises `msgspec.ValidationError` for a route that is told otherwise."""
    return msgspec.convert(call, AttemptRecord, from_attributes=True)


def override_id(session: str, key: str) -> str:
    """The id under which a session's setting of a key is kept: all of one session begin alike, and no others do."""
    return f"{session}\n{key}"


def effective(overrides: Iterable[RouteOverride]) -> dict[str, Any]:
    """What holds, by key: a session's own before what was set for all. What holds no more is left out."""
    values = {one.key: one.value for one in sorted(overrides, key=lambda one: one.session != "")}
    return {key: value for key, value in values.items() if value is not None}


def read_prices(plain: Any) -> Prices | None:
    """Prices as a record has them; `None` for what another version kept otherwise."""
    try:
        return msgspec.convert(plain, Prices | None)
    except msgspec.ValidationError:
        return None


def task_of(route: dict[str, Any] | None) -> str | None:
    """The task that a call with this route belongs to."""
    task = (route or {}).get("task_id")
    return task if isinstance(task, str) else None
