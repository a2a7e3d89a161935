"""`growth-v1`: how much one call adds to the next prompt, learned from the calls before (accounting specification, section 24).

    next prompt = last prompt + a + b · output + k · new tokens + each · further items - reasoning not replayed

The law of a tokenizer family is the prior; the pairs of consecutive calls that were seen draw it to what this provider, model and
client do. State goes in, state comes out: whoever keeps it decides where.
"""

from __future__ import annotations

import math
import statistics
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from .least_absolute import fit_law
from .samples import REPLAYS, Addition, Replay, Trap, dropped_reasoning

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ullage.core.profiles import Growth, Retention

METHOD = "growth-v1"

BOUNDS = ((0.7, 2.5), (0.8, 1.1), (0.0, 100.0), (-200.0, 400.0))
"""What k, b, each and a may be. A pair that no law within these explains is a trap, not a sample."""

_REPLAY_EVIDENCE_TOKENS = 100
"""By how many tokens another rule for reasoning must miss less, over the window, before it is believed."""

_FLOOR_TOKENS = 10.0
_OUTPUT_ERROR = 0.01
_SHORT_OUTPUT_ERROR = 0.5
_COVERAGE = 0.9
_PRIOR_MISSES = (1.0, 1.0, 1.0, 2.0, 2.0)


class Tuning(Struct, frozen=True, kw_only=True):
    """How fast a law leaves its prior. `window` is the number of pairs that are kept: older ones say less about the client's
    present version. `trust` is how much the priors of k, b, each and a weigh: as much as so many tokens of text, tokens of
    output, further items and calls.

    The defaults were chosen by leaving out one recorded file at a time (scripts/growth_constants.py, which prints how little the
    error depends on them).
    """

    window: int = 64
    trust: tuple[float, float, float, float] = (4_000.0, 20_000.0, 2.0, 1.0)


TUNING = Tuning()


class Law(Struct, frozen=True, kw_only=True):
    """`k` tokens per new token, `b` per token of output, `each` for every added item behind the first, `a` once a call."""

    k: float = 1.0
    b: float = 1.0
    each: float = 0.0
    a: float = 0.0


class Pair(Struct, frozen=True, array_like=True):
    """One accepted pair of calls. `grown` is the second prompt less the first one; `dropped_turn` and `dropped_never` are what
    would be missing from it under either rule for reasoning; `miss` is the error of the expectation it met, in its scale's units.
    """

    new_tokens: float
    output: int
    items: int
    grown: int
    dropped_turn: int
    dropped_never: int
    miss: float
    at_ms: int = 0


class GrowthState(Struct, frozen=True, kw_only=True):
    """What was learned for one provider, model, estimator and client.

    `prior`, `prior_replay` and `error` are the family's; `law` and `replay` are in force now. `pairs` are the newest accepted
    ones, as many as the window holds; `seen` counts all of them.
    """

    prior: Law
    prior_replay: Replay
    error: float
    law: Law
    replay: Replay
    pairs: tuple[Pair, ...] = ()
    seen: int = 0


class Expectation(Struct, frozen=True, kw_only=True):
    """The next prompt in tokens, with bounds that nine of ten pairs kept to so far; `pairs` is how many were learned from."""

    tokens: int
    low: int
    high: int
    pairs: int
    method: str = METHOD


def start_growth(growth: Growth, retention: Retention, *, own_tokens: bool) -> GrowthState:
    """The state before anything is learned: the family's law and its rule for reasoning.

    `own_tokens` says that new tokens come counted as the family's own, as a `wire-v1` meter does, and not as o200k's: then k
    begins at 1. An answer is taken to come back whole, so b begins at 1; where a family shows less, it is reasoning that was not
    replayed, which has a rule of its own.
    """
    prior = Law(k=1.0 if own_tokens else growth.k, b=1.0, a=growth.a)
    # Where no rule is known, an answer's reasoning is taken to come back like the rest of it.
    replay: Replay = "turn" if retention == "turn" else "all"
    return GrowthState(prior=prior, prior_replay=replay, error=growth.error, law=prior, replay=replay)


def expect(state: GrowthState, addition: Addition) -> Expectation:
    """The prompt of the next call, which is never below zero.

    The interval is as wide as nine of ten accepted pairs missed by: absolute misses are kept in units of a scale, which is ten
    tokens, plus the family's error of the new tokens, plus a hundredth of the output; the ninth decile of those in the window,
    and of a few that stand for the prior, times the scale of this addition. An output that had to be counted adds half of itself.
    """
    grown = _growth(state.law, addition) - dropped_reasoning(addition, state.replay)
    tokens = max(0, _rounded(addition.prompt + grown))
    slack = _margin(state.pairs) * _scale(state, addition)
    if addition.trap == "short_output":
        slack += _SHORT_OUTPUT_ERROR * addition.output
    low, high = math.floor(tokens - slack), math.ceil(tokens + slack)
    return Expectation(tokens=tokens, low=max(0, low), high=high, pairs=len(state.pairs))


def find_trap(addition: Addition, prompt: int) -> Trap | None:
    """Why this addition and the `prompt` that was reported behind it prove nothing; `None` if they are a sample."""
    if addition.trap is not None:
        return addition.trap
    least, most = _explained(addition)
    grown = prompt - addition.prompt
    if grown > most:
        return "unrecorded"
    if grown >= least:
        return None
    return "shrunk" if grown < 0 else "cut"


def pair_of(
    state: GrowthState, addition: Addition, prompt: int, *, expected: int | None = None, at_ms: int = 0
) -> Pair | None:
    """The sample that `prompt` makes of the addition; `None` if the pair is a trap.

    `expected` are the tokens that were expected before the call was sent, if not what this state expects; `at_ms` is when it was.
    """
    if find_trap(addition, prompt) is not None:
        return None
    tokens = expect(state, addition).tokens if expected is None else expected
    return Pair(
        new_tokens=addition.new_tokens,
        output=addition.output,
        items=addition.items,
        grown=prompt - addition.prompt,
        dropped_turn=dropped_reasoning(addition, "turn"),
        dropped_never=dropped_reasoning(addition, "never"),
        miss=abs(tokens - prompt) / _scale(state, addition),
        at_ms=at_ms,
    )


def take_pairs(state: GrowthState, taken: Sequence[Pair], tuning: Tuning = TUNING) -> GrowthState:
    """The state with these pairs among its own: the newest of all that the window holds, whatever order they come in."""
    pairs = tuple(sorted((*state.pairs, *taken), key=_age)[-tuning.window :])
    law, replay = _fit(state, pairs, tuning)
    return replace(state, law=law, replay=replay, pairs=pairs, seen=state.seen + len(taken))


def learn(state: GrowthState, addition: Addition, prompt: int, tuning: Tuning = TUNING) -> GrowthState:
    """The state after `prompt` was reported for the call that sent the addition; the same state if the pair is a trap."""
    pair = pair_of(state, addition, prompt)
    return state if pair is None else take_pairs(state, (pair,), tuning)


def _age(pair: Pair) -> int:
    return pair.at_ms


def _growth(law: Law, added: Addition | Pair) -> float:
    return law.a + law.b * added.output + law.k * added.new_tokens + law.each * _further(added.items)


def _further(items: int) -> int:
    return max(0, items - 1)


def _explained(addition: Addition) -> tuple[float, float]:
    """The least and the most that any law and any rule for reasoning would let the prompt grow."""
    least, most = (Law(k=k, b=b, each=each, a=a) for k, b, each, a in zip(*BOUNDS, strict=True))
    dropped = [dropped_reasoning(addition, replay) for replay in REPLAYS]
    return _growth(least, addition) - max(dropped), _growth(most, addition) - min(dropped)


def _fit(state: GrowthState, pairs: Sequence[Pair], tuning: Tuning) -> tuple[Law, Replay]:
    """The law under the family's rule for reasoning; under another one where that explains the pairs clearly better."""
    law = _fit_law(state.prior, pairs, state.prior_replay, tuning)
    replay = _find_replay(state.prior_replay, law, pairs)
    return (law if replay == state.prior_replay else _fit_law(state.prior, pairs, replay, tuning)), replay


def _fit_law(prior: Law, pairs: Sequence[Pair], replay: Replay, tuning: Tuning) -> Law:
    k, b, each, a = fit_law(
        [(pair.new_tokens, float(pair.output), float(_further(pair.items)), 1.0) for pair in pairs],
        [pair.grown + _dropped(pair, replay) for pair in pairs],
        prior=(prior.k, prior.b, prior.each, prior.a),
        trust=tuning.trust,
        bounds=BOUNDS,
    )
    return Law(k=k, b=b, each=each, a=a)


def _find_replay(prior: Replay, law: Law, pairs: Sequence[Pair]) -> Replay:
    """The rule that misses least, each with a constant of its own, with some favour for the family's."""
    rests = [pair.grown - _growth(law, pair) for pair in pairs]
    missed = {replay: _missed(rests, pairs, replay) for replay in REPLAYS}
    missed[prior] -= _REPLAY_EVIDENCE_TOKENS
    return min(REPLAYS, key=lambda replay: (missed[replay], replay != prior))


def _missed(rests: Sequence[float], pairs: Sequence[Pair], replay: Replay) -> float:
    unexplained = [rest + _dropped(pair, replay) for rest, pair in zip(rests, pairs, strict=True)]
    middle = statistics.median(unexplained)
    return math.fsum(abs(rest - middle) for rest in unexplained)


def _dropped(pair: Pair, replay: Replay) -> int:
    match replay:
        case "all":
            return 0
        case "turn":
            return pair.dropped_turn
        case "never":
            return pair.dropped_never


def _scale(state: GrowthState, addition: Addition) -> float:
    """How far an expectation of this size is off in general."""
    return _FLOOR_TOKENS + state.error * addition.new_tokens + _OUTPUT_ERROR * addition.output


def _margin(pairs: Sequence[Pair]) -> float:
    misses = sorted([*_PRIOR_MISSES, *(pair.miss for pair in pairs)])
    return misses[math.ceil(_COVERAGE * len(misses)) - 1]


def _rounded(tokens: float) -> int:
    return math.floor(tokens + 0.5)
