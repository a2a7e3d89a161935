"""What holds for every conversation and every cut of a stream."""

from __future__ import annotations

import functools
import json
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tests.core.translation.relay import CALLS, MODELS, PAIR_IDS, PAIRS, USAGE
from tests.core.translation.speaking import body_of, messages, stream_through
from ullage.core.wire import DIALECTS, Dialect
from ullage.testing import Reply
from ullage.testing.dialects import DIALECT_MODULES
from ullage.testing.faults import Fault, spoil_events
from ullage.testing.prompt import Generation, Prompt
from ullage.testing.strict import find_refusal

REPLY = Reply(
    text="I look at the folder, “now”. 🦊",
    thinking="First the folder.",
    tool_calls=CALLS,
    usage=USAGE,
    fragment_chars=5,
)


@functools.cache
def stream_of(dialect: Dialect, comments: bool) -> bytes:
    prompt = Prompt(dialect=dialect, model=MODELS[dialect], stream=True)
    generation = Generation(number=1, prompt=prompt, reply=REPLY, usage=USAGE, created_s=1.0)
    module = DIALECT_MODULES[dialect]
    fault = Fault(comments=comments)
    events = spoil_events(module.events(generation), fault, error=b"", ping=module.PING, end=module.END)
    return b"".join(events)


def cut_at(stream: bytes, cuts: list[int]) -> list[bytes]:
    places = [0, *sorted(cuts), len(stream)]
    return [stream[start:end] for start, end in pairwise(places)]


@pytest.mark.parametrize(("to", "source"), PAIRS, ids=PAIR_IDS)
@given(data=st.data(), comments=st.booleans(), crlf=st.booleans())
def test_a_stream_cut_anywhere_is_translated_to_the_same_bytes(
    to: Dialect, source: Dialect, data: st.DataObject, comments: bool, crlf: bool
) -> None:
    stream = stream_of(source, comments)
    if crlf:
        stream = stream.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n")
    cuts = data.draw(st.lists(st.integers(0, len(stream)), max_size=20))
    whole = stream_through(source, to, [stream_of(source, False)], include_usage=True)
    assert stream_through(source, to, cut_at(stream, cuts), include_usage=True) == whole


@pytest.mark.parametrize(("to", "source"), PAIRS, ids=PAIR_IDS)
def test_a_stream_of_single_bytes_is_translated_to_the_same_bytes(to: Dialect, source: Dialect) -> None:
    stream = stream_of(source, True)
    single = [stream[place : place + 1] for place in range(len(stream))]
    assert stream_through(source, to, single) == stream_through(source, to, [stream])


# --- There and back ---

_texts = st.text(st.characters(exclude_categories=("Cs", "Cc")), min_size=1, max_size=12).filter(str.strip)
_names = st.sampled_from(["bash", "read_file", "mcp__host__list"])
_arguments = st.dictionaries(st.sampled_from(["path", "limit"]), st.one_of(_texts, st.integers(0, 9)), max_size=2)
_ids = st.sampled_from(["toolu_1", "toolu_2", "call:3", "x" * 60])
_calls = st.lists(st.tuples(_ids, _names, _arguments, _texts, st.booleans()), max_size=3)
_turns = st.lists(st.tuples(_texts, st.lists(st.tuples(_texts, _calls), max_size=3)), min_size=1, max_size=3)


def conversation(turns: list[Any]) -> dict[str, Any]:
    """A conversation as a client of Anthropic sends it: ids may repeat from step to step."""
    said: list[dict[str, Any]] = []
    for question, steps in turns:
        said.append({"role": "user", "content": question})
        for text, calls in steps:
            unique = {call[0]: call for call in calls}.values()
            blocks: list[Any] = [{"type": "text", "text": text}]
            blocks += [{"type": "tool_use", "id": id_, "name": name, "input": args} for id_, name, args, _, _ in unique]
            results = [
                {"type": "tool_result", "tool_use_id": id_, "content": result, "is_error": failed}
                for id_, _, _, result, failed in unique
            ]
            said.append({"role": "assistant", "content": blocks})
            if results:
                said.append({"role": "user", "content": results})
    if said[-1]["role"] == "assistant":
        said.append({"role": "user", "content": "Go on."})
    return messages(*said, system="Be brief.")


def facts_of(body: dict[str, Any], *, with_ids: bool) -> list[Any]:
    """Who said what, called what and got what, in order; calls and results by the place of the call they belong to."""
    places: dict[str, int] = {}
    found: list[Any] = []
    for message in body["messages"]:
        blocks = message["content"]
        if isinstance(blocks, str):
            blocks = [{"type": "text", "text": blocks}]
        texts = [block["text"] for block in blocks if block["type"] == "text"]
        calls, results = [], []
        for block in blocks:
            if block["type"] == "tool_use":
                places[block["id"]] = len(places)
                calls.append((places[block["id"]], block["name"], block["input"], block["id"] if with_ids else ""))
            if block["type"] == "tool_result":
                content = block["content"]
                text = content if isinstance(content, str) else "\n\n".join(part["text"] for part in content)
                results.append((places[block["tool_use_id"]], text))
        if found and found[-1][0] == message["role"]:
            _, before, earlier_calls, earlier_results = found.pop()
            texts, calls, results = [*filter(None, [before]), *texts], earlier_calls + calls, earlier_results + results
        found.append((message["role"], "\n\n".join(texts), calls, results))
    return found


@given(
    turns=_turns, way=st.lists(st.sampled_from(["openai-chat", "openai-responses", "gemini"]), min_size=1, max_size=3)
)
def test_a_conversation_comes_back_with_its_texts_calls_results_and_their_order(
    turns: list[Any], way: list[Dialect]
) -> None:
    # Ids that repeat or that not all providers take are settled once; from then on they stay.
    settled = body_of("openai-chat", body_of("anthropic", conversation(turns), "openai-chat"), "anthropic")
    body, dialect = settled, "anthropic"
    for step in way:
        body, dialect = body_of(dialect, body, step), step
        assert find_refusal(step, body) is None
    back = body_of(dialect, body, "anthropic")
    assert find_refusal("anthropic", back) is None
    assert facts_of(back, with_ids="gemini" not in way) == facts_of(settled, with_ids="gemini" not in way)
    assert back["system"] == settled["system"]


@given(turns=_turns, target=st.sampled_from(DIALECTS[:2]))
def test_every_conversation_keeps_its_words(turns: list[Any], target: Dialect) -> None:
    given_ = conversation(turns)
    back = body_of(target, body_of("anthropic", json.loads(json.dumps(given_)), target), "anthropic")
    assert [fact[1:] for fact in facts_of(back, with_ids=False)] == [
        fact[1:] for fact in facts_of(_distinct(given_), with_ids=False)
    ]


def _distinct(body: dict[str, Any]) -> dict[str, Any]:
    """The conversation with ids that occur once, so that calls can be told apart in what was given."""
    open_ids: dict[str, str] = {}
    count = 0
    for message in body["messages"]:
        for block in message["content"] if isinstance(message["content"], list) else []:
            if block["type"] == "tool_use":
                count += 1
                open_ids[block["id"]] = block["id"] = f"id{count}"
            elif block["type"] == "tool_result":
                block["tool_use_id"] = open_ids.get(block["tool_use_id"], block["tool_use_id"])
    return body


LISTS = {"openai-chat": "messages", "openai-responses": "input", "anthropic": "messages", "gemini": "contents"}


@given(turns=_turns, client=st.sampled_from(DIALECTS), target=st.sampled_from(DIALECTS))
def test_a_conversation_begins_with_what_was_sent_of_it_before(
    turns: list[Any], client: Dialect, target: Dialect
) -> None:
    """Else no provider's cache would ever be warm. Cache marks move on, and are no part of what is cached."""
    assume(client != target)
    whole = conversation(turns)
    said = whole["messages"]
    assume(all(_speaks(message) for message in said))
    ends = [at for at in range(1, len(said)) if said[at - 1]["role"] == "user" and said[at]["role"] == "assistant"]
    before: list[Any] = []
    for at in (*ends, len(said)):
        given_ = {**whole, "messages": said[:at]}
        body = given_ if client == "anthropic" else body_of("anthropic", given_, client)
        now = _unmarked(body_of(client, body, target))[LISTS[target]]
        assert now[: len(before)] == before
        before = now


def _speaks(message: dict[str, Any]) -> bool:
    content = message["content"]
    return bool(content.strip()) if isinstance(content, str) else any(_says(block) for block in content)


def _says(block: dict[str, Any]) -> bool:
    return block["type"] != "text" or bool(block["text"].strip())


def _unmarked(value: Any) -> Any:
    """The value without cache marks."""
    if isinstance(value, dict):
        return {key: _unmarked(one) for key, one in value.items() if key != "cache_control"}
    return [_unmarked(one) for one in value] if isinstance(value, list) else value
