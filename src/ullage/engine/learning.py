"""What routes learn from: calls, votes and judged tasks of the store, read beside the requests and kept in memory.

Routing asks on the path of a request, so nothing is read there: what is known is given at once, and read anew in the background
once it is old.
"""

from __future__ import annotations

import logging
import threading
from collections import defaultdict
from collections.abc import Mapping
from typing import TYPE_CHECKING

from msgspec import Struct

from ullage.core.errors import StoreError
from ullage.core.routing.learning import EXPLORATION, Learned, learn, tell
from ullage.core.routing.pace import Pace, Ratios, pace_of, ratios_of
from ullage.core.routing.scoring import Signals
from ullage.stores import AttemptRecord
from ullage.stores.base import ATTEMPTS_READ
from ullage.stores.learned import to_deliveries, to_judged, to_prior, to_timing, to_usage, to_vote

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from ullage.core.routing.pace import Timing, Usage
    from ullage.core.routing.task import TaskProfile
    from ullage.stores import Reader

_log = logging.getLogger("ullage.engine")

FRESH_MS = 30_000
"""What was read longer ago is read anew: other processes and commands write to the same store."""
LONGEST_CALL_MS = 60 * 60_000

_MINUTE_MS = 60_000
_NOTHING = Ratios(input=None, cached=None, output=None)


class Lessons(Struct, frozen=True, kw_only=True):
    """Everything that was learned when it was read last, and the calls that it was learned from, the newest first."""

    attempts: tuple[AttemptRecord, ...] = ()
    learned: Learned = Learned()
    paces: Mapping[str, Pace] = {}
    ratios: Mapping[str, Ratios] = {}


NOTHING = Lessons()


class Learning:
    """Tells what was learned of targets. Safe to use from any thread.

    `explore` is the part of the tasks that may try another target than the best: 0 for none, and then what is not known of a
    target counts neither for it nor against it. `start` runs a job in the background. A store that cannot be read leaves things
    as they were; it says itself what is wrong with it.
    """

    def __init__(
        self, reader: Reader, *, explore: float = 0.0, start: Callable[[Callable[[], None]], None] | None = None
    ) -> None:
        self._reader = reader
        self._exploration = EXPLORATION if explore > 0 else 0.0
        self._start = start or _start_thread
        self._lock = threading.Lock()
        self._is_reading = False
        self._expired = 0
        self._read_ms: int | None = None
        self._lessons = NOTHING
        self._answers = _Answers(self._lessons, 0, self._exploration)

    def signals(
        self, task: TaskProfile, targets: Iterable[str], now_ms: int
    ) -> tuple[dict[str, Signals], dict[str, float]]:
        """What past calls say of each target for a task, and the preferences for it, as `RouteSession` takes them. Only targets
        that something is known of are in them."""
        self.refresh(now_ms)
        signals: dict[str, Signals] = {}
        preferences: dict[str, float] = {}
        answers = self._answers_at(now_ms)
        for target in targets:
            signal, preference = answers.of(target, task.kinds)
            if signal is not None:
                signals[target] = signal
            if preference:
                preferences[target] = preference
        return signals, preferences

    def ratios(self, target: str) -> Ratios:
        """How a target's calls differ from what was expected of them."""
        return self._lessons.ratios.get(target, _NOTHING)

    def expire(self) -> None:
        """Something was written that should be heeded soon: the next question has everything read anew."""
        with self._lock:
            self._expired += 1
            self._read_ms = None

    def read(self, now_ms: int) -> None:
        """Reads what is new now. Raises `StoreError`."""
        with self._lock:
            expired, before = self._expired, self._lessons
        lessons = read_lessons(self._reader, before)
        with self._lock:
            self._lessons = lessons
            if expired == self._expired:  # else what was written meanwhile may not be among it
                self._read_ms = now_ms

    def recall(self) -> None:
        """Reads everything at the start, to be read again at the first question. Raises `StoreError`."""
        self.read(0)

    def _answers_at(self, now_ms: int) -> _Answers:
        lessons, minute = self._lessons, now_ms // _MINUTE_MS
        answers = self._answers
        if answers.lessons is not lessons or answers.minute != minute:
            answers = self._answers = _Answers(lessons, minute, self._exploration)
        return answers

    def refresh(self, now_ms: int) -> None:
        """Has everything read anew in the background, where it is old or was never read."""
        with self._lock:
            is_fresh = self._read_ms is not None and now_ms - self._read_ms <= FRESH_MS
            if is_fresh or self._is_reading:
                return
            self._is_reading = True
            self._read_ms = now_ms
        self._start(lambda: self._read_quietly(now_ms))

    def _read_quietly(self, now_ms: int) -> None:
        try:
            self.read(now_ms)
        except StoreError as error:
            _log.debug("nothing new is learned: %s", error)
        finally:
            with self._lock:
                self._is_reading = False


def read_lessons(reader: Reader, before: Lessons = NOTHING) -> Lessons:
    """Everything that a store has to learn from; of calls only those since `before`. Raises `StoreError`.

    A call is written when it is over, under the time at which it began: so those of the last hour are looked for again.
    """
    since_ms = max(0, before.attempts[0].created_ms - LONGEST_CALL_MS) if before.attempts else 0
    known = {attempt.id: attempt for attempt in (*before.attempts, *reader.attempts(since_ms=since_ms))}
    newest = sorted(known.values(), key=lambda attempt: (attempt.created_ms, attempt.id), reverse=True)
    attempts = tuple(newest[:ATTEMPTS_READ])
    paces, ratios = _measure(attempts)
    return Lessons(
        attempts=attempts,
        learned=learn(
            [delivery for attempt in attempts for delivery in to_deliveries(attempt)],
            map(to_vote, reader.feedback()),
            map(to_judged, reader.outcomes()),
            map(to_prior, reader.tallies()),
        ),
        paces=paces,
        ratios=ratios,
    )


def _measure(attempts: Sequence[AttemptRecord]) -> tuple[dict[str, Pace], dict[str, Ratios]]:
    timings: defaultdict[str, list[Timing]] = defaultdict(list)
    usages: defaultdict[str, list[Usage]] = defaultdict(list)
    for attempt in attempts:
        timing, usage = to_timing(attempt), to_usage(attempt)
        if timing is not None:
            timings[attempt.target].append(timing)
        if usage is not None:
            usages[attempt.target].append(usage)
    paces = ((target, pace_of(known)) for target, known in timings.items())
    return (
        {target: pace for target, pace in paces if pace is not None},
        {target: ratios_of(known) for target, known in usages.items()},
    )


class _Answers:
    """What is said of targets within one minute, worked out once: what is forgotten within one is not worth the time."""

    def __init__(self, lessons: Lessons, minute: int, exploration: float) -> None:
        self.lessons = lessons
        self.minute = minute
        self._exploration = exploration
        self._known: dict[tuple[str, Sequence[str]], tuple[Signals | None, float]] = {}

    def of(self, target: str, kinds: tuple[str, ...]) -> tuple[Signals | None, float]:
        """The signals of a target for tasks of these kinds, and the preference for it."""
        found = self._known.get((target, kinds))
        if found is None:
            found = self._known[target, kinds] = self._work_out(target, kinds)
        return found

    def _work_out(self, target: str, kinds: tuple[str, ...]) -> tuple[Signals | None, float]:
        now_ms, learned = self.minute * _MINUTE_MS, self.lessons.learned
        reliability = learned.reliability(target, kinds, now_ms, exploration=self._exploration)
        quality = learned.quality(target, kinds, now_ms)
        pace = self.lessons.paces.get(target)
        if reliability is None and pace is None and not quality.offset:
            return None, 0.0
        signals = Signals(
            latency_ms=None if pace is None else pace.answer_ms,
            read_ms=None if pace is None else pace.read_ms,
            reliability=None if reliability is None else reliability.score,
            learning=tell(reliability, quality),
        )
        return signals, quality.preference


def _start_thread(job: Callable[[], None]) -> None:
    threading.Thread(target=job, name="ullage-learning", daemon=True).start()
