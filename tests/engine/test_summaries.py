"""Summaries that clients ask for go to whoever writes them for the least (routing specification, section 22)."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.engine.test_routing import HARD, LIGHT, STRONG, Desk, route
from ullage.gateway.routes import find_endpoint
from ullage.stores import RouteOverride
from ullage.testing import Exchange, make_request

PLAIN = {"user-agent": "claude-cli/2.1.0"}
COMPACTS = {**PLAIN, "x-claude-code-compaction": "1"}
SUMMARIZE = "Your task is to create a detailed summary of the conversation, its architecture, and what was debugged."
MARK = {"cache_control": {"type": "ephemeral"}}


def summarized(words: int, read: int, **routing: Any) -> Any:
    """A session at the strong target whose provider has `read` tokens of it in its cache, and its summary."""
    usage = {"input_tokens": 100, "cache_read_input_tokens": 0, "cache_creation_input_tokens": read, "output_tokens": 5}
    long = f"@model:{STRONG} {'word ' * words}"
    with Desk(models=[LIGHT, STRONG], **routing) as desk:
        desk.ask(long, usage=usage, system=[{"type": "text", "text": "Be brief.", **MARK}], headers=PLAIN)
        return desk.ask(
            long, "Done.", SUMMARIZE, system=[{"type": "text", "text": "Be brief.", **MARK}], headers=COMPACTS
        )


@pytest.mark.parametrize("guards", [{"downgrades": False}, {"downgrades": True}], ids=["guarded", "free"])
def test_a_cold_summary_goes_to_the_lowest_price_without_thinking_whatever_guards_sessions(guards: Any) -> None:
    with Desk(models=[LIGHT, STRONG], guards=guards) as desk:
        desk.ask(f"@model:{STRONG} {HARD}", headers=PLAIN)
        desk.now_ms += 3_600_000
        summary = desk.ask(f"@model:{STRONG} {HARD}", "Done.", SUMMARIZE, headers=COMPACTS)
        after = desk.ask(f"@model:{STRONG} {HARD}", "Done.", "Go on.", headers=PLAIN)
    assert (summary.kind, route(summary)["reason"], route(summary)["target"]) == ("compaction", "helper", LIGHT)
    assert route(summary)["thinking"] == "off"
    assert any(reason.startswith("summary $0.02") for reason in route(summary)["reasons"])
    assert route(after)["switch"]["current"] == STRONG


def test_a_long_conversation_is_summarized_where_it_lies_in_the_cache() -> None:
    summary = summarized(60_000, 120_000)
    assert route(summary)["target"] == STRONG
    assert any("from its cache" in reason and LIGHT in reason for reason in route(summary)["reasons"])


def test_targets_for_summaries_may_be_named() -> None:
    """Complaint C36: there was no model for summaries of their own."""
    summary = summarized(100, 0, compaction_models=[STRONG])
    assert route(summary)["target"] == STRONG


@pytest.mark.parametrize(("key", "value"), [("pin", STRONG), ("activation", "off")])
def test_a_pin_and_off_hold_for_summaries(key: str, value: str) -> None:
    """Who pins a target may do so for where the words go."""
    with Desk(models=[LIGHT, STRONG]) as desk:
        desk.ask(f"@model:{STRONG} {HARD}", headers=PLAIN)
        desk.now_ms += 3_600_000
        desk.store.put_route_override(RouteOverride(session="s", key=key, value=value, at_ms=1))
        summary = desk.ask(f"@model:{STRONG} {HARD}", "Done.", SUMMARIZE, headers=COMPACTS)
    assert (summary.kind, route(summary)["reason"], route(summary)["target"]) == ("compaction", "helper", STRONG)


# --- clients that name a model themselves ---


def ask_named(desk: Desk, model: str, headers: dict[str, str], *turns: Any) -> tuple[Any, Any]:
    """What is sent of a request that names a model of a provider, and its record."""
    request = make_request("anthropic", model=model, turns=turns or (HARD, "Done.", SUMMARIZE))
    endpoint = find_endpoint("POST", request.path.partition("?")[0], request.headers)
    assert endpoint is not None
    exchange = desk.engine.begin(
        id=desk.engine.new_id(),
        endpoint=endpoint,
        headers={**request.headers, "x-ullage-session": "s", **headers},
        body=request.body,
        root="https://api.anthropic.com",
    )
    departure = asyncio.run(desk.engine.depart(exchange, None)) if exchange.managed else None
    exchange.asked = True
    exchange.answer_began(200, [])
    exchange.ended("whole")
    desk.engine.finish(exchange)
    assert desk.engine.flush()
    return departure, desk.store.find_call(exchange.id)


def test_a_summary_of_a_named_model_goes_as_it_came_unless_that_is_asked_for() -> None:
    with Desk(models=[LIGHT, STRONG]) as desk:
        departure, call = ask_named(desk, "claude-sonnet-4-5", COMPACTS)
    assert departure is None
    assert (call.kind, call.route) == ("compaction", None)


def test_a_summary_of_a_named_model_goes_to_a_cheaper_one_where_that_is_asked_for() -> None:
    with Desk(models=[LIGHT, STRONG], compaction="all") as desk:
        departure, call = ask_named(desk, "claude-sonnet-4-5", COMPACTS)
        other, _ = ask_named(desk, "claude-sonnet-4-5", PLAIN, HARD)
    assert departure.destination.target == LIGHT
    assert b'"model":"claude-haiku-4-5"' in departure.body.replace(b": ", b":")
    assert (route(call)["target"], call.kind) == (LIGHT, "compaction")
    assert other is None


@pytest.mark.parametrize("routing", [{"models": [STRONG]}, {"models": ["nobody/at-all"]}], ids=["itself", "nobody"])
def test_where_nobody_writes_it_for_less_it_goes_as_it_came(routing: Any) -> None:
    with Desk(**routing, compaction="all") as desk:
        departure, call = ask_named(desk, "claude-sonnet-4-5", COMPACTS)
    assert (departure.untouched, departure.destination, departure.refusal) == (True, None, None)
    assert (call.kind, call.route, call.model) == ("compaction", None, "claude-sonnet-4-5")
    assert call.breakdown is not None


@pytest.mark.parametrize(
    ("key", "value"), [("activation", "off"), ("pin", LIGHT)], ids=["routing is off", "a target is pinned"]
)
@pytest.mark.parametrize("session", ["s", ""], ids=["for the session", "for all"])
def test_what_a_user_has_set_keeps_a_summary_where_its_client_asks_for_it(key: str, value: str, session: str) -> None:
    with Desk(models=[LIGHT, STRONG], compaction="all") as desk:
        desk.store.put_route_override(RouteOverride(session=session, key=key, value=value, at_ms=1))
        departure, call = ask_named(desk, "claude-sonnet-4-5", COMPACTS)
    assert (departure.untouched, call.route) == (True, None)


def test_while_routing_only_watches_summaries_stay() -> None:
    with Desk(models=[LIGHT, STRONG], compaction="all", shadow=True) as desk:
        departure, _ = ask_named(desk, "claude-sonnet-4-5", COMPACTS)
    assert departure.untouched


def test_a_model_whose_price_nobody_knows_keeps_its_summaries_unless_somebody_is_named_for_them() -> None:
    with Desk(compaction="all") as desk:
        kept, _ = ask_named(desk, "claude-of-tomorrow", COMPACTS)
    with Desk(compaction="all", compaction_models=[LIGHT]) as desk:
        moved, _ = ask_named(desk, "claude-of-tomorrow", COMPACTS)
    assert kept.untouched
    assert moved.destination.target == LIGHT


def test_a_request_that_only_speaks_of_summaries_is_no_summary() -> None:
    with Desk(models=[LIGHT, STRONG], compaction="all") as desk:
        departure, call = ask_named(
            desk, "claude-sonnet-4-5", PLAIN, "What does <conversation> mean in compaction?", Exchange()
        )
    assert departure.untouched
    assert (call.kind, call.route) == ("conversation", None)


def test_summaries_in_a_row_are_one_task_of_their_own_and_what_may_be_spent_on_one_holds_for_them_together() -> None:
    with Desk(models=[LIGHT, STRONG]) as desk:
        conversation = desk.ask(HARD, headers=PLAIN)
        first = desk.ask(HARD, "Done.", SUMMARIZE, headers=COMPACTS)
        second = desk.ask(HARD, "Done.", f"{SUMMARIZE} The other half.", headers=COMPACTS)
        desk.ask("This session is continued: the summary.", headers=PLAIN)
        later = desk.ask("This session is continued: the summary.", "Done.", SUMMARIZE, headers=COMPACTS)
        told = {total.name for total in desk.store.ledger.totals("task")}
    tasks = [route(call)["task_id"] for call in (conversation, first, second, later)]
    assert tasks[1] == tasks[2]
    assert len(set(tasks)) == 3
    assert told >= {tasks[1], tasks[3]}
