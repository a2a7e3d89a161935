"""How each request depends on the constants: found by moving one constant at a time in the very code that estimates."""

from __future__ import annotations

import hashlib
import math
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from scripts.fitting.laws import Row
from ullage.core.accounting import account, make_meter, read_payload
from ullage.core.accounting.wire_rule import WireRule
from ullage.core.profiles.constants import Constants, with_constants
from ullage.core.profiles.families import ROWS, UNKNOWN_ROW
from ullage.core.tokens.vocabularies import Vocabulary

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from scripts.fitting.laws import Place
    from scripts.fitting.plan import Plan
    from ullage.core.accounting import Breakdown, Meter
    from ullage.core.accounting.payloads import Payload
    from ullage.core.profiles import ContentKind, Family
    from ullage.evals.tokens import Case

# A relative error is what counts, but below this size the rounding of a token or two must not outweigh everything.
_LEAST_TOKENS = 10
# Ratios move by a whole unit, so that the rounding of each text is small beside what the step adds.
_STEP = 1.0
_ROWS = {row.id: row for row in (*ROWS, UNKNOWN_ROW)}


class Sample(NamedTuple):
    """A counted request: its row of the design, the groups of its family, the fold that it is held out in, the characters that
    were counted, and the tokens of its tools."""

    case: Case
    row: Row
    family: str
    groups: tuple[str, ...]
    kind: ContentKind
    recording: str
    fold: int
    chars: int
    tools: int


def remember_counts() -> None:
    """Counts each text once: the design estimates every request a dozen times."""
    Vocabulary.count = lru_cache(maxsize=None)(Vocabulary.count)  # type: ignore[method-assign]


def make_samples(cases: Sequence[Case], plan: Plan, folds: int) -> list[Sample]:
    """The samples of all requests, in the order in which they were given."""
    recordings = find_recordings(cases)
    sizes = {name: recordings.count(name) for name in set(recordings)}
    return [
        _sample(case, recording, sizes[recording], plan, folds)
        for case, recording in zip(cases, recordings, strict=True)
    ]


def find_recordings(cases: Sequence[Case]) -> list[str]:
    """One name for each case: cases of one file, or with equal payloads, have the same (section 23)."""
    leader: dict[str, str] = {}

    def find(name: str) -> str:
        while leader.setdefault(name, name) != name:
            name = leader[name]
        return name

    for case in cases:
        content = hashlib.sha256(msgspec.json.encode(case.payload, order="sorted")).hexdigest()
        one, other = find(f"file {case.source}"), find(f"content {content}")
        leader[max(one, other)] = min(one, other)
    return [find(f"file {case.source}") for case in cases]


def _sample(case: Case, recording: str, size: int, plan: Plan, folds: int) -> Sample:
    payload = read_payload(msgspec.json.encode(case.payload), case.api or "")
    meter = make_meter(dialect=case.api, provider=case.provider, model=case.model or payload.model, client=None)
    row = _ROWS[meter.family]
    start: Constants = {
        group: {place: one.start for place, one in plan[group].items()} for group in row.fitted if group in plan
    }
    breakdown = _account(payload, meter, with_constants(row, start))
    total = breakdown.total.tokens
    slopes = {}
    for place, moved in _moves(row.fitted, start):
        slope = (_account(payload, meter, with_constants(row, moved)).total.tokens - total) / _STEP
        if slope:
            slopes[place] = slope
    fixed = total - sum(slope * start[group][name] for (group, name), slope in slopes.items())
    weight = 1 / (case.tokens + _LEAST_TOKENS) / math.sqrt(size)
    return Sample(
        case=case,
        row=Row(fixed, slopes, case.tokens, weight),
        family=row.id,
        groups=row.fitted,
        kind=breakdown.total.content,
        recording=recording,
        fold=int(hashlib.sha256(recording.encode()).hexdigest(), 16) % folds,
        chars=sum(section.chars for section in breakdown.sections),
        tools=sum(section.tokens for section in breakdown.sections if section.id == "tools"),
    )


def _moves(groups: Iterable[str], start: Constants) -> Iterable[tuple[Place, Constants]]:
    for group in groups:
        for name, value in start.get(group, {}).items():
            yield (group, name), {**start, group: {**start[group], name: value + _STEP}}


def _account(payload: Payload, meter: Meter, family: Family) -> Breakdown:
    meter.rule = WireRule(family)
    return account(payload.context, meter, options=payload.options)


def estimate(sample: Sample, values: Mapping[Place, float]) -> int:
    """What the code would say with these values, up to the rounding of single texts."""
    return max(1, round(sample.row.estimate(values)))
