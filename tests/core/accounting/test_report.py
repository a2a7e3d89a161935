from __future__ import annotations

import msgspec
import pytest

from ullage.core.accounting import account, load_report, make_meter, report
from ullage.core.content import Context, Message, Part, Usage

from .tools import PING

METER = make_meter(dialect="anthropic", provider="anthropic", model="claude-opus-4-8", client="pi")
CONTEXT = Context(
    system=("You are an agent with a secret plan.",),
    tools=(PING,),
    messages=(Message(role="user", parts=(Part(kind="text", text="Tell me the secret plan", wire_type="text"),)),),
)


def test_a_report_has_the_fields_that_other_programs_rely_on() -> None:
    data = report(account(CONTEXT, METER, usage=Usage(input_fresh=900, output=7), window=200_000))
    assert {"source", "client", "session", "provider", "model", "window", "total", "total_kind", "ullage", "sections", "gap",
            "warnings"} <= set(data)  # fmt: skip
    assert {"id", "title", "tokens", "low", "high", "chars", "method", "share", "items"} <= set(data["sections"][0])
    assert (data["total"], data["total_kind"], data["ullage"]) == (900, "usage", 199_100)
    assert sum(section["tokens"] for section in data["sections"]) + data["gap"] == 900


def test_a_share_is_of_the_total_and_nothing_is_said_of_an_unknown_window() -> None:
    data = report(account(CONTEXT, METER))
    assert sum(section["share"] for section in data["sections"]) == pytest.approx(1, abs=0.001)
    assert {section["window_share"] for section in data["sections"]} == {None}
    assert data["ullage"] is None


def test_a_report_holds_no_text_of_the_request() -> None:
    assert b"secret plan" not in msgspec.json.encode(report(account(CONTEXT, METER, details=True)))


def test_a_report_is_read_back_as_the_breakdown_it_came_from() -> None:
    breakdown = account(CONTEXT, METER, usage=Usage(input_fresh=900, output=7), window=200_000)
    data = msgspec.json.decode(msgspec.json.encode(report(breakdown)))
    assert load_report(data) == breakdown


def test_fields_that_a_report_does_not_need_may_be_missing_or_new() -> None:
    data = {"total": 5, "total_kind": "estimate", "sections": [], "gap": 5, "from_the_future": 1}
    breakdown = load_report(data)
    assert (breakdown.total.tokens, breakdown.total.low, breakdown.gap) == (5, 5, 5)


def test_what_is_no_report_is_refused() -> None:
    with pytest.raises(msgspec.ValidationError):
        load_report({"total": 5, "total_kind": "estimate", "sections": [{"id": 1}], "gap": 5})
