"""Recorded sessions as traces."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.evals.sessions import OPENAI, OUTPUT_TOKENS, PREFIX_TOKENS, growing, reply, tokens, words
from tests.sources.rows import (
    called,
    claude_prompt,
    claude_reply,
    claude_result,
    claude_usage,
    pi_header,
    pi_reply,
    pi_result,
    pi_user,
    said,
    write_lines,
)
from ullage.evals.replay_traces import USUAL_HARNESS, Trace, read_traces
from ullage.sources import read_session

if TYPE_CHECKING:
    from pathlib import Path


def traces(path: Path) -> list[Trace]:
    return read_traces(read_session(path))


def test_a_trace_has_every_call_with_the_prompt_that_was_reported(tmp_path: Path) -> None:
    [trace] = traces(growing(tmp_path / "s.jsonl", calls=5))
    assert (trace.client, trace.provider, trace.model, trace.headless) == ("pi", "openai", OPENAI["model"], False)
    assert [call.prompt for call in trace.calls] == [call.usage.prompt for call in trace.calls]
    assert trace.largest == trace.calls[-1].prompt
    assert [len(call.hashes) for call in trace.calls] == [1, 3, 5, 7, 9]


def test_what_came_between_two_calls_shares_out_what_the_prompt_grew_by(tmp_path: Path) -> None:
    [trace] = traces(growing(tmp_path / "s.jsonl", calls=3, a=30))
    first, second, _ = trace.calls
    assert first.tokens == second.tokens[:1]
    assert sum(second.tokens[1:]) == OUTPUT_TOKENS + tokens(words(0)) + 30
    assert first.fixed == second.fixed == PREFIX_TOKENS - sum(first.tokens)


def test_the_same_message_has_the_same_hash_in_every_call(tmp_path: Path) -> None:
    [trace] = traces(growing(tmp_path / "s.jsonl", calls=4))
    for before, after in zip(trace.calls, trace.calls[1:], strict=False):
        assert after.hashes[: len(before.hashes)] == before.hashes
    assert len(set(trace.calls[-1].hashes[::2])) == 4


def test_a_prompt_that_shrank_leaves_the_messages_as_they_were_weighed(tmp_path: Path) -> None:
    rows = [
        pi_header(),
        pi_user("u1", None, words(9)),
        reply("a1", "u1", 9_000),
        pi_user("u2", "a1", words(8)),
        reply("a2", "u2", 7_000),
    ]
    [trace] = traces(write_lines(tmp_path / "s.jsonl", rows))
    first, second = trace.calls
    assert second.prompt == 7_000
    assert second.tokens[:1] == first.tokens
    assert second.fixed < first.fixed


def test_messages_are_never_heavier_than_the_prompt(tmp_path: Path) -> None:
    rows = [pi_header(), pi_user("u1", None, words(5) * 50), reply("a1", "u1", 600)]
    [trace] = traces(write_lines(tmp_path / "s.jsonl", rows))
    assert (trace.calls[0].prompt, trace.calls[0].fixed) == (600, 0)


def test_calls_of_two_models_are_two_traces(tmp_path: Path) -> None:
    rows = [
        pi_header(),
        pi_user("u1", None, "Go."),
        reply("a1", "u1", 9_000),
        pi_user("u2", "a1", "On."),
        pi_reply("a2", "u2", prompt=9_500),
    ]
    found = traces(write_lines(tmp_path / "s.jsonl", rows))
    assert [(trace.model, len(trace.calls)) for trace in found] == [("gpt-5.6-sol", 1), ("claude-opus-4-5", 1)]


def test_what_a_file_without_its_beginning_does_not_hold_is_history_and_not_prompt(tmp_path: Path) -> None:
    rows = [
        pi_user("u1", "gone", "Go."),
        reply("a1", "u1", 90_000),
        pi_result("r1", "a1", words(3)),
        reply("a2", "r1", 91_000),
    ]
    [trace] = traces(write_lines(tmp_path / "s.jsonl", rows))
    assert trace.headless
    assert {call.fixed for call in trace.calls} == {USUAL_HARNESS}
    assert {call.unseen for call in trace.calls} == {90_000 - USUAL_HARNESS - sum(trace.calls[0].tokens)}
    assert [call.prompt for call in trace.calls] == [90_000, 91_000]


def test_a_reply_draws_on_the_message_whose_words_it_takes(tmp_path: Path) -> None:
    rows = [
        claude_prompt("u1", None, "Look at src/engine/worker.py please."),
        claude_reply("a1", "u1", "m1", called("t1"), usage=claude_usage(fresh=9_000)),
        claude_result("r1", "a1", "t1", "class WorkerPool stands in it"),
        claude_reply("a2", "r1", "m2", said("WorkerPool of src/engine/worker.py"), usage=claude_usage(fresh=9_100)),
        claude_prompt("u2", "a2", "And now?"),
        claude_reply("a3", "u2", "m3", said("That is all."), usage=claude_usage(fresh=9_200)),
    ]
    [trace] = traces(write_lines(tmp_path / "s.jsonl", rows))
    assert trace.calls[1].sources == {0: 1, 2: 1}
    assert trace.calls[2].sources == {}
