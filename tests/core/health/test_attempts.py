from __future__ import annotations

from collections.abc import Iterable, Mapping

from hypothesis import given
from hypothesis import strategies as st

from ullage.core.health import (
    Action,
    Attempts,
    Chunk,
    Ended,
    Event,
    Failure,
    Finish,
    Flush,
    Hold,
    Limits,
    Offered,
    Seek,
    Send,
    Stop,
    Tick,
    Wait,
    classify,
)

THINKING, TEXT, TOOL = Chunk(False), Chunk(True), Chunk(True)
OK = Ended()


def _status(status: int) -> Ended:
    return Ended(classify(status))


Script = Mapping[str, Iterable[Event | int]]
"""What each target does: events, and milliseconds that pass before the next one."""


class Played:
    """What came of a request: the targets that were sent to, what the client got of whom, the last action. As in the gateway,
    what comes of an answer that is the client's goes to the client without a further question."""

    def __init__(self, targets: str, script: Script, limits: Limits | None = None) -> None:
        self.machine = Attempts(limits or Limits(), now_ms=0)
        self.sent: list[str] = []
        self.got: list[str] = []
        self.now_ms = 0
        self._targets, self._script = list(targets), script
        self.last = self._run()

    def _run(self) -> Action:
        action = self.machine.start()
        while not isinstance(action, Stop | Finish | Flush):
            if isinstance(action, Seek):
                target = next((one for one in self._targets if one not in self.machine.tried), None)
                action = self.machine.step(Offered(target), self.now_ms)
            else:
                assert isinstance(action, Send)
                self.sent.append(action.target)
                assert action.attempt == len(self.sent)
                action = self._listen(action.target)
        return action

    def _listen(self, target: str) -> Action:
        held = 0
        events = iter(self._script[target])
        for event in events:
            action = self._pass_time(event) if isinstance(event, int) else self.machine.step(event, self.now_ms)
            match action:
                case Hold():
                    held += 1
                case Flush():
                    self.got += [target] * (held + 1)
                    self.got += [target for rest in events if isinstance(rest, Chunk)]
                    return action
                case Finish():
                    self.got += [target] * held
                    return action
                case Stop() | Seek():
                    return action
        raise AssertionError(f"the script of {target} ends too early")

    def _pass_time(self, span_ms: int) -> Action:
        until_ms = self.now_ms + span_ms
        while (due := self.machine.deadline_ms) is not None and due <= until_ms:
            self.now_ms = due
            action = self.machine.step(Tick(), due)
            assert not isinstance(action, Wait), "a deadline means something"
            return action
        self.now_ms = until_ms
        return Wait()


# Routing specification, section 19, the table of scripts.


def test_b_answers_where_a_is_unavailable() -> None:
    played = Played("abc", {"a": [_status(503)], "b": [THINKING, TEXT, OK]})
    assert (played.sent, played.got, played.last) == (["a", "b"], ["b", "b"], Flush())


def test_thinking_of_a_target_that_fails_is_never_shown() -> None:
    played = Played("abc", {"a": [THINKING, _status(200)], "b": [TEXT, OK]})
    assert (played.sent, played.got) == (["a", "b"], ["b"])


def test_after_text_nobody_else_is_called() -> None:
    played = Played("abc", {"a": [TEXT, _status(200)]})
    assert (played.sent, played.got, played.last) == (["a"], ["a"], Flush())
    assert played.machine.step(_status(200), 0) == Wait()
    assert played.machine.failure is None


def test_an_invalid_key_stops_at_once() -> None:
    played = Played("abc", {"a": [_status(401)]})
    assert played.sent == ["a"]
    assert played.last == Stop(cause="failed", failure=classify(401))


def test_three_failures_are_an_error() -> None:
    played = Played("abcd", {"a": [_status(500)], "b": [_status(500)], "c": [_status(502)]})
    assert played.sent == ["a", "b", "c"]
    assert played.last == Stop(cause="exhausted", failure=classify(502))


def test_max_attempts_bounds_the_request() -> None:
    """Complaint C30: 33 attempts for 11 requests."""
    played = Played("abc", {"a": [_status(500)], "b": [_status(500)]}, Limits(max_attempts=2))
    assert (played.sent, played.last) == (["a", "b"], Stop(cause="exhausted", failure=classify(500)))


def test_a_silent_target_is_given_up_where_first_output_has_a_limit() -> None:
    limits = Limits(first_output_timeout_ms=50)
    played = Played("ab", {"a": [40, THINKING, 40], "b": [20, TEXT, 100, TEXT, OK]}, limits)
    assert (played.sent, played.got, played.now_ms) == (["a", "b"], ["b", "b"], 70)


def test_what_has_been_thinking_for_long_is_passed_on() -> None:
    played = Played("ab", {"a": [100, THINKING, 30, THINKING, _status(500)]}, Limits(hold_ms=120))
    assert (played.sent, played.got, played.last) == (["a"], ["a", "a"], Flush())


def test_silence_is_not_passed_on_however_long_it_lasts() -> None:
    played = Played("ab", {"a": [THINKING, 500, _status(500)], "b": [TEXT, OK]}, Limits(hold_ms=120))
    assert (played.sent, played.got) == (["a", "b"], ["b"])


def test_after_the_requests_time_nothing_helps_and_late_answers_are_dropped() -> None:
    played = Played("ab", {"a": [200]}, Limits(request_timeout_ms=100))
    assert (played.sent, played.now_ms) == (["a"], 100)
    assert played.last == Stop(cause="timeout")
    assert played.machine.step(TEXT, 200) == Wait()
    assert played.machine.step(OK, 200) == Wait()
    assert played.machine.deadline_ms is None


def test_a_call_of_a_tool_is_never_made_twice() -> None:
    played = Played("abc", {"a": [TOOL, _status(500)]})
    assert (played.sent, played.last) == (["a"], Flush())


# What the table leaves open.


def test_the_requests_time_holds_for_an_answer_that_is_passed_on() -> None:
    played = Played("ab", {"a": [TEXT]}, Limits(request_timeout_ms=100, first_output_timeout_ms=50))
    assert (played.last, played.machine.deadline_ms) == (Flush(), 100)


def test_the_requests_time_counts_while_a_target_is_sought() -> None:
    machine = Attempts(Limits(request_timeout_ms=100), now_ms=0)
    assert machine.step(Offered("a"), 100) == Stop(cause="timeout")


def test_an_answer_that_says_nothing_and_ends_well_is_passed_on() -> None:
    played = Played("ab", {"a": [THINKING, THINKING, OK]})
    assert (played.sent, played.got, played.last) == (["a"], ["a", "a"], Finish())


def test_signatures_that_do_not_fit_go_to_the_next_target() -> None:
    """Complaint C10."""
    bad = Ended(classify(400, "invalid_request_error", "Invalid `signature` in `thinking` block"))
    assert Played("ab", {"a": [bad], "b": [TEXT, OK]}).last == Flush()


def test_nobody_is_asked_twice_whoever_is_offered() -> None:
    """Endless cycles of fallbacks (complaint C30)."""
    machine = Attempts(Limits(max_attempts=20), now_ms=0)
    assert machine.step(Offered("a"), 0) == Send("a", 1)
    assert machine.step(_status(500), 0) == Seek()
    assert machine.step(Offered("a"), 0) == Stop(cause="exhausted", failure=classify(500))


def test_nobody_left_to_ask_is_an_end() -> None:
    assert Played("", {}).last == Stop(cause="exhausted")


# Against a model: the whole request at once, with all that targets would do known beforehand.

OUTCOMES = st.sampled_from(["ok", "500", "401", "text then 500", "thinking then 500", "thinking then ok"])
SCRIPTS: dict[str, list[Event]] = {
    "ok": [TEXT, OK],
    "500": [_status(500)],
    "401": [_status(401)],
    "text then 500": [TEXT, _status(500)],
    "thinking then 500": [THINKING, _status(500)],
    "thinking then ok": [THINKING, OK],
}


@given(st.lists(OUTCOMES, max_size=8), st.integers(1, 5))
def test_it_does_what_a_short_model_does(outcomes: list[str], most: int) -> None:
    names = [chr(ord("a") + index) for index in range(len(outcomes))]
    final = {"ok", "401", "text then 500", "thinking then ok"}
    ends = [name for name, outcome in zip(names, outcomes, strict=True) if outcome in final]
    expected = (names[: names.index(ends[0]) + 1] if ends else names)[:most]

    script = {name: SCRIPTS[outcome] for name, outcome in zip(names, outcomes, strict=True)}
    played = Played("".join(names), script, Limits(max_attempts=most))
    assert played.sent == expected
    last = outcomes[names.index(expected[-1])] if expected else ""
    assert isinstance(played.last, Flush) == (last in ("ok", "text then 500"))
    assert isinstance(played.last, Finish) == (last == "thinking then ok")
    assert set(played.got) <= set(expected[-1:])
    assert bool(played.got) == (last in ("ok", "text then 500", "thinking then ok"))


EVENTS = st.one_of(
    st.builds(Offered, st.sampled_from(["a", "b", "c", None])),
    st.builds(Chunk, st.booleans()),
    st.builds(Ended, st.sampled_from([None, classify(500), classify(400)])),
    st.just(Tick()),
)


@given(
    st.lists(st.tuples(EVENTS, st.integers(0, 60)), max_size=40),
    st.integers(1, 3),
    st.none() | st.integers(1, 100),
    st.none() | st.integers(1, 100),
)
def test_whatever_happens_the_client_gets_one_answer_of_one_target(
    events: list[tuple[Event, int]], most: int, first_ms: int | None, request_ms: int | None
) -> None:
    limits = Limits(max_attempts=most, first_output_timeout_ms=first_ms, request_timeout_ms=request_ms)
    machine = Attempts(limits, now_ms=0)
    now_ms, sent, flushed, over = 0, 0, 0, 0
    for event, pause_ms in events:
        now_ms += pause_ms
        action = machine.step(event, now_ms)
        assert not over or isinstance(action, Wait)
        assert not flushed or isinstance(action, Wait), "a late fallback"
        if request_ms is not None and now_ms >= request_ms:
            assert isinstance(action, Stop | Wait)
        sent += isinstance(action, Send)
        flushed += isinstance(action, Flush)
        over += isinstance(action, Stop | Finish)
    assert sent <= most
    assert over + flushed <= 1
    assert len(set(machine.tried)) == len(machine.tried) == sent


def test_a_failure_is_plain_data() -> None:
    assert Failure(kind="server", status=503, retryable=True, counts=True) == classify(503)
