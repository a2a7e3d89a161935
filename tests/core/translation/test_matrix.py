"""Programs with the official SDKs, answered by targets of every other dialect (issue 7: the matrix)."""

from __future__ import annotations

import pytest

from tests.core.translation.relay import MODELS, PAIR_IDS, PAIRS, REPLIES, USAGE, Asked, Program, Relay
from ullage.core.translation import Target
from ullage.core.wire import Dialect
from ullage.testing import Fault, Reply, Rule

STOPS: dict[Dialect, dict[str, str]] = {
    "openai-chat": {"end": "stop", "length": "length", "tool_calls": "tool_calls"},
    "openai-responses": {"end": "completed", "length": "max_output_tokens", "tool_calls": "completed"},
    "anthropic": {"end": "end_turn", "length": "max_tokens", "tool_calls": "tool_use"},
    "gemini": {"end": "STOP", "length": "MAX_TOKENS", "tool_calls": "STOP"},
}


def target_of(dialect: Dialect) -> Target:
    return Target(dialect=dialect, model=MODELS[dialect])


def usage_in(client: Dialect, target: Dialect) -> tuple[int | None, ...]:
    """The one usage of all replies in the client's terms. Only Anthropic and OpenAI tell of tokens written to a cache."""
    written = 0 if target == "gemini" else 7
    fresh, read, output = 120 - 20 - written, 20, 50
    # Anthropic does not say how much of its output was thinking.
    thoughts = 9 if target != "anthropic" else None
    assert USAGE.prompt == 120
    match client:
        case "anthropic":
            return (fresh, written, read, output)
        case "gemini":
            return (120, read, output - (thoughts or 0), thoughts, 170)
        case _:
            return (120, read, output, 170)


@pytest.mark.parametrize("case", REPLIES)
@pytest.mark.parametrize("stream", [False, True], ids=["json", "stream"])
@pytest.mark.parametrize(("client", "target"), PAIRS, ids=PAIR_IDS)
def test_a_program_is_answered_by_any_target(client: Dialect, target: Dialect, stream: bool, case: str) -> None:
    asked, reply = REPLIES[case]
    relay = Relay(target_of(target), reply)
    seen = Program(client, relay).ask(asked, stream=stream)
    assert seen.error is None
    assert (seen.text, seen.thinking) == (reply.text, reply.thinking)
    assert list(seen.calls) == [(call.name, call.arguments) for call in reply.tool_calls]
    assert list(seen.call_ids) == [call.id for call in reply.tool_calls]
    assert seen.stop == STOPS[client][reply.stop_reason]
    assert seen.usage == usage_in(client, target)
    assert relay.exchanges[0].translator.complete


@pytest.mark.parametrize("stream", [False, True], ids=["json", "stream"])
@pytest.mark.parametrize(("client", "target"), PAIRS, ids=PAIR_IDS)
def test_an_error_before_the_answer_keeps_its_status_and_words(client: Dialect, target: Dialect, stream: bool) -> None:
    relay = Relay(target_of(target), Fault(status=429, message="Slow down."))
    assert Program(client, relay).ask(Asked(), stream=stream).error == (429, "Slow down.")


@pytest.mark.parametrize(("client", "target"), PAIRS, ids=PAIR_IDS)
def test_an_error_inside_a_stream_is_an_error_to_the_program(client: Dialect, target: Dialect) -> None:
    reply = Reply(text="word " * 20, fragment_chars=5)
    relay = Relay(target_of(target), Rule(reply=reply, fault=Fault(error_event=8, error_event_status=500)))
    error = Program(client, relay).ask(Asked(), stream=True).error
    assert error is not None
    assert error[1] == "The server had an error while processing your request."
    assert not relay.exchanges[0].translator.complete


@pytest.mark.parametrize(("client", "target"), PAIRS, ids=PAIR_IDS)
def test_a_stream_that_is_cut_off_never_looks_whole(client: Dialect, target: Dialect) -> None:
    reply = Reply(text="word " * 20, fragment_chars=5)
    relay = Relay(target_of(target), Rule(reply=reply, fault=Fault(end_after_events=8)))
    error = Program(client, relay).ask(Asked(), stream=True).error
    assert error is not None
    assert error[1] == "The provider's answer ended before it was complete."
