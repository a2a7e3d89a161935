"""What calls add up to since the daemon began, for Prometheus to read now and then."""

from __future__ import annotations

import threading
from collections import Counter, defaultdict
from typing import TYPE_CHECKING

from ullage._version import __version__
from ullage.stores.exports.tables import split_target
from ullage.stores.metrics import NANO, attempts_of, cost_of

from .exposition import Family, Histogram, Sample, histogram, make_labels, render

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ullage.stores import AttemptRecord
    from ullage.stores.route_records import AttemptMade

    from .exposition import Labels

MOST_TARGETS = 200
"""Targets that are told apart; a client that asks for ever new names of models must not fill the memory of who watches."""

OTHER = "other"

FIRST_BOUNDS_S = (0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0)
"""Ranges of the time until an answer says something, seconds."""
WHOLE_BOUNDS_S = (0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0, 512.0)
"""Ranges of the time until it is over."""

_PARTS = ("input_fresh", "cache_read", "cache_write", "output")
_WHOLE = frozenset({"ok", "unparsed"})


class Figures:
    """Adds calls up. Safe to use from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._targets: dict[str, Labels] = {}
        self._requests: Counter[Labels] = Counter()
        self._attempts: Counter[Labels] = Counter()
        self._failovers: Counter[Labels] = Counter()
        self._tokens: Counter[Labels] = Counter()
        self._nano_usd: Counter[Labels] = Counter()
        self._unpriced: Counter[Labels] = Counter()
        self._first: defaultdict[Labels, Histogram] = defaultdict(lambda: Histogram(FIRST_BOUNDS_S))
        self._whole: defaultdict[Labels, Histogram] = defaultdict(lambda: Histogram(WHOLE_BOUNDS_S))

    def note(self, call: AttemptRecord) -> None:
        """Adds a call that is over."""
        with self._lock:
            labels = make_labels(client=call.client, dialect=call.dialect, kind=call.kind, outcome=call.outcome)
            self._requests[labels] += 1
            made = attempts_of(call)
            for one in made:
                told = self._target(one.target)
                status = str(one.status) if one.status is not None else ""
                self._attempts[(*told, ("status", status), ("failure", one.failure or ""))] += 1
            for one in made[:-1]:
                self._failovers[self._target(one.target)] += 1
            if made:
                self._add_answer(call, made[-1], self._target(made[-1].target))

    def render(self, standing: Iterable[Family] = ()) -> str:
        """The text of a scrape, with how things stand now."""
        with self._lock:
            counted = self._families()
        return render((*counted, *standing))

    def _target(self, target: str) -> Labels:
        known = self._targets.get(target)
        if known is None:
            provider, model = split_target(target) if len(self._targets) < MOST_TARGETS else (OTHER, OTHER)
            known = make_labels(provider=provider, model=model)
            if provider != OTHER:
                self._targets[target] = known
        return known

    def _add_answer(self, call: AttemptRecord, last: AttemptMade, target: Labels) -> None:
        if call.outcome in _WHOLE:
            if call.duration_ms is not None:
                self._whole[target].add(call.duration_ms / 1000)
            if call.streamed and last.ttft_ms is not None:
                self._first[target].add(last.ttft_ms / 1000)
        if call.usage is None:
            return
        for part in _PARTS:
            self._tokens[(*target, ("kind", part))] += call.usage.get(part) or 0
        cost = cost_of(call)
        if cost is None:
            self._unpriced[target] += 1
        else:
            self._nano_usd[target] += cost

    def _families(self) -> tuple[Family, ...]:
        usd = {labels: nano / NANO for labels, nano in self._nano_usd.items()}
        return (
            gauge("ullage_build_info", "The version that runs.", {make_labels(version=__version__): 1}),
            _counter("ullage_requests_total", "Requests of clients that are over.", self._requests),
            _counter("ullage_attempts_total", "Targets that were asked, by what came of it.", self._attempts),
            _counter("ullage_failovers_total", "Attempts after which another target was asked.", self._failovers),
            _counter("ullage_tokens_total", "Tokens that providers reported.", self._tokens),
            _counter("ullage_cost_usd_total", "What calls cost by usage and price, in USD.", usd),
            _counter("ullage_unpriced_requests_total", "Requests with a usage and no known price.", self._unpriced),
            Family(
                name="ullage_first_output_seconds",
                kind="histogram",
                says="Time until a streamed answer said something.",
                samples=histogram(FIRST_BOUNDS_S, self._first),
            ),
            Family(
                name="ullage_request_seconds",
                kind="histogram",
                says="Time until an answer was over.",
                samples=histogram(WHOLE_BOUNDS_S, self._whole),
            ),
        )


def gauge(name: str, says: str, values: Mapping[Labels, float]) -> Family:
    """What is so now."""
    return Family(name=name, kind="gauge", says=says, samples=_samples(values))


def _counter(name: str, says: str, values: Mapping[Labels, float]) -> Family:
    return Family(name=name, kind="counter", says=says, samples=_samples(values))


def _samples(values: Mapping[Labels, float]) -> tuple[Sample, ...]:
    return tuple(Sample(labels, value) for labels, value in sorted(values.items()))
