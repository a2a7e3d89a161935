"""`ullage eval transcripts`: how far estimates are from the prompts that recorded sessions report.

Three questions over the same calls (accounting specification, sections 16.1 and 24; planner specification, section 7). How well
does an estimator follow a whole conversation, given one constant for what the file does not hold? How well is the next prompt
known before it is sent, from what was reported up to then? And how well does one ratio, learned from the calls before, mend an
estimate of the whole?
"""

from __future__ import annotations

import statistics
from collections import Counter, defaultdict
from typing import TYPE_CHECKING

from msgspec import Struct

from ullage.core.calibration import METHOD
from ullage.core.errors import SessionError

from .calibrated import CalibratedFile, Weighed, judge_file
from .files import Skipped
from .methods import (
    ANCHORED,
    FITTED,
    LEARNED,
    METHODS,
    Judged,
    Place,
    anchored_estimate,
    fit_constant,
    follow,
    text_estimate,
)
from .recordings import Identity, Recording, read_recording
from .scores import Miss, Scores, score

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from ullage.core.calibration import GrowthState, Key

    from .methods import Learning
    from .recordings import CallFigures

ALL = "all"
"""The name of the pool that holds every client's calls."""


class Transcript(Struct, frozen=True, kw_only=True):
    """One file's calls of one provider and model, on the main chain or of one sub-agent.

    `calls` are its trusted ones, `judged` those that were estimated from the last usage. `mixed` says that the file has calls of
    several models: the summary of section 16.1 leaves it out. `fitted` are the scores over all calls whose text is there,
    `scores` those over the judged ones: the same calls for every method, but for calls whose text is gone, which no estimate of
    the whole text can be tried on.
    """

    path: str
    client: str
    identity: Identity
    calls: int
    judged: int
    mixed: bool
    fitted: dict[str, Scores]
    scores: dict[str, Scores]


class Summary(Struct, frozen=True, kw_only=True):
    """One fitted method over all transcripts of one model: the medians of their MAE in tokens and of their MAPE, the MAE of all
    their calls, and on how many its MAE is smaller or larger than that of characters ÷ 4.
    """

    transcripts: int
    calls: int
    median_mae: float
    weighted_mae: float
    median_mape: float
    wins: int
    losses: int


class Interval(Struct, frozen=True, kw_only=True):
    """How the intervals of the learned method did: the share of prompts inside, and the median width in tokens."""

    inside: float
    median_width: float


class Learned(Struct, frozen=True, kw_only=True):
    """The law of one key in the end; `pairs` were learned from."""

    provider: str
    model: str
    client: str
    k: float
    b: float
    a: float
    each: float
    replay: str
    pairs: int


class Evaluation(Struct, frozen=True, kw_only=True):
    """All that `ullage eval transcripts` reports.

    `pooled` has the scores of every method over the judged calls of each client and of all; `intervals` and `misses` (by the trap
    that a call turned out to be, or "none") belong to growth-v1. `unscored` counts calls that no estimate from the last usage was
    judged on, by reason. `calibrated` has the files of which calibrated estimates were judged, `uncalibrated` the others.
    """

    transcripts: tuple[Transcript, ...]
    summary: dict[str, Summary]
    pooled: dict[str, dict[str, Scores]]
    intervals: dict[str, Interval]
    misses: dict[str, Scores]
    unscored: dict[str, int]
    laws: tuple[Learned, ...]
    calibrated: tuple[CalibratedFile, ...]
    uncalibrated: tuple[Skipped, ...]
    skipped: tuple[Skipped, ...]


def evaluate(paths: Iterable[Path], *, min_calls: int = 2, skipped: Sequence[Skipped] = ()) -> Evaluation:
    """Evaluates session files, read one after the other, as `find_files` finds them.

    Transcripts with fewer than `min_calls` calls are left out. Files that cannot be read or prove nothing are named in the
    result's `skipped`, behind those given.
    """
    recordings: list[Recording] = []
    left_out = list(skipped)
    for path in paths:
        try:
            recording = read_recording(path)
        except SessionError as error:
            left_out.append(Skipped(path=str(path), reason=error.message.removeprefix(f"{path} ").rstrip(".")))
            continue
        reason = _unfit(recording, min_calls)
        if reason is None:
            recordings.append(recording)
        else:
            left_out.append(Skipped(path=str(path), reason=reason))
    return _evaluated(recordings, min_calls, tuple(left_out))


def _unfit(recording: Recording, min_calls: int) -> str | None:
    if recording.handmade:
        return "made by hand: its figures measure nothing"
    if not recording.calls:
        return "no call has usage that can be trusted"
    most = max(Counter(call.identity for call in recording.calls).values())
    return None if most >= min_calls else f"fewer than {min_calls} calls of one model"


def _evaluated(recordings: Sequence[Recording], min_calls: int, skipped: tuple[Skipped, ...]) -> Evaluation:
    learnings = {method: follow(method, recordings) for method in LEARNED}
    transcripts: list[Transcript] = []
    pools: dict[str, dict[str, list[Miss]]] = defaultdict(lambda: defaultdict(list))
    unscored: Counter[str] = Counter()
    judged: dict[Place, Judged] = {}
    for number, recording in enumerate(recordings):
        for identity, places in _grouped(number, recording).items():
            if len(places) < min_calls:
                continue
            calls = [recording.calls[place.call] for place in places]
            misses = _misses(places, calls, learnings)
            for method, found in misses.items():
                pools[recording.client][method] += found
                pools[ALL][method] += found
            unscored.update(call.unscored for call in calls if call.unscored is not None)
            judged |= {place: learnings[METHOD].judged[place] for place in places if place in learnings[METHOD].judged}
            transcripts.append(_transcript(recording, identity, calls, misses))
    files = [
        judge_file(recording.path, recording.client, list(_weighed(number, recording, learnings[f"{METHOD}-fresh"])))
        for number, recording in enumerate(recordings)
    ]
    return Evaluation(
        transcripts=tuple(transcripts),
        summary=_summary([transcript for transcript in transcripts if not transcript.mixed]),
        pooled={name: _scored(pool) for name, pool in sorted(pools.items())},
        intervals=_intervals(recordings, judged),
        misses=_by_trap(recordings, judged),
        unscored=dict(sorted(unscored.items())),
        laws=tuple(_learned(key, state) for (key, _), state in sorted(learnings[METHOD].states.items(), key=_by_key)),
        calibrated=tuple(file for file in files if isinstance(file, CalibratedFile)),
        uncalibrated=tuple(file for file in files if isinstance(file, Skipped)),
        skipped=skipped,
    )


def _weighed(number: int, recording: Recording, growth: Learning) -> Iterator[Weighed]:
    for index, call in enumerate(recording.calls):
        judged = growth.judged.get(Place(number, index))
        yield Weighed(
            provider=call.identity.provider,
            model=call.identity.model,
            prompt=call.prompt,
            raw=call.raw,
            grown=judged.tokens if judged is not None else None,
            lossy=call.lossy,
        )


def _by_key(entry: tuple[tuple[Key, str], GrowthState]) -> tuple[Key, str]:
    return entry[0]


def _grouped(number: int, recording: Recording) -> dict[Identity, list[Place]]:
    groups: dict[Identity, list[Place]] = defaultdict(list)
    for index, call in enumerate(recording.calls):
        groups[call.identity].append(Place(number, index))
    return groups


def _transcript(
    recording: Recording, identity: Identity, calls: Sequence[CallFigures], misses: dict[str, list[Miss]]
) -> Transcript:
    models = {(call.identity.provider, call.identity.model) for call in recording.calls}
    whole = [call for call in calls if not call.lossy]
    return Transcript(
        path=recording.path,
        client=recording.client,
        identity=identity,
        calls=len(calls),
        judged=sum(call.unscored is None for call in calls),
        mixed=len(models) > 1,
        fitted=_scored({method: _fitted_misses(method, whole, whole) for method in FITTED}) if len(whole) > 1 else {},
        scores=_scored(misses),
    )


def _misses(
    places: Sequence[Place], calls: Sequence[CallFigures], learnings: dict[str, Learning]
) -> dict[str, list[Miss]]:
    """What every method misses on the judged calls of one transcript."""
    whole = [call for call in calls if not call.lossy]
    judged = [(place, call) for place, call in zip(places, calls, strict=True) if call.unscored is None]
    misses = {
        method: _fitted_misses(method, whole, [call for call in whole if call.unscored is None]) for method in FITTED
    }
    for method in ANCHORED:
        misses[method] = [
            _miss(anchored_estimate(method, call, call.growing), call) for _, call in judged if call.growing is not None
        ]
    for method, learning in learnings.items():
        misses[method] = [_miss(learning.judged[place].tokens, call) for place, call in judged]
    return misses


def _fitted_misses(method: str, whole: Sequence[CallFigures], judged: Sequence[CallFigures]) -> list[Miss]:
    if len(whole) < 2:
        return []
    constant = fit_constant(method, whole)
    return [_miss(text_estimate(method, call) + constant, call) for call in judged]


def _miss(estimate: float, call: CallFigures) -> Miss:
    grown = None if call.growing is None else call.prompt - call.growing.addition.prompt
    return Miss(estimate, call.prompt, grown)


def _scored(misses: dict[str, list[Miss]]) -> dict[str, Scores]:
    scored = {method: score(misses.get(method, [])) for method in METHODS}
    return {method: scores for method, scores in scored.items() if scores is not None}


def _summary(transcripts: Sequence[Transcript]) -> dict[str, Summary]:
    return {method: _summed(method, found) for method in FITTED if (found := [t for t in transcripts if t.fitted])}


def _summed(method: str, transcripts: Sequence[Transcript]) -> Summary:
    scores = [transcript.fitted[method] for transcript in transcripts]
    plain = [transcript.fitted["chars/4"].mae for transcript in transcripts]
    calls = sum(one.calls for one in scores)
    return Summary(
        transcripts=len(scores),
        calls=calls,
        median_mae=statistics.median(one.mae for one in scores),
        weighted_mae=sum(one.mae * one.calls for one in scores) / calls,
        median_mape=statistics.median(one.mape for one in scores),
        wins=sum(one.mae < other for one, other in zip(scores, plain, strict=True)),
        losses=sum(one.mae > other for one, other in zip(scores, plain, strict=True)),
    )


def _intervals(recordings: Sequence[Recording], judged: dict[Place, Judged]) -> dict[str, Interval]:
    groups: dict[str, list[tuple[bool, int]]] = defaultdict(list)
    for place, one in judged.items():
        recording = recordings[place.recording]
        found = one.low <= recording.calls[place.call].prompt <= one.high, one.high - one.low
        groups[recording.client].append(found)
        groups[ALL].append(found)
    return {
        name: Interval(
            inside=statistics.fmean(inside for inside, _ in group),
            median_width=statistics.median(width for _, width in group),
        )
        for name, group in sorted(groups.items())
    }


def _by_trap(recordings: Sequence[Recording], judged: dict[Place, Judged]) -> dict[str, Scores]:
    groups: dict[str, list[Miss]] = defaultdict(list)
    for place, one in judged.items():
        call = recordings[place.recording].calls[place.call]
        groups[one.trap or "none"].append(_miss(one.tokens, call))
    return {name: scores for name, misses in sorted(groups.items()) if (scores := score(misses)) is not None}


def _learned(key: Key, state: GrowthState) -> Learned:
    law = state.law
    return Learned(
        provider=key.provider,
        model=key.model,
        client=key.client,
        k=law.k,
        b=law.b,
        a=law.a,
        each=law.each,
        replay=state.replay,
        pairs=state.seen,
    )
