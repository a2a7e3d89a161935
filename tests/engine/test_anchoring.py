"""The live estimate: expected before the usage is known, learned from when it is."""

from __future__ import annotations

from typing import Any

from tests.engine.observing import Asked, Bench, asked
from ullage.core.accounting import Entry, Measure, make_meter
from ullage.core.content import Usage
from ullage.engine.anchoring import Anchoring
from ullage.engine.measuring import Measures
from ullage.stores import CallRecord

TEXT = "The quick brown fox reads the file, edits a line and runs the tests again. "


def conversation(turns: int, *, model: str = "claude-opus-4-8", session: str = "s", **members: Any) -> Asked:
    """The request of turn number `turns`: a question each, answered with a word."""
    messages = []
    for number in range(turns):
        messages.append({"role": "user", "content": f"{number} " + TEXT * (8 * number % 50 + 10)})
        messages.append({"role": "assistant", "content": f"answer number {number}"})
    body = {"model": model, "max_tokens": 9, "messages": messages[:-1], **members}
    return asked("/v1/messages", body, x_ullage_session=session)


def answer(prompt: int) -> dict[str, Any]:
    usage = {"input_tokens": prompt, "output_tokens": 6}
    content = [{"type": "text", "text": "answer"}]
    return {"type": "message", "model": "m", "content": content, "stop_reason": "end_turn", "usage": usage}


def play(bench: Bench, count: int, ratio: float, **named: Any) -> list[CallRecord]:
    """A session whose provider counts `ratio` times our own estimate and 3,000 hidden tokens."""
    records: list[CallRecord] = []
    for turns in range(1, count + 1):
        request = conversation(turns, **named)
        exchange = bench.begin(request)
        bench.engine.flush()
        ours = sum(len(message["content"]) for message in request.payload["messages"]) / 2.6
        records.append(bench.end(exchange, answer(3_000 + round(ratio * ours))))
    return records


def test_the_first_call_of_a_session_is_not_expected_and_the_next_is() -> None:
    with Bench() as bench:
        first, second = play(bench, 2, 1.0)
    assert first.expected is None
    assert second.expected is not None
    assert second.expected["low"] <= second.expected["tokens"] <= second.expected["high"]


def test_what_a_provider_hides_is_in_the_anchor_and_no_error() -> None:
    with Bench() as bench:
        *_, last = play(bench, 8, 1.0)
    assert last.expected is not None and last.usage is not None
    assert abs(last.expected["tokens"] - last.usage["input_fresh"]) < 0.02 * last.usage["input_fresh"]


def test_a_tokenizer_unlike_its_family_is_learned() -> None:
    with Bench() as bench:
        records = play(bench, 20, 1.4)
    misses = [abs(record.expected["tokens"] - record.usage["input_fresh"]) for record in records[1:]]  # type: ignore[index]
    grown = [after.usage["input_fresh"] - before.usage["input_fresh"] for before, after in zip(records, records[1:])]  # type: ignore[index] # noqa: B905, RUF007
    assert misses[0] / grown[0] > 0.15
    assert misses[-1] / grown[-1] < 0.05
    assert records[-1].expected is not None
    assert records[-1].expected["pairs"] >= 10


def test_another_model_begins_anew_and_learns_apart() -> None:
    with Bench() as bench:
        play(bench, 4, 1.4)
        switched = bench.end(bench.begin(conversation(5, model="claude-sonnet-5")), answer(5_000))
        back = bench.end(bench.begin(conversation(6)), answer(6_000))
    assert switched.expected is None
    assert back.expected is None


def test_other_sessions_of_the_same_client_profit_from_what_was_learned() -> None:
    with Bench() as bench:
        play(bench, 12, 1.4)
        _, second = play(bench, 2, 1.4, session="other")
    assert second.expected is not None
    assert second.expected["pairs"] >= 10


def test_a_failed_answer_is_no_anchor_and_teaches_nothing() -> None:
    with Bench() as bench:
        play(bench, 3, 1.0)
        bench.end(bench.begin(conversation(4)), b"{}", status=529)
        bench.end(bench.begin(conversation(4)), answer(9_999), how="left")
        again = bench.end(bench.begin(conversation(4)), answer(3_500))
    assert again.expected is not None
    assert again.expected["pairs"] == 2


def test_a_branch_is_not_expected_from_the_call_beside_it() -> None:
    """Of two calls at once the one that is answered last is the anchor; what goes on from the other one says nothing of it."""
    aside = [*conversation(4).payload["messages"][:-1], {"role": "user", "content": "Something else. " * 400}]
    with Bench() as bench:
        play(bench, 3, 1.0)
        beside, main = bench.begin(conversation(4).having(messages=aside)), bench.begin(conversation(4))
        bench.end(main, answer(4_000))
        bench.end(beside, answer(6_000))
        on = bench.end(bench.begin(conversation(5)), answer(4_600))
        after = bench.end(bench.begin(conversation(6)), answer(5_600))
    assert on.expected is None
    assert after.expected is not None


def test_more_tools_are_counted_in_and_no_sample() -> None:
    tool = {"name": "ping", "description": TEXT * 20, "input_schema": {"type": "object", "properties": {}}}
    with Bench() as bench:
        play(bench, 3, 1.0)
        plain = bench.end(bench.begin(conversation(4)), answer(4_000))
        more = bench.end(bench.begin(conversation(5, tools=[tool])), answer(5_000))
        after = bench.end(bench.begin(conversation(6, tools=[tool])), answer(5_600))
    assert plain.expected is not None and more.expected is not None and after.expected is not None
    assert more.expected["tokens"] - 4_000 > 500
    assert after.expected["pairs"] == more.expected["pairs"]


def test_models_of_any_number_of_names_are_not_all_remembered() -> None:
    anchoring = Anchoring()
    for number in range(700):
        meter = make_meter(dialect="anthropic", provider="p", model=f"model-{number}", client=None)
        for count in (1, 2, 3):
            words = [Measure(role="user", entries=(entry(400),)) for _ in range(count)]
            outlook = anchoring.look_ahead(f"s{number}", meter, Measures([], [], words), tuple(range(count)))
            anchoring.settle(f"s{number}", outlook, Usage(input_fresh=1000 + 405 * count, output=4))
    assert 0 < anchoring.learned <= 500


def test_an_anchor_weighs_what_limits_weigh() -> None:
    """Frames and replayed reasoning are part of both, or the line between them is off by those of the whole conversation."""
    meter = make_meter(dialect="anthropic", provider="p", model="m", client=None)
    fixed, said = (
        Measure(role="system", entries=(entry(100),), frame=7),
        Measure(entries=(entry(400),), frame=5, sealed_tokens=30),
    )
    anchoring = Anchoring()
    first = anchoring.look_ahead("s", meter, Measures([fixed], [], [said]), (1,))
    anchoring.settle("s", first, Usage(input_fresh=900, output=4))
    second = anchoring.look_ahead("s", meter, Measures([fixed], [], [said, said]), (1, 2))
    assert (first.local_tokens, second.local_tokens) == (107 + 435, 107 + 2 * 435)
    assert fixed.weight + said.weight == first.local_tokens
    assert second.anchor is not None and second.anchor.local_tokens == first.local_tokens


def entry(tokens: int) -> Entry:
    return Entry(section="messages", name="user text", tokens=tokens, low=tokens, high=tokens, chars=0, method="m")
