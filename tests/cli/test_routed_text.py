"""What is recorded of a route, for people."""

from __future__ import annotations

from msgspec import to_builtins

from ullage.cli.auto.telling import tell_choice
from ullage.cli.routed_text import route_line, tell_routed
from ullage.core.profiles import Prices
from ullage.core.routing.models import ModelRecord
from ullage.core.routing.report import report_route
from ullage.core.routing.route import RouteSession, resolve_route

MODELS = [
    ModelRecord(
        provider="anthropic",
        id=name,
        context_window=window,
        max_output_tokens=64_000,
        prices=Prices(input=price, output=5 * price, cache_read=price / 10, cache_write=price),
    )
    for name, price, window in (("claude-haiku-4-5", 1.0, 200_000), ("claude-opus-5", 5.0, 200_000), ("tiny", 1.0, 9))
]
SESSION = RouteSession(
    first_turn=False, current="anthropic/claude-haiku-4-5", warm={"anthropic/claude-haiku-4-5": 9_000}
)


def test_a_route_is_told_with_what_a_switch_would_have_cost() -> None:
    route = to_builtins(report_route(resolve_route(MODELS, "Rename x.", context_tokens=9_000, session=SESSION)))
    record = {**route, "reason": "user", "kept": False, "notes": ["cache cold (idle 7m)"], "thinking_told": "low"}
    lines = list(tell_routed(record, "anthropic"))
    assert lines[0].startswith(
        "It was routed to anthropic/claude-haiku-4-5 for a new task: policy balanced, thinking low, "
    )
    assert "Note: cache cold (idle 7m)." in lines
    assert any(line.startswith("Staying at anthropic/claude-haiku-4-5 was taken to cost $0.") for line in lines)
    assert any(line.startswith("Next would have been anthropic/claude-opus-5 (") for line in lines)
    assert "anthropic/tiny was out: its context window is 9 tokens, 13,576 are needed (window-too-small)." in lines
    assert route_line(record).startswith("anthropic/claude-haiku-4-5 · policy balanced · thinking low · ")
    assert route_line(record).endswith("  (user)")


def test_a_kept_target_is_told() -> None:
    record = {"target": "p/m", "reason": "continuation", "kept": True, "policy": "cost", "task": {"kinds": ["debug"]}}
    assert list(tell_routed(record, "anthropic")) == [
        "It stayed at p/m as a further step of its task: policy cost, debug."
    ]
    assert route_line(record) == "p/m · policy cost · debug  (kept, continuation)"


def test_what_a_translation_could_not_carry_is_told() -> None:
    loss = {"code": "sampling", "where": "seed", "what": "The target's protocol has no such member."}
    record = {"target": "p/m", "reason": "user", "dialect": "openai-chat", "losses": [loss]}
    assert list(tell_routed(record, "anthropic"))[1:] == [
        "It was translated from anthropic to openai-chat, and the answer back.",
        "Not carried as it was (seed): The target's protocol has no such member.",
    ]
    assert len(list(tell_routed(record, "openai-chat"))) == 1


def test_targets_that_failed_first_are_told() -> None:
    attempts = [
        {"target": "a/m", "status": 503, "failure": "server"},
        {"target": "b/m", "status": None, "failure": "connection"},
        {"target": "p/m", "status": 200, "failure": None},
    ]
    record = {"target": "p/m", "reason": "user", "kept": False, "policy": "cost", "attempts": attempts}
    assert list(tell_routed(record, "anthropic"))[1:] == [
        "Asked was a/m, which failed (server, status 503).",
        "Asked was b/m, which failed (connection).",
    ]
    assert route_line(record) == "p/m · policy cost · 3 attempts  (user)"
    told = list(tell_choice(record))
    assert told[1:] == ["asked was a/m, which failed (server, status 503)", "asked was b/m, which failed (connection)"]


def test_a_stop_is_told() -> None:
    record = to_builtins(report_route(resolve_route((), "Rename x.")))
    assert list(tell_routed(record, "anthropic")) == ["It was not sent: there are no models (scope-empty)."]
    assert route_line(record) == "none: there are no models"
    assert route_line(None) == ""
