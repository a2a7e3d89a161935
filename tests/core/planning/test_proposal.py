"""A plan for a request that is at hand as a whole."""

from __future__ import annotations

import json

import pytest

from ullage.core.accounting import account, make_meter, read_options
from ullage.core.planning import Caps, TailPolicy, draw_budget
from ullage.core.planning.budget import Limits
from ullage.core.planning.proposal import Proposal, Terms, propose
from ullage.core.planning.tail_context import TailTerms
from ullage.core.profiles import Prices
from ullage.core.wire import DIALECTS, Conversation, Dialect, parse_request, read_context
from ullage.testing import make_request, make_tools, make_turns
from ullage.testing.builders import Exchange

CAPS = Caps(recent_tail=900, pinned=1_000, memory=100, history=100, project=100, summary=100)
METER = make_meter(dialect="openai-chat", provider="openai", model="gpt-4.1", client=None)


def conversation(dialect: Dialect = "openai-chat", turns: int = 30) -> Conversation:
    request = make_request(dialect, turns=make_turns(turns, 600), tools=make_tools(3), system="Be brief.")
    return parse_request(request.body, dialect)


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("limit", [1_500, 3_000, 100_000])
def test_what_is_rendered_is_no_larger_than_the_limit(dialect: Dialect, limit: int) -> None:
    meter = make_meter(dialect=dialect, provider=None, model="m", client=None)
    proposal = propose(conversation(dialect), meter, Terms(limit=limit, caps=CAPS))
    assert proposal.plan.status == ("unchanged" if limit == 100_000 else "managed")
    sent = parse_request(proposal.render(), dialect)
    counted = account(read_context(sent), meter, options=read_options(sent)).total.tokens
    assert counted <= proposal.plan.tokens <= limit


def test_a_limit_that_is_named_has_no_tail_besides() -> None:
    request = conversation()
    named = propose(request, METER, Terms(limit=4_000, caps=CAPS))
    assert named.plan.tokens > 3_500
    assert "recent-tail-limit" not in {drop.reason for drop in named.plan.dropped}
    window = draw_budget(window=8_000, max_output=1_000, safety_margin=500, limits=Limits())
    drawn = propose(request, METER, Terms(limit=window, caps=CAPS))
    assert drawn.plan.tokens < 2_000
    assert "recent-tail-limit" in {drop.reason for drop in drawn.plan.dropped}


def test_a_mandatory_part_that_is_too_large_is_refused_and_broken_history_is_not() -> None:
    assert propose(conversation(), METER, Terms(limit=50, caps=CAPS)).plan.status == "refused"
    broken = {
        "messages": [
            {"role": "user", "content": "One. " * 200},
            {"role": "assistant", "content": "Two. " * 200},
            {"role": "user", "content": "Three."},
            {"role": "tool", "tool_call_id": "nobody", "content": "4"},
        ]
    }
    request = parse_request(json.dumps(broken).encode(), "openai-chat")
    made = propose(request, METER, Terms(limit=100, caps=CAPS))
    assert made.plan.status == "emergency"
    assert made.plan.error == "broken_exchange"
    assert made.plan.tokens <= 100


def test_pins_by_pointer_and_excerpts_are_heeded() -> None:
    request = conversation()
    pinned = propose(request, METER, Terms(limit=1_500, caps=CAPS, pins=("/messages/1",)))
    assert 1 in pinned.plan.kept
    turns = ("Look.", Exchange(result="word " * 2_000), "Seen.", "And now?")
    long = parse_request(make_request("openai-chat", turns=turns).body, "openai-chat")
    shortened = propose(long, METER, Terms(limit=500, caps=CAPS, excerpts=True))
    assert shortened.plan.kept == (0, 1, 2, 3, 4)
    assert shortened.plan.replaced
    assert b"characters of this result are omitted" in shortened.render()


class TestTail:
    """A single preview begins as live mode begins with the first request of a session."""

    turns = (
        *make_turns(4, 400),
        "Look.",
        *(Exchange(result="word " * 300) for _ in range(8)),
        "Seen.",
        "And now?",
    )
    request = parse_request(make_request("openai-chat", turns=turns).body, "openai-chat")

    def propose(self, tail: TailPolicy) -> Proposal:
        first = TailTerms(policy=tail, provider="openai", model="gpt-4.1", prices=Prices(input=2.0, output=8.0))
        return propose(self.request, METER, Terms(limit=1_500, caps=CAPS, tail=first))

    def test_of_a_turn_that_is_too_large_the_end_is_kept(self) -> None:
        whole = self.propose("off")
        assert (whole.tail, whole.plan.kept) == (None, (len(self.request.messages) - 1,))
        begun = self.propose("auto")
        assert begun.tail is not None
        assert (begun.tail.reason, begun.tail.first) == ("first-request", begun.plan.kept[1])
        assert len(begun.plan.kept) > 3
        assert begun.plan.tokens <= 1_500
        assert begun.tail.expected_usd is not None

    def test_what_fits_is_sent_as_it_came(self) -> None:
        first = TailTerms(policy="auto", provider=None, model=None)
        made = propose(self.request, METER, Terms(limit=100_000, caps=CAPS, tail=first))
        assert (made.plan.status, made.tail is not None and made.tail.first) == ("unchanged", 0)
        assert made.tail is not None and made.tail.expected_usd is None

    def test_the_reference_walks_whole_turns_until_it_has_learned(self) -> None:
        made = self.propose("epoch-v1")
        assert (made.tail, made.plan) == (None, self.propose("off").plan)
