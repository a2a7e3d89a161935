"""Limits drawn before a call, and what its usage teaches (planner specification, sections 4 to 11; regressions R39 to R43)."""

from __future__ import annotations

from typing import Any

import pytest

from tests.engine.observing import Asked, Bench, asked, recorded
from ullage.stores import CallRecord, MemoryStore

TARGET = "provider.example/gpt-4o-mini"
WINDOW = {"models": {"overrides": {"*": {"context_window": 128_000, "max_output_tokens": 16_384}}}}
BY_RATIO = {**WINDOW, "calibration": {"method": "ratio-v1"}}
"""The planner specification's own way of learning."""


def chat(text: str = "word " * 400, *, model: str = "gpt-4o-mini", session: str = "s", **headers: str) -> Asked:
    body = {"model": model, "messages": [{"role": "user", "content": text}]}
    return asked("/v1/chat/completions", body, x_ullage_session=session, **headers)


def answer(prompt: int | None, *, response: str = "", cached: int = 0, finish: str = "stop") -> dict[str, Any]:
    choice = {"index": 0, "message": {"role": "assistant", "content": "ok"}, "finish_reason": finish}
    usage = {"prompt_tokens": prompt, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": cached}}
    named = {"id": response} if response else {}
    return {**named, "model": "m", "choices": [choice], **({} if prompt is None else {"usage": usage})}


def samples(bench: Bench, estimator: str = "chars-v1", model: str = "gpt-4o-mini") -> list[Any]:
    assert bench.store.flush()
    found: list[Any] = bench.store.samples("provider.example", model, estimator)
    return found


def test_a_call_is_judged_by_its_profile_before_anything_is_learned() -> None:
    with Bench(sections=WINDOW) as bench:
        call = bench.ask(chat(), answer(640))
    assert call.awareness is not None and call.breakdown is not None
    assert call.awareness["profile"]["key"] == TARGET
    assert call.awareness["profile"]["override_keys"] == ["*"]
    assert call.awareness["calibration"]["applied_ratio"] == 1.0
    assert call.awareness["budget"]["hard"] == 109_056
    assert call.breakdown["window"] == 128_000


def test_an_unknown_window_stays_unknown() -> None:
    with Bench() as bench:
        call = bench.ask(chat(), answer(640))
    assert call.awareness is not None and call.breakdown is not None
    assert call.awareness["profile"]["context_window"] is None
    assert call.awareness["budget"] is None
    assert call.breakdown["window"] is None


def test_three_samples_calibrate_the_fourth_call() -> None:
    with Bench(sections=BY_RATIO) as bench:
        calls = [bench.ask(chat(session=f"s{number}"), answer(640)) for number in range(4)]
    estimated = 8 + 1 + 500 + 4
    assert calls[0].sample == {
        "estimator": "chars-v1",
        "estimated": estimated,
        "actual": 640,
        "ratio": round(640 / estimated, 6),
        "accepted": True,
    }
    ratios = [call.awareness["calibration"]["applied_ratio"] for call in calls if call.awareness]
    assert ratios == [1.0, 1.0, 1.0, round(640 / estimated, 6)]


def test_a_ratio_is_rounded_as_everywhere() -> None:
    """Halves go up, so that a record and the median of its window agree (planner specification, section 0)."""
    with Bench(sections=BY_RATIO) as bench:
        call = bench.ask(chat("word" * 115), answer(129))
    assert call.sample is not None
    assert (call.sample["estimated"], call.sample["ratio"]) == (128, 1.007813)


def test_each_estimator_gets_one_sample_of_a_call_with_its_raw_estimate() -> None:
    with Bench(sections=BY_RATIO) as bench:
        call = bench.ask(chat(), answer(640, cached=100))
        (by_chars,), (by_wire,) = samples(bench), samples(bench, "wire-v1")
    assert (by_chars.id, by_chars.estimated) == (call.id, 513)
    assert by_wire.id == call.id
    assert call.estimated_input_tokens is not None
    assert (
        0 < by_wire.estimated <= call.estimated_input_tokens
    )  # what every request has alike is not the conversation's
    assert (by_chars.input_fresh, by_chars.cache_read, by_chars.prompt) == (540, 100, 640)


def test_both_conventions_of_cached_tokens_make_the_same_prompt() -> None:
    """R39, R40: Anthropic reports the cached part beside the fresh one, OpenAI inside it."""
    body = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "word " * 400}]}
    with Bench(sections=BY_RATIO) as bench:
        bench.ask(asked("/v1/messages", body, x_ullage_session="a"))
        bench.ask(asked("/v1/chat/completions", body, x_ullage_session="b"))
        found = samples(bench, model="m")
    assert [sample.prompt for sample in found] == [100, 100]
    assert [sample.cache_read for sample in found] == [60, 60]


def test_a_turn_of_several_calls_teaches_by_each_of_them_and_never_by_their_sum__r41() -> None:
    """Their cache counters added up would be 931,132 tokens where 164,000 are real."""
    reported = [(150_000, 0), (156_000, 150_000), (164_000, 156_000)]
    words = ["word " * size for size in (400, 420, 440)]
    with Bench(sections=BY_RATIO) as bench:
        calls = [
            bench.ask(chat(text), answer(prompt // 200, cached=cached // 200))
            for text, (prompt, cached) in zip(words, reported, strict=True)
        ]
        found = {sample.id: sample for sample in samples(bench)}
    assert [found[call.id].prompt for call in calls] == [750, 780, 820]
    assert [found[call.id].cache_read for call in calls] == [0, 750, 780]


@pytest.mark.parametrize(
    ("given", "how", "status", "reason"),
    [
        (answer(None), "whole", 200, "no_usage"),
        (answer(0), "whole", 200, "zero_usage"),
        (answer(128_001), "whole", 200, "sentinel"),
        (answer(640), "left", 200, "aborted"),
        (answer(640), "cut", 200, "cut"),
        ({"error": {"type": "server_error", "message": "no"}}, "whole", 500, "error"),
    ],
)
def test_what_proves_nothing_is_refused_with_its_reason(
    given: dict[str, Any], how: str, status: int, reason: str
) -> None:
    with Bench(sections=WINDOW) as bench:
        call = bench.ask(chat(), given, how=how, status=status)
        assert samples(bench) == []
    assert call.sample == {"refused": reason}


def test_an_answer_that_comes_again_is_counted_once() -> None:
    with Bench(sections=BY_RATIO) as bench:
        first = bench.ask(chat(), answer(640, response="r-1"))
        again = bench.ask(chat(), answer(640, response="r-1"))
        assert [sample.id for sample in samples(bench)] == [first.id]
    assert again.sample == {"refused": "duplicate"}


def test_an_id_that_a_server_gives_again_is_no_answer_that_comes_again() -> None:
    """Ollama draws the ids of its answers from 999 numbers."""
    with Bench(sections=BY_RATIO) as bench:
        first = bench.ask(chat(), answer(640, response="chatcmpl-7"))
        other = bench.ask(chat("word " * 800), answer(1_280, response="chatcmpl-7"))
        elsewhere = bench.ask(chat(model="other"), answer(640, response="chatcmpl-7"))
    assert [call.sample["accepted"] for call in (first, other, elsewhere) if call.sample] == [True, True, True]


def test_an_answer_that_was_cut_may_come_again_whole() -> None:
    with Bench(sections=BY_RATIO) as bench:
        cut = bench.ask(chat(), answer(640, response="r-1"), how="cut")
        whole = bench.ask(chat(), answer(640, response="r-1"))
        assert [sample.id for sample in samples(bench)] == [whole.id]
    assert cut.sample == {"refused": "cut"}


@pytest.mark.parametrize(
    ("second", "reason"),
    [
        (answer(128_001), "sentinel"),
        (answer(4_000, response="r-1"), "duplicate"),
        (answer(4_150, finish="error"), "error"),
    ],
)
def test_limits_do_not_follow_a_usage_that_was_refused(second: dict[str, Any], reason: str) -> None:
    """R43: a sentinel is no measurement, so nothing is anchored on it."""
    with Bench(sections=WINDOW) as bench:
        bench.ask(turns(1, "s"), answer(4_000, response="r-1"))
        refused = bench.ask(turns(2, "s"), second)
        after = bench.ask(turns(3, "s"), answer(4_300))
    assert refused.sample == {"refused": reason}
    assert refused.awareness is not None and after.awareness is not None
    assert after.awareness["budget"] == refused.awareness["budget"]
    assert after.awareness["calibration"]["pairs"] == 0


def test_a_request_tried_again_after_an_error_makes_one_sample() -> None:
    with Bench(sections=BY_RATIO) as bench:
        failed = bench.ask(chat(), {"error": {"type": "overloaded", "message": "later"}}, status=529)
        tried = bench.ask(chat(), answer(640))
        assert [sample.id for sample in samples(bench)] == [tried.id]
    assert failed.sample == {"refused": "error"}


def test_helpers_of_a_client_teach_nothing() -> None:
    (title,) = recorded("claude-code-2.1.332-helpers", "title")
    with Bench() as bench:
        call = bench.ask(title)
        assert bench.store.sample_keys() == []
    assert call.kind == "title"
    assert call.sample == {"refused": "helper"}


def test_calls_of_one_session_at_the_same_time_keep_their_own_usage() -> None:
    with Bench(sections=BY_RATIO) as bench:
        first, second = bench.begin(chat("word " * 400)), bench.begin(chat("word " * 800))
        late, early = bench.end(second, answer(1280)), bench.end(first, answer(640))
    assert late.sample is not None and early.sample is not None
    assert (early.sample["estimated"], early.sample["actual"]) == (513, 640)
    assert (late.sample["estimated"], late.sample["actual"]) == (1013, 1280)


def learned(call: CallRecord) -> tuple[int, float]:
    assert call.awareness is not None
    calibration = call.awareness["calibration"]
    return calibration["accepted"], calibration["applied_ratio"]


def test_models_learn_apart_and_a_return_reuses_what_was_learned() -> None:
    with Bench(sections=BY_RATIO) as bench:
        for _ in range(3):
            bench.ask(chat(), answer(640))
        away = bench.ask(chat(model="other"), answer(513))
        back = bench.ask(chat(), answer(640))
    assert learned(away) == (0, 1.0)
    assert learned(back) == (3, 1.247563)
    assert away.awareness is not None and back.awareness is not None
    assert away.awareness["switch"]["cache_disposition"] == "cold-model-switch"
    assert back.awareness["switch"] == {
        "source": "context",
        "switched": True,
        "previous": "provider.example/other",
        "profile_reused": True,
        "cache_disposition": "cold-model-switch",
    }


def test_another_estimator_begins_anew() -> None:
    """R4: a ratio is never reused across estimators."""
    store = MemoryStore()
    with Bench(store, sections=BY_RATIO) as bench:
        for _ in range(3):
            bench.ask(chat(), answer(640))
    bpe = {**WINDOW, "calibration": {"method": "ratio-v1", "estimator": "o200k-base-v1"}}
    with Bench(store, prefix="b", sections=bpe, start_ms=1_900_000_000_000) as bench:
        call = bench.ask(chat(), answer(640))
    assert learned(call) == (0, 1.0)
    assert call.sample is not None and call.sample["estimator"] == "o200k-base-v1"


def test_what_was_learned_outlives_the_daemon() -> None:
    store = MemoryStore()
    with Bench(store, sections=BY_RATIO) as bench:
        for _ in range(4):
            bench.ask(chat(), answer(640))
    with Bench(store, prefix="b", sections=BY_RATIO, start_ms=1_900_000_000_000) as bench:
        call = bench.ask(chat(), answer(640))
    assert learned(call) == (4, 1.247563)


def turns(count: int, session: str) -> Asked:
    messages: list[dict[str, str]] = []
    for number in range(count):
        messages.append(
            {"role": "user", "content": f"{number} " + "reads the file and runs the tests " * (10 + number % 7)}
        )
        messages.append({"role": "assistant", "content": "ok"})
    body = {"model": "gpt-4o-mini", "messages": messages[:-1]}
    return asked("/v1/chat/completions", body, x_ullage_session=session)


def test_the_law_of_growth_outlives_the_daemon() -> None:
    """The state made of the kept pairs is the one that was running."""

    def ask(bench: Bench, count: int, session: str) -> CallRecord:
        request = turns(count, session)
        exchange = bench.begin(request)
        bench.engine.flush()
        prompt = 500 + round(sum(len(message["content"]) for message in request.payload["messages"]) / 3.1)
        return bench.end(exchange, answer(prompt))

    one = MemoryStore()
    with Bench(one) as bench:
        running = [ask(bench, count, "a") for count in range(1, 13)][-1:] + [ask(bench, count, "b") for count in (1, 2)]
    store = MemoryStore()
    with Bench(store) as bench:
        for count in range(1, 13):
            ask(bench, count, "a")
    with Bench(store, prefix="b", start_ms=1_900_000_000_000) as bench:
        restored = [ask(bench, count, "b") for count in (1, 2)]
    assert running[-1].expected is not None
    assert running[-1].expected["pairs"] == 11
    assert restored[-1].expected == running[-1].expected


def test_limits_follow_the_law_of_growth_from_the_last_usage_on() -> None:
    with Bench(sections=WINDOW) as bench:
        first, second = bench.ask(turns(1, "s"), answer(4_000)), bench.ask(turns(2, "s"), answer(4_150))
    assert first.awareness is not None and second.awareness is not None and second.sample is not None
    assert second.sample["estimator"] == second.awareness["profile"]["token_estimator"] == "wire-v1"
    assert first.awareness["budget"]["offset"] == 0
    assert 3_800 < second.awareness["budget"]["offset"] < 4_000
    assert second.awareness["budget"]["hard"] < first.awareness["budget"]["hard"]


def test_a_session_without_a_call_before_it_goes_by_the_ratio_of_the_others() -> None:
    with Bench(sections=WINDOW) as bench:
        for session in "abc":
            bench.ask(chat(session=session), answer(640))
        fresh = bench.ask(chat(session="d"), answer(640))
    assert fresh.awareness is not None and fresh.sample is not None
    calibration = fresh.awareness["calibration"]
    assert (calibration["estimator"], "slope" in calibration) == ("wire-v1", False)
    assert (fresh.awareness["budget"]["ratio"], fresh.awareness["budget"]["offset"]) == (fresh.sample["ratio"], 0)


def test_switched_off_counts_as_the_specification_does_and_applies_nothing() -> None:
    with Bench(sections={"models": {"enabled": False}}) as bench:
        calls = [bench.ask(turns(count, "s"), answer(4_000 + count)) for count in (1, 2)]
    assert calls[1].sample is not None and calls[1].awareness is not None
    assert calls[1].sample["estimator"] == calls[1].awareness["profile"]["token_estimator"] == "chars-v1"
    assert "slope" not in calls[1].awareness["calibration"]


def test_a_session_belongs_to_the_project_that_its_client_or_our_header_names() -> None:
    with Bench() as bench:
        call = bench.ask(chat(session="s", x_ullage_project="/home/a/proj"))
        again = bench.ask(chat(session="s", x_ullage_project="/home/a/other"))
        assert bench.ask(chat(session="t", x_ullage_project="relative")).project is None
        session = bench.store.find_session("s")
    assert (call.project, again.project, session.project) == ("/home/a/proj",) * 3
