"""When a target is left alone, for how long, and how it is tried again (routing specification, section 18).

A circuit is closed while its target does well. It opens with the first 429, or with the second failure of the server or the
connection within two minutes; ours, since one 500 says little. A model that is not there and a key that is refused open it at
once and for long, ours as well: only people mend those. When its time is over one request may try; if that fails, the time
doubles. Times are epoch milliseconds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from msgspec import Struct
from msgspec.structs import replace

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .failures import Failure, FailureKind

CircuitState = Literal["closed", "open", "half-open"]

MOST_JITTER = 0.1
"""Part of a cooldown by which it may be longer or shorter, so that many processes do not come back at once."""

_TOO_MANY = 429
_LONGEST_MS: Mapping[FailureKind, int] = {"auth": 3_600_000, "not-found": 86_400_000}
"""The longest cooldown of what only people mend (ours): a key is soon put right, a model seldom comes back. They begin with the
longest one of other failures."""
_MOST_DOUBLINGS = 32


class CircuitRules(Struct, frozen=True, kw_only=True):
    """`strikes` failures within `within_ms` open a circuit; a first cooldown is `cooldown_ms`, none is longer than `longest_ms`,
    unless the provider says so itself. A try that nobody tells the end of is over after `probe_ms` (ours)."""

    strikes: int = 2
    within_ms: int = 120_000
    cooldown_ms: int = 60_000
    longest_ms: int = 600_000
    probe_ms: int = 120_000


RULES = CircuitRules()


class Circuit(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The circuit of one target. `openings` count how often it opened without a success between, last at `opened_ms`; it is
    closed where `retry_at_ms` is `None`. `strikes` are the failures that did not open it, `probe_ms` is when a try began."""

    openings: int = 0
    opened_ms: int = 0
    retry_at_ms: int | None = None
    strikes: tuple[int, ...] = ()
    probe_ms: int | None = None


CLOSED = Circuit()


def circuit_state(circuit: Circuit, now_ms: int) -> CircuitState:
    """Whether the target may be called, must not be, or may be tried."""
    if circuit.retry_at_ms is None:
        return "closed"
    return "open" if now_ms < circuit.retry_at_ms else "half-open"


def is_admitted(circuit: Circuit, now_ms: int, rules: CircuitRules = RULES) -> bool:
    """Whether a request may go to the target: not while it is open, and not beside a try."""
    state = circuit_state(circuit, now_ms)
    return state == "closed" or (state == "half-open" and not _is_probed(circuit, now_ms, rules))


def reopens_ms(circuit: Circuit, now_ms: int, rules: CircuitRules = RULES) -> int | None:
    """When a request may go to a target that is left alone now; `None` where one may at once."""
    if is_admitted(circuit, now_ms, rules):
        return None
    if circuit.probe_ms is not None and circuit_state(circuit, now_ms) == "half-open":
        return circuit.probe_ms + rules.probe_ms
    return circuit.retry_at_ms


def begin_probe(circuit: Circuit, now_ms: int) -> Circuit:
    """A request goes to the target; it is the try where the circuit is half open."""
    if circuit_state(circuit, now_ms) != "half-open":
        return circuit
    return replace(circuit, probe_ms=now_ms)


def end_probe(circuit: Circuit) -> Circuit:
    """The try is over and has told nothing of the target: its client has left, or asked for what nobody does."""
    return replace(circuit, probe_ms=None)


def note_success(circuit: Circuit, *, asked_ms: int) -> Circuit:
    """The target answered a request that was sent at `asked_ms`. One from before the circuit opened says nothing of it."""
    return circuit if circuit.retry_at_ms is not None and asked_ms < circuit.opened_ms else CLOSED


def note_failure(
    circuit: Circuit,
    failure: Failure,
    *,
    asked_ms: int,
    now_ms: int,
    retry_at_ms: int | None = None,
    jitter: float = 0.0,
    rules: CircuitRules = RULES,
) -> Circuit:
    """The target failed a request that was sent at `asked_ms`.

    `retry_at_ms` is when the provider says that it may be asked again. `jitter` lengthens the cooldown by that part of it, from
    -0.1 to 0.1. Requests from before the circuit opened fail with it and do not count again. What is not held against a target
    ends a try and changes nothing else.
    """
    if circuit.retry_at_ms is not None and asked_ms < circuit.opened_ms:
        later = max(circuit.retry_at_ms, retry_at_ms or 0) if failure.counts else circuit.retry_at_ms
        return replace(circuit, retry_at_ms=later)
    if not failure.counts:
        return end_probe(circuit)
    if circuit.retry_at_ms is None:
        recent = (*(at for at in circuit.strikes if now_ms - at <= rules.within_ms), now_ms)
        if failure.status != _TOO_MANY and failure.kind not in _LONGEST_MS and len(recent) < rules.strikes:
            return replace(circuit, strikes=recent)
    openings = circuit.openings + 1
    lasting_ms = _LONGEST_MS.get(failure.kind)
    first_ms, most_ms = (rules.cooldown_ms, rules.longest_ms) if lasting_ms is None else (rules.longest_ms, lasting_ms)
    cooldown_ms = min(first_ms * 2 ** min(openings - 1, _MOST_DOUBLINGS), most_ms)
    spread = round(cooldown_ms * max(-MOST_JITTER, min(MOST_JITTER, jitter)))
    return Circuit(
        openings=openings,
        opened_ms=now_ms,
        retry_at_ms=max(now_ms + cooldown_ms + spread, retry_at_ms or 0, circuit.retry_at_ms or 0),
    )


def _is_probed(circuit: Circuit, now_ms: int, rules: CircuitRules) -> bool:
    return circuit.probe_ms is not None and now_ms < circuit.probe_ms + rules.probe_ms
