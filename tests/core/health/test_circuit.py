from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ullage.core.health import (
    CLOSED,
    RULES,
    Circuit,
    CircuitRules,
    begin_probe,
    circuit_state,
    classify,
    connection_failure,
    end_probe,
    is_admitted,
    note_failure,
    note_success,
    reopens_ms,
)

FIRST = CircuitRules(strikes=1)
"""The mode of the reference: the first failure opens."""

SERVER, LIMIT, CLIENT, SIGNATURE = classify(500), classify(429), classify(422), classify(400, "", "thinking signature")


def _failed(circuit: Circuit, at_ms: int, failure=SERVER, *, asked_ms: int | None = None, **fields) -> Circuit:
    return note_failure(circuit, failure, asked_ms=at_ms if asked_ms is None else asked_ms, now_ms=at_ms, **fields)


def test_a_failure_opens_until_a_minute_later_and_a_failed_try_doubles_that() -> None:
    """Routing specification, section 18, examples."""
    circuit = _failed(CLOSED, 1_000, rules=FIRST)
    assert circuit.retry_at_ms == 61_000
    circuit = _failed(begin_probe(circuit, 62_000), 62_000, rules=FIRST)
    assert circuit.retry_at_ms == 182_000
    circuit = note_success(begin_probe(circuit, 182_000), asked_ms=182_000)
    assert circuit == CLOSED
    assert _failed(circuit, 200_000, rules=FIRST).retry_at_ms == 260_000


def test_cooldowns_double_up_to_ten_minutes() -> None:
    circuit, now_ms, cooldowns = CLOSED, 0, []
    for _ in range(6):
        circuit = _failed(circuit, now_ms, rules=FIRST)
        assert circuit.retry_at_ms is not None
        cooldowns.append((circuit.retry_at_ms - now_ms) // 1_000)
        now_ms = circuit.retry_at_ms
    assert cooldowns == [60, 120, 240, 480, 600, 600]


def test_a_time_that_the_provider_names_holds_where_it_is_later() -> None:
    assert _failed(CLOSED, 0, LIMIT, retry_at_ms=300_000).retry_at_ms == 300_000
    assert _failed(CLOSED, 0, LIMIT, retry_at_ms=3_000).retry_at_ms == 60_000


def test_the_first_429_opens() -> None:
    assert circuit_state(_failed(CLOSED, 0, LIMIT), 0) == "open"


@pytest.mark.parametrize("failure", [SERVER, classify(529), connection_failure("upstream_refused")], ids=str)
def test_servers_and_connections_open_with_the_second_failure_in_two_minutes(failure) -> None:
    once = _failed(CLOSED, 0, failure)
    assert circuit_state(once, 0) == "closed"
    assert circuit_state(_failed(once, 120_000, failure), 120_000) == "open"
    assert circuit_state(_failed(once, 120_001, failure), 120_001) == "closed"
    assert circuit_state(_failed(note_success(once, asked_ms=1), 2, failure), 2) == "closed"


@pytest.mark.parametrize("failure", [CLIENT, SIGNATURE, classify(400), classify(404, "", "file not found")], ids=str)
@pytest.mark.parametrize("circuit", [CLOSED, _failed(CLOSED, 0), _failed(CLOSED, 0, LIMIT)], ids=str)
def test_failures_of_the_client_leave_it_as_it_is(failure, circuit: Circuit) -> None:
    assert _failed(circuit, 1, failure) == circuit


@pytest.mark.parametrize(
    ("failure", "minutes"),
    [(classify(401), [10, 20, 40, 60, 60]), (classify(404), [10, 20, 40, 80, 160, 320, 640, 1_280, 1_440])],
    ids=["key", "model"],
)
def test_what_only_people_mend_opens_at_once_and_for_long(failure, minutes: list[int]) -> None:
    circuit, now_ms, cooldowns = CLOSED, 0, []
    for _ in minutes:
        circuit = _failed(begin_probe(circuit, now_ms), now_ms, failure)
        assert circuit.retry_at_ms is not None
        cooldowns.append((circuit.retry_at_ms - now_ms) // 60_000)
        now_ms = circuit.retry_at_ms
    assert cooldowns == minutes
    assert note_success(begin_probe(circuit, now_ms), asked_ms=now_ms) == CLOSED


def test_one_try_at_a_time_when_the_time_is_over() -> None:
    circuit = _failed(CLOSED, 0, LIMIT)
    assert not is_admitted(circuit, 59_999)
    assert reopens_ms(circuit, 59_999) == 60_000
    assert is_admitted(circuit, 60_000)
    assert reopens_ms(circuit, 60_000) is None
    tried = begin_probe(circuit, 60_000)
    assert not is_admitted(tried, 60_001)
    assert is_admitted(end_probe(tried), 60_001)


def test_a_try_that_nobody_tells_the_end_of_is_over_after_two_minutes() -> None:
    tried = begin_probe(_failed(CLOSED, 0, LIMIT), 60_000)
    assert not is_admitted(tried, 179_999)
    assert reopens_ms(tried, 179_999) == 180_000
    assert is_admitted(tried, 180_000)


def test_a_try_that_fails_by_its_client_lets_another_one_try() -> None:
    tried = _failed(begin_probe(_failed(CLOSED, 0, LIMIT), 60_000), 60_001, CLIENT)
    assert circuit_state(tried, 60_001) == "half-open"
    assert is_admitted(tried, 60_001)


def test_requests_that_were_under_way_when_it_opened_fail_with_it_and_count_once() -> None:
    circuit = _failed(CLOSED, 1_000, LIMIT, asked_ms=0)
    for at_ms in range(1_001, 1_060):
        circuit = _failed(circuit, at_ms, asked_ms=0)
    assert circuit.openings == 1
    assert circuit.retry_at_ms == 61_000
    assert _failed(circuit, 1_100, LIMIT, asked_ms=0, retry_at_ms=90_000).retry_at_ms == 90_000


def test_an_answer_to_a_request_from_before_it_opened_does_not_close_it() -> None:
    circuit = _failed(CLOSED, 1_000, LIMIT, asked_ms=0)
    assert note_success(circuit, asked_ms=999) == circuit
    assert note_success(circuit, asked_ms=1_000) == CLOSED


def test_jitter_is_a_tenth_of_the_cooldown_at_most() -> None:
    times = [_failed(CLOSED, 0, LIMIT, jitter=jitter).retry_at_ms for jitter in (-5.0, -0.1, 0.0, 0.05, 5.0)]
    assert times == [54_000, 54_000, 60_000, 63_000, 66_000]
    assert _failed(CLOSED, 0, LIMIT, jitter=-0.1, retry_at_ms=60_000).retry_at_ms == 60_000


class _Model:
    """The same in other words: what happened since the last success, kept whole."""

    def __init__(self) -> None:
        self.failures: list[int] = []
        self.until_ms = 0
        self.openings = 0
        self.trying_since: int | None = None

    def admits(self, now_ms: int) -> bool:
        if not self.openings:
            return True
        trying = self.trying_since is not None and now_ms - self.trying_since < RULES.probe_ms
        return now_ms >= self.until_ms and not trying

    def send(self, now_ms: int) -> None:
        if self.openings and now_ms >= self.until_ms:
            self.trying_since = now_ms

    def answer(self, status: int, now_ms: int) -> None:
        if status < 400:
            self.__init__()
            return
        self.trying_since = None
        if status not in (429, 500):
            return
        self.failures.append(now_ms)
        lately = [at for at in self.failures if now_ms - at <= RULES.within_ms]
        if self.openings or status == 429 or len(lately) >= RULES.strikes:
            self.openings += 1
            self.until_ms = max(self.until_ms, now_ms + min(60_000 * 2 ** (self.openings - 1), 600_000))


@given(st.lists(st.tuples(st.integers(0, 200_000), st.sampled_from([200, 400, 422, 429, 500]), st.booleans())))
def test_it_does_what_a_short_model_does(steps: list[tuple[int, int, bool]]) -> None:
    """Requests one after the other; some are sent whatever the circuit says, as a pin does."""
    circuit, model, now_ms = CLOSED, _Model(), 0
    for pause_ms, status, forced in steps:
        now_ms += pause_ms
        assert is_admitted(circuit, now_ms) == model.admits(now_ms)
        if not (forced or is_admitted(circuit, now_ms)):
            continue
        circuit = begin_probe(circuit, now_ms)
        model.send(now_ms)
        assert is_admitted(circuit, now_ms) == model.admits(now_ms)
        circuit = note_success(circuit, asked_ms=now_ms) if status < 400 else _failed(circuit, now_ms, classify(status))
        model.answer(status, now_ms)
        assert (circuit_state(circuit, now_ms) == "closed") == (model.openings == 0)
        assert (circuit.retry_at_ms or 0) == model.until_ms


@given(st.lists(st.tuples(st.integers(0, 90_000), st.sampled_from(["send", "fail", "answer", "leave"])), max_size=60))
def test_never_more_than_one_try_is_under_way(steps: list[tuple[int, str]]) -> None:
    circuit = _failed(CLOSED, 0, LIMIT)
    now_ms, tries = 0, []
    for pause_ms, what in steps:
        now_ms += pause_ms
        tries = [at for at in tries if now_ms - at < RULES.probe_ms]
        if what == "send" and is_admitted(circuit, now_ms) and circuit_state(circuit, now_ms) == "half-open":
            circuit = begin_probe(circuit, now_ms)
            tries.append(now_ms)
        elif what != "send" and tries:
            asked_ms = tries.pop()
            if what == "fail":
                circuit = _failed(circuit, now_ms, asked_ms=asked_ms)
            elif what == "leave":
                circuit = end_probe(circuit)
            else:
                circuit = _failed(note_success(circuit, asked_ms=asked_ms), now_ms, LIMIT)
        assert len(tries) <= 1
