"""The next prompt of a recorded session, by what its own calls teach."""

from __future__ import annotations

from pathlib import Path

import pytest

from ullage.cli.session_expectation import expect_next
from ullage.core.accounting import make_meter, measure_message
from ullage.sources import Call, Session, read_session

FILES = [
    "codex/edgerunner.jsonl",
    "codex/soulpass.jsonl",
    "pi/pi-mono-before-compaction.jsonl",
    "pi/agent-complex-task-01-youtube-transcript-ex.jsonl",
    "claude-code/bhavana.jsonl",
    "openhands/openhands-ponylang-ponyc-4588.json",
]


def longest_chain(session: Session) -> list[Call]:
    """The longest run of trusted calls of one model that go on from one another."""
    chains: dict[int, list[Call]] = {}
    for call in session.calls:
        before = session.anchor(call.index)
        if call.trusted and not call.lossy:
            chain = chains.get(before, []) if before is not None else []
            chains[call.index] = [*(chain if chain and chain[-1].model == call.model else []), call]
    return max(chains.values(), key=len)


@pytest.mark.shared
@pytest.mark.parametrize("file", FILES)
def test_the_last_prompt_is_expected_from_the_calls_before_it(file: str, shared_data: Path) -> None:
    session = read_session(shared_data / "sessions" / file)
    *before, last = longest_chain(session)
    meter = make_meter(dialect=last.dialect, provider=last.provider, model=last.model, client=session.client)
    messages = [measure_message(message, meter) for message in session.messages(last.index)]
    total = expect_next(meter, before, messages)
    assert total is not None and last.usage is not None and last.usage.prompt is not None
    assert abs(total.tokens - last.usage.prompt) < 0.01 * last.usage.prompt
    assert total.low <= total.tokens <= total.high


def test_without_a_call_of_the_same_model_there_is_nothing_to_expect(shared_data: Path) -> None:
    session = read_session(shared_data / "sessions" / FILES[0])
    chain = longest_chain(session)
    meter = make_meter(dialect=None, provider=None, model="another", client=None)
    assert expect_next(meter, chain, []) is None
    assert expect_next(meter, [], []) is None
