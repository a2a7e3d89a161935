"""The estimates that are compared: every one gives the prompt of a call, from the text alone or from the call before."""

from __future__ import annotations

import math
import statistics
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from ullage.core.accounting import grown
from ullage.core.accounting.heuristics import resolve_denominators
from ullage.core.calibration import METHOD, TUNING, GrowthState, Key, Trap, expect, find_trap, learn, start_growth
from ullage.core.profiles import find_family, reasoning_retention
from ullage.core.profiles.heuristics import NO_HEURISTICS

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ullage.core.calibration import Addition, Tuning
    from ullage.core.profiles import Family

    from .recordings import CallFigures, Growing, Recording

FITTED = {
    "chars/4": "chars ÷ 4 + fitted constant",
    "seed": "seed denominators + fitted constant",
    "o200k": "o200k + fitted constant",
}
"""Estimates of the whole conversation from its text, with one constant a transcript for what the file does not hold: the median
of what they miss, so it knows the future."""

ANCHORED = {
    "usage+chars/4": "last usage + chars ÷ 4",
    "usage+o200k": "last usage + o200k",
    "family": "last usage + family law",
}
"""Estimates of what is new, on top of the last usage; nothing is learned."""

LEARNED = {
    METHOD: "growth-v1",
    f"{METHOD}-fresh": "growth-v1, every file anew",
    f"{METHOD}-o200k": "growth-v1, o200k as its estimator",
}
"""The same with a law learned from the calls before: of all files in the order of time, or of the same file only."""

METHODS = {**FITTED, **ANCHORED, **LEARNED}
"""Every method by its id, with its name for people."""

SEED_ESTIMATOR = "inspector-v1"
"""The estimator that holds the seed's denominators."""


class Judged(Struct, frozen=True, kw_only=True):
    """What a learned method expected of one call: in tokens, with its interval, and whether the pair could be learned from."""

    tokens: int
    low: int
    high: int
    trap: Trap | None


class Place(NamedTuple):
    """One call of one recording, by their numbers."""

    recording: int
    call: int


def text_estimate(method: str, call: CallFigures) -> float:
    """What a call sent, by one of the fitted methods, before its constant."""
    match method:
        case "chars/4":
            return math.ceil(call.chars / 4)
        case "seed":
            identity = call.identity
            return math.ceil(call.chars / session_denominator(identity.provider, identity.model, call.dialect))
        case _:
            return call.o200k


def session_denominator(provider: str, model: str, dialect: str | None) -> float:
    """Characters a token of session text, as the seed divides them (accounting specification, section 4.1)."""
    denominators = resolve_denominators(SEED_ESTIMATOR, NO_HEURISTICS, provider=provider, model=model, dialect=dialect)
    return denominators.session_denominator


def fit_constant(method: str, calls: Sequence[CallFigures]) -> float:
    """The constant of one transcript: system prompt, tools, and whatever else its file does not hold."""
    return statistics.median(call.prompt - text_estimate(method, call) for call in calls)


def anchored_estimate(method: str, call: CallFigures, growing: Growing) -> float:
    """The prompt of a call by one of the methods that start from the last usage and learn nothing."""
    prompt = growing.addition.prompt
    match method:
        case "usage+chars/4":
            return prompt + growing.output + math.ceil(growing.chars / 4)
        case "usage+o200k":
            return prompt + growing.output + growing.o200k
        case _:
            return prompt + grown(_family(call).growth, output=growing.output, new_tokens=growing.o200k)


class Learning(NamedTuple):
    """What a learned method expected of every call that could be judged, and what it had learned in the end."""

    judged: dict[Place, Judged]
    states: dict[tuple[Key, str], GrowthState]


def follow(method: str, recordings: Sequence[Recording], tuning: Tuning = TUNING) -> Learning:
    """Goes through all calls in the order of time, expects each before it is learned from.

    A state is kept for every provider, model, estimator and client, and where every file begins anew, for each of its files.
    """
    fresh, own_tokens = method.endswith("-fresh"), not method.endswith("-o200k")
    judged: dict[Place, Judged] = {}
    states: dict[tuple[Key, str], GrowthState] = {}
    for place in _by_time(recordings):
        recording = recordings[place.recording]
        call = recording.calls[place.call]
        if call.growing is None:
            continue
        addition = _addition(call.growing, own_tokens=own_tokens)
        where = _key(call, recording.client, own_tokens=own_tokens), recording.path if fresh else ""
        state = states.get(where) or _start(call, own_tokens=own_tokens)
        if call.unscored is None:
            judged[place] = _judge(state, addition, call.prompt)
        states[where] = learn(state, addition, call.prompt, tuning)
    return Learning(judged, states)


def _judge(state: GrowthState, addition: Addition, prompt: int) -> Judged:
    expected = expect(state, addition)
    return Judged(tokens=expected.tokens, low=expected.low, high=expected.high, trap=find_trap(addition, prompt))


def _addition(growing: Growing, *, own_tokens: bool) -> Addition:
    return growing.addition if own_tokens else replace(growing.addition, new_tokens=growing.o200k)


def _start(call: CallFigures, *, own_tokens: bool) -> GrowthState:
    identity = call.identity
    return start_growth(
        _family(call).growth, reasoning_retention(identity.provider, identity.model), own_tokens=own_tokens
    )


def _key(call: CallFigures, client: str, *, own_tokens: bool) -> Key:
    return Key(
        method=METHOD,
        provider=call.identity.provider,
        model=call.identity.model,
        estimator="wire-v1" if own_tokens else "o200k-base-v1",
        client=client,
    )


def _family(call: CallFigures) -> Family:
    return find_family(call.identity.provider, call.dialect, call.identity.model)


def _by_time(recordings: Sequence[Recording]) -> Iterable[Place]:
    """All calls by their time; one without a time stands right behind the call before it in its file."""
    timed: list[tuple[int, Place]] = []
    for number, recording in enumerate(recordings):
        newest = 0
        for index, call in enumerate(recording.calls):
            newest = max(newest, call.time_ms or 0)
            timed.append((newest, Place(number, index)))
    return (place for _, place in sorted(timed))
