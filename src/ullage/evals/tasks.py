"""The user's own tasks, run twice: once through the router, once without it (routing specification, section 28).

The records are read and compared as they stand: nothing is called, and no test is run to see whether a task was done.
"""

from __future__ import annotations

import hashlib
import statistics
from collections import Counter
from math import comb
from typing import TYPE_CHECKING, Annotated, Literal, NamedTuple

import msgspec
from msgspec import Meta, Struct

from ullage.core.errors import InputError

from .resampling import DRAWS, SEED, Interval, interval_of, resample

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

Arm = Literal["router", "baseline"]

ARMS: tuple[Arm, ...] = ("router", "baseline")

_MOST_NAMED = 5  # of several faults of one file


class RunRecord(Struct, frozen=True, kw_only=True, rename="camel"):
    """One run of a task at a revision of the code. `accepted` and `cost_usd` are `None` where that is not known; `seed` is what
    the run was begun with, and `synthetic` marks runs that were made up."""

    task_id: Annotated[str, Meta(min_length=1)]
    revision: Annotated[str, Meta(min_length=1)]
    arm: Arm
    accepted: bool | None
    cost_usd: Annotated[float, Meta(ge=0)] | None
    duration_ms: Annotated[float, Meta(ge=0)]
    model: str
    seed: int | None = None
    synthetic: bool = False


class Pair(NamedTuple):
    """The two runs of one task at one revision."""

    router: RunRecord
    baseline: RunRecord


class ArmSummary(Struct, frozen=True, kw_only=True):
    """One arm: how many runs were accepted and what they cost together, `None` where a run does not say; the median duration; and
    how many runs each model had."""

    accepted: int | None
    cost_usd: float | None
    duration_ms: float
    models: dict[str, int]


class Quality(Struct, frozen=True, kw_only=True):
    """The acceptance of the pairs compared. `router_only` and `baseline_only` are the discordant pairs, `p` is McNemar's exact
    two-sided one."""

    router_only: int
    baseline_only: int
    p: float


class Cost(Struct, frozen=True, kw_only=True):
    """What the router's runs cost as a multiple of the baseline's, with a paired 95 % interval; `None` where the baseline cost
    nothing."""

    ratio: float | None
    interval: Interval | None
    draws: int
    seed: int


class Suppressed(Struct, frozen=True, kw_only=True):
    """A comparison that is not made, because some runs do not say what it needs."""

    suppressed: Literal[True] = True
    missing: int
    reason: str


class Provenance(Struct, frozen=True, kw_only=True):
    """Where the records are from: the file, the beginning of its SHA-256, and how many runs are marked as made up."""

    file: str
    sha256: str
    records: int
    revisions: int
    synthetic: int


class Evaluation(Struct, frozen=True, kw_only=True):
    """Paired runs compared. `n` counts pairs."""

    n: int
    router: ArmSummary
    baseline: ArmSummary
    quality: Quality | Suppressed
    cost: Cost | Suppressed
    provenance: Provenance


def evaluate(
    data: bytes, file: str, *, draws: int = DRAWS, watch: Callable[[range], Iterable[int]] = iter
) -> Evaluation:
    """The comparison of the runs in a JSONL file. `watch` is given the draws of the bootstrap, to show how far they are.

    Raises `InputError` for a line that is no record, and for a task that has not exactly one run in each arm; each is named.
    """
    records = _read(data)
    pairs = _pair(records)
    if not pairs:
        raise InputError(f"{file} holds no runs.", hint="See `ullage eval tasks --help` for what a line holds.")
    return Evaluation(
        n=len(pairs),
        router=_summarize([pair.router for pair in pairs]),
        baseline=_summarize([pair.baseline for pair in pairs]),
        quality=_compare_quality(pairs),
        cost=_compare_cost(pairs, draws, watch),
        provenance=Provenance(
            file=file,
            sha256=hashlib.sha256(data).hexdigest()[:12],
            records=len(records),
            revisions=len({record.revision for record in records}),
            synthetic=sum(record.synthetic for record in records),
        ),
    )


def mcnemar(router_only: int, baseline_only: int) -> float:
    """The exact two-sided p of McNemar's test: how likely pairs that disagree part at least so unevenly by chance."""
    disagreeing, fewer = router_only + baseline_only, min(router_only, baseline_only)
    tail = sum(comb(disagreeing, count) for count in range(fewer + 1))
    everything = 1 << disagreeing
    return min(1.0, 2 * tail / everything)


def _read(data: bytes) -> list[RunRecord]:
    decoder = msgspec.json.Decoder(RunRecord)
    records: list[RunRecord] = []
    faults: list[str] = []
    for number, line in enumerate(data.splitlines(), start=1):
        if not line.strip():
            continue
        try:
            records.append(decoder.decode(line))
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            faults.append(f"line {number}: {error}")
    if faults:
        raise InputError(
            f"Not every line is a run: {_first(faults)}.",
            hint="A line is {taskId, revision, arm, accepted, costUsd, durationMs, model}.",
        )
    return records


def _pair(records: list[RunRecord]) -> list[Pair]:
    """The runs of both arms, task by task."""
    found: dict[tuple[str, str], dict[Arm, list[RunRecord]]] = {}
    for record in records:
        found.setdefault((record.task_id, record.revision), {}).setdefault(record.arm, []).append(record)
    faults = [
        f"{task} at {revision} has {len(arms.get(arm, ()))} runs of the {arm}"
        for (task, revision), arms in found.items()
        for arm in ARMS
        if len(arms.get(arm, ())) != 1
    ]
    if faults:
        raise InputError(
            f"Each task needs exactly one run in each arm: {_first(faults)}.",
            hint="Add the run that is missing, or leave the task out.",
            code="unpaired",
        )
    return [Pair(arms["router"][0], arms["baseline"][0]) for arms in found.values()]


def _first(faults: list[str]) -> str:
    more = f"; and {len(faults) - _MOST_NAMED} more" if len(faults) > _MOST_NAMED else ""
    return f"{'; '.join(faults[:_MOST_NAMED])}{more}"


def _summarize(runs: list[RunRecord]) -> ArmSummary:
    accepted = [run.accepted for run in runs if run.accepted is not None]
    costs = [run.cost_usd for run in runs if run.cost_usd is not None]
    return ArmSummary(
        accepted=sum(accepted) if len(accepted) == len(runs) else None,
        cost_usd=sum(costs) if len(costs) == len(runs) else None,
        duration_ms=statistics.median(run.duration_ms for run in runs),
        models=dict(sorted(Counter(run.model for run in runs).items())),
    )


def _compare_quality(pairs: list[Pair]) -> Quality | Suppressed:
    missing = sum(run.accepted is None for pair in pairs for run in pair)
    if missing:
        return Suppressed(missing=missing, reason=_reason(missing, "whether they were accepted"))
    router_only = sum(bool(pair.router.accepted) and not pair.baseline.accepted for pair in pairs)
    baseline_only = sum(bool(pair.baseline.accepted) and not pair.router.accepted for pair in pairs)
    return Quality(
        router_only=router_only,
        baseline_only=baseline_only,
        p=mcnemar(router_only, baseline_only),
    )


def _compare_cost(pairs: list[Pair], draws: int, watch: Callable[[range], Iterable[int]]) -> Cost | Suppressed:
    costs = [
        (pair.router.cost_usd, pair.baseline.cost_usd)
        for pair in pairs
        if pair.router.cost_usd is not None and pair.baseline.cost_usd is not None
    ]
    missing = sum(run.cost_usd is None for pair in pairs for run in pair)
    if missing:
        return Suppressed(missing=missing, reason=_reason(missing, "what they cost"))
    ratio = _ratio(*map(sum, zip(*costs, strict=True)))
    if ratio is None:
        return Cost(ratio=None, interval=None, draws=0, seed=SEED)
    sums = resample(costs, draws=draws, watch=watch)
    ratios = [found for router, baseline in sums if (found := _ratio(router, baseline)) is not None]
    return Cost(ratio=ratio, interval=interval_of(ratios), draws=draws, seed=SEED)


def _reason(missing: int, what: str) -> str:
    return f"{missing} {'run does' if missing == 1 else 'runs do'} not say {what}"


def _ratio(router: float, baseline: float) -> float | None:
    return router / baseline if baseline else None
