"""Routes of a session, with a clock that is moved: cold caches, summaries, branches, prompts that a provider keeps."""

from __future__ import annotations

import asyncio
import itertools
import json
from typing import Any, Self

import msgspec
import pytest

from tests.engine.observing import ANSWERS
from ullage.core.profiles import Prices
from ullage.core.routing.filtering import Candidate
from ullage.core.routing.models import ModelRecord
from ullage.core.routing.route import prepare_candidates
from ullage.core.wire import Dialect
from ullage.engine import Engine
from ullage.engine.targets import Destination
from ullage.gateway.routes import find_endpoint
from ullage.settings import Settings
from ullage.stores import CallRecord, MemoryStore, RouteOverride
from ullage.testing import Exchange, make_request

LIGHT, STRONG, FRONTIER = "anthropic/claude-haiku-4-5", "anthropic/claude-sonnet-4-5", "openai/gpt-5"
EASY = "Rename the variable x in this line to count."
HARD = "Plan and review the architecture of our payment service, then debug the failing production deployment."
MINUTE_MS = 60_000


def record(target: str, usd: float) -> ModelRecord:
    provider, _, model = target.partition("/")
    return ModelRecord(
        provider=provider,
        id=model,
        reasoning=True,
        inputs=("text", "image"),
        context_window=200_000,
        max_output_tokens=64_000,
        prices=Prices(input=usd, output=5 * usd, cache_read=usd / 10, cache_write=usd),
    )


CANDIDATES = prepare_candidates([record(LIGHT, 1.0), record(STRONG, 3.0), record(FRONTIER, 10.0)])


class GivenTargets:
    """Targets that are there in every dialect."""

    def candidates(self, dialect: Dialect, *, client_key: bool) -> tuple[Candidate, ...]:
        return CANDIDATES

    def destination(self, target: str, dialect: Dialect, *, client_key: bool) -> Destination | None:
        provider, _, model = target.partition("/")
        return Destination(
            target=target, provider=provider, model=model, dialect=dialect, root=f"https://{provider}.test"
        )

    def suggest(self, target: str) -> str | None:
        return None


class Desk:
    """An engine whose clock stands still until it is moved."""

    def __init__(self, **routing: Any) -> None:
        self.now_ms = 1_800_000_000_000
        self.store = MemoryStore()
        numbers = itertools.count(1)
        self.engine = Engine(
            store=self.store,
            settings=msgspec.convert({"routing": {"guards": {"downgrades": True}, **routing}}, Settings),
            clock_ms=lambda: self.now_ms,
            clock=itertools.count(0.0, 0.001).__next__,
            new_id=lambda: f"id-{next(numbers)}",
            targets=GivenTargets(),
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.engine.close()

    def ask(
        self,
        *turns: str | Exchange,
        session: str | None = "s",
        dialect: Dialect = "anthropic",
        answer: dict[str, Any] | None = None,
        usage: dict[str, int] | None = None,
        headers: dict[str, str] | None = None,
        **extra: Any,
    ) -> CallRecord:
        """A request, a second later its answer."""
        request = make_request(dialect, model="auto", turns=turns, extra=extra or None)
        named = {"x-ullage-session": session} if session is not None else {}
        endpoint = find_endpoint("POST", request.path.partition("?")[0], request.headers)
        assert endpoint is not None
        self.now_ms += 1_000
        exchange = self.engine.begin(
            id=self.engine.new_id(),
            endpoint=endpoint,
            headers={**request.headers, **named, **(headers or {})},
            body=request.body,
            root="https://usual.test",
        )
        departure = asyncio.run(self.engine.depart(exchange, None))
        assert departure.refusal is None, departure.refusal
        told = {**ANSWERS[dialect], **(answer or {})}
        if usage is not None:
            told["usage"] = usage
        exchange.asked = True
        exchange.answer_began(200, [(b"content-type", b"application/json")])
        exchange.answer_chunk(json.dumps(told).encode())
        exchange.ended("whole")
        self.engine.finish(exchange)
        assert self.engine.flush() and self.store.flush()
        found = self.store.find_call(exchange.id)
        assert found is not None
        return found


def route(call: CallRecord) -> dict[str, Any]:
    assert call.route is not None
    return call.route


TOOLS = {
    "content": [{"type": "tool_use", "id": "t", "name": "bash", "input": {}}],
    "stop_reason": "tool_use",
}


@pytest.mark.parametrize(
    ("idle_ms", "note"), [(298_000, []), (301_000, ["cache cold (idle 5m)"]), (720_000, ["cache cold (idle 12m)"])]
)
def test_a_session_that_was_idle_for_more_than_five_minutes_is_cold(idle_ms: int, note: list[str]) -> None:
    with Desk() as desk:
        desk.ask(HARD)
        desk.now_ms += idle_ms
        later = desk.ask(HARD, "Done.", EASY)
    assert route(later)["notes"] == note
    assert ("cache cold" in route(later)["reasons"]) == bool(note)


def test_a_summary_makes_the_next_task_cold_and_leaves_the_running_one_where_it_is() -> None:
    marks = {"user-agent": "claude-cli/2.1.0", "x-claude-code-compaction": "1"}
    plain = {"user-agent": "claude-cli/2.1.0"}
    with Desk() as desk:
        first = desk.ask(HARD, answer=TOOLS, headers=plain)
        errand = desk.ask(HARD, Exchange(), "Summarize.", headers=marks)
        goes_on = desk.ask("This session is continued: the summary.", answer=TOOLS, headers=plain)
        step = desk.ask("This session is continued: the summary.", Exchange(), headers=plain)
        after = desk.ask("This session is continued: the summary.", Exchange(), "Done.", EASY, headers=plain)
    assert (errand.kind, route(errand)["reason"]) == ("compaction", "helper")
    assert [route(call)["task_id"] for call in (goes_on, step)] == [route(first)["task_id"]] * 2
    assert [route(call)["target"] for call in (goes_on, step)] == [route(first)["target"]] * 2
    assert route(after)["reason"] == "user"
    assert route(after)["notes"] == ["cache cold (compaction)"]


def test_the_warm_cache_of_an_earlier_target_counts() -> None:
    usage = {
        "input_tokens": 100,
        "cache_read_input_tokens": 0,
        "cache_creation_input_tokens": 40_000,
        "output_tokens": 5,
    }
    long = "word " * 40_000
    mark = {"cache_control": {"type": "ephemeral"}}
    with Desk(models=[LIGHT, STRONG], policy="cost") as desk:
        first = desk.ask(f"@model:{STRONG} {long}", usage=usage, system=[{"type": "text", "text": "Be brief.", **mark}])
        second = desk.ask(f"@model:{STRONG} {long}", "Done.", EASY)
    assert route(first)["target"] == STRONG
    switch = route(second)["switch"]
    assert switch["current"] == STRONG
    assert switch["cache_loss_usd"] > 0.03


def test_a_branch_goes_on_from_the_target_of_its_parent() -> None:
    with Desk() as desk:
        desk.ask(f"@model:{FRONTIER} {HARD}", session=None)
        desk.ask(f"@model:{FRONTIER} {HARD}", "Yes.", "More.", session=None)
        parent = desk.ask(f"@model:{FRONTIER} {HARD}", "Yes.", "More.", "Done.", "And this.", session=None)
        branch = desk.ask(f"@model:{FRONTIER} {HARD}", "Yes.", "More.", "Done.", EASY, session=None)
    assert branch.session != parent.session
    assert route(branch)["switch"]["current"] == FRONTIER


def test_a_sub_agent_has_tasks_of_its_own() -> None:
    agent = {"user-agent": "claude-cli/2.1.0", "x-claude-code-session-id": "main", "x-claude-code-agent-id": "a1"}
    main = {"user-agent": "claude-cli/2.1.0", "x-claude-code-session-id": "main"}
    with Desk() as desk:
        first = desk.ask(HARD, session=None, headers=main, answer=TOOLS)
        other = desk.ask(EASY, session=None, headers=agent)
        goes_on = desk.ask(HARD, Exchange(), session=None, headers=main)
    assert (other.session, other.kind) == ("main/a1", "subagent")
    assert route(other)["reason"] == "user"
    assert (route(goes_on)["kept"], route(goes_on)["task_id"]) == (True, route(first)["task_id"])


def test_what_a_provider_keeps_of_a_conversation_binds_it_to_the_target() -> None:
    with Desk() as desk:
        first = desk.ask(f"@model:{FRONTIER} {EASY}", dialect="openai-responses")
        second = desk.ask(EASY, dialect="openai-responses", previous_response_id="resp_1")
    assert route(first)["target"] == route(second)["target"] == FRONTIER
    assert route(second)["reason"] == "user"


def test_calls_of_past_tasks_are_those_that_are_expected_of_the_next() -> None:
    with Desk() as desk:
        costs = []
        for task in range(4):
            first = desk.ask(EASY, session=f"s{task}", answer=TOOLS)
            costs.append(route(first)["ranked"][0]["cost"]["usd"])
            desk.ask(EASY, "Done.", HARD, session=f"s{task}")  # the task before is over: one call
    assert costs[3] < costs[0] / 3


def test_what_is_learned_of_tokens_is_what_fits_are_judged_by() -> None:
    usage = {"input_tokens": 90_000, "cache_read_input_tokens": 0, "output_tokens": 5}
    with Desk(models=[LIGHT]) as desk:
        first = desk.ask("word " * 30_000, usage=usage)
        second = desk.ask("word " * 30_000, "Done.", EASY)
    assert route(first)["context_tokens"] < 60_000
    assert route(second)["context_tokens"] == pytest.approx(90_000, rel=0.05)


def test_what_is_set_for_a_session_holds_for_its_sub_agents_and_branches() -> None:
    agent = {"user-agent": "claude-cli/2.1.0", "x-claude-code-session-id": "main", "x-claude-code-agent-id": "a1"}
    with Desk() as desk:
        for session, target in (("", LIGHT), ("main", FRONTIER)):
            desk.store.put_route_override(RouteOverride(session=session, key="pin", value=target, at_ms=1))
        sub = desk.ask(EASY, session=None, headers=agent)
        other = desk.ask(EASY)
        desk.store.put_route_override(RouteOverride(session="main/a1", key="pin", value=STRONG, at_ms=2))
        own = desk.ask(EASY, "Done.", HARD, session=None, headers=agent)
    assert [route(call)["target"] for call in (sub, other, own)] == [FRONTIER, LIGHT, STRONG]
