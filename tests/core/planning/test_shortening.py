"""Long tool results cut to excerpts."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ullage.core.accounting import make_meter
from ullage.core.planning.assembling import read_facts
from ullage.core.planning.shortening import LEAST_TOKENS, LONG_CHARS, excerpt, offer_excerpts
from ullage.core.wire import DIALECTS, Conversation, Dialect, parse_request
from ullage.testing import make_request
from ullage.testing.builders import Exchange

METER = make_meter(dialect="openai-chat", provider="openai", model="gpt-4.1", client=None)
MARK = " characters of this result are omitted …]\n"


def conversation(dialect: Dialect, *results: str) -> Conversation:
    turns = [turn for result in results for turn in ("Look.", Exchange(result=result), "Seen.")]
    return parse_request(make_request(dialect, turns=[*turns, "And now?"]).body, dialect)


def test_an_excerpt_is_both_ends_and_says_how_much_is_missing() -> None:
    text = "".join(f"line {number}\n" for number in range(1_000))
    cut = excerpt(text, 100)
    head, _, rest = cut.partition("\n[… ")
    number, _, tail = rest.partition(MARK)
    assert text.startswith(head) and text.endswith(tail)
    assert len(head) == len(tail) == 50
    assert int(number) == len(text) - 100


def test_a_text_that_is_short_enough_is_no_excerpt() -> None:
    assert excerpt("ok", 2) == "ok"


@given(st.text(st.characters(codec="utf-8"), min_size=1, max_size=300), st.integers(0, 300))
def test_an_excerpt_is_well_formed_and_adds_up(text: str, chars: int) -> None:
    cut = excerpt(text, chars)
    cut.encode()
    if cut != text:
        missing = int(cut.partition("\n[… ")[2].partition(MARK)[0])
        assert 0 < missing <= len(text)


def test_a_lone_surrogate_is_replaced_before_it_is_cut() -> None:
    assert excerpt("\ud83e" * 200, 50).encode()


@pytest.mark.parametrize("dialect", DIALECTS)
def test_long_results_share_the_room_that_is_left(dialect: Dialect) -> None:
    request = conversation(dialect, "word " * 1_000, "short", "other " * 3_000)
    facts = read_facts(request, METER)
    offered = offer_excerpts(request, facts, METER, 1_000)
    assert len(offered) == 2
    whole = sum(facts.tokens) + facts.fixed_tokens
    left = whole - sum(one.trim.saved for one in offered)
    assert left <= 1_000
    assert left > 800
    assert [one.trim.tokens_before > one.trim.tokens_after >= LEAST_TOKENS for one in offered] == [True, True]
    assert all(MARK in one.text for one in offered)
    assert len({one.trim.artifact for one in offered}) == 2


def test_however_little_room_there_is_an_excerpt_tells_what_the_result_was() -> None:
    request = conversation("openai-chat", "word " * 1_000)
    (offered,) = offer_excerpts(request, read_facts(request, METER), METER, 0)
    assert LEAST_TOKENS // 2 < offered.trim.tokens_after <= LEAST_TOKENS


def test_results_that_fit_and_short_ones_are_let_be() -> None:
    request = conversation("openai-chat", "x" * LONG_CHARS, "word " * 200)
    assert offer_excerpts(request, read_facts(request, METER), METER, 100_000) == ()
    short = conversation("openai-chat", "x" * LONG_CHARS)
    assert offer_excerpts(short, read_facts(short, METER), METER, 0) == ()


def test_a_result_in_blocks_becomes_one_text() -> None:
    blocks = [{"type": "text", "text": "first " * 300}, {"type": "text", "text": "second " * 300}]
    body = {
        "messages": [
            {"role": "user", "content": "Read."},
            {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "read", "input": {}}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": blocks}]},
        ]
    }
    request = parse_request(json.dumps(body).encode(), "anthropic")
    (offered,) = offer_excerpts(request, read_facts(request, METER), METER, 200)
    assert offered.text.startswith("first") and offered.text.endswith("second ")
