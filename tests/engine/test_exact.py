"""Exact counts over real sockets: cases and full request, the cache, refusals, the cap on calls."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from ullage.core.accounting.isolation import isolate
from ullage.core.errors import UpstreamError
from ullage.core.wire import Dialect, parse_request
from ullage.engine.exact import MAX_CALLS, Agenda, Counter, known_counts, plan_counts, uncounted
from ullage.settings import UpstreamSettings
from ullage.settings.credentials import Credential
from ullage.testing import BuiltRequest, FakeProvider, Fault, Reply, Rule, make_prose, make_request, make_tools
from ullage.upstream import UpstreamClient
from ullage.upstream.asking import Target
from ullage.upstream.counting import find_endpoint

COUNTED: tuple[tuple[str, Dialect], ...] = (
    ("openai", "openai-responses"),
    ("anthropic", "anthropic"),
    ("google", "gemini"),
)
SECRET = "sk-very-secret-key-0123456789"


class Kept:
    """A cache in memory."""

    def __init__(self) -> None:
        self.counts: dict[str, int] = {}

    def find(self, key: str) -> int | None:
        return self.counts.get(key)

    def put(self, key: str, tokens: int) -> None:
        self.counts[key] = tokens


class Desk:
    """One provider, one cache and everything between them."""

    def __init__(self, provider: FakeProvider, client: UpstreamClient, name: str, dialect: Dialect) -> None:
        self.cache = Kept()
        self.target = Target(provider.url, dialect, Credential("SOME_KEY", SECRET))
        self.endpoint = find_endpoint(name, dialect)
        self.counter = Counter(client=client, target=self.target, endpoint=self.endpoint, cache=self.cache)

    def agenda(self, request: BuiltRequest, *, apart: bool = True, max_calls: int = MAX_CALLS) -> Agenda:
        conversation = parse_request(request.body, request.dialect)
        return plan_counts(conversation, self.endpoint, "m-1", apart=apart, max_calls=max_calls)


@pytest.fixture
async def client() -> AsyncIterator[UpstreamClient]:
    client = UpstreamClient(UpstreamSettings(idle_timeout_s=0.3, connect_timeout_s=1))
    yield client
    await client.close()


def request_of(dialect: Dialect, tools: int = 3) -> BuiltRequest:
    return make_request(dialect, turns=(make_prose(400),), tools=make_tools(tools), system=make_prose(800, 1))


@pytest.mark.parametrize(("name", "dialect"), COUNTED)
async def test_every_case_is_counted_and_the_costs_add_up(client: UpstreamClient, name: str, dialect: Dialect) -> None:
    async with FakeProvider() as provider:
        desk = Desk(provider, client, name, dialect)
        agenda = desk.agenda(request_of(dialect))
        counts = await desk.counter.count_all(agenda.asks)
        assert len(provider.requests) == len(counts) == 7
    assert agenda.plan is not None
    found = isolate(agenda.plan, known_counts(counts))
    # This provider counts four bytes a token: 800 characters of system prompt, with the role and a line before it.
    assert found.system == pytest.approx(800 / 4, abs=3)
    assert found.block == 0
    assert found.tools_net == pytest.approx(sum(cost.net or 0 for cost in found.tool_costs), abs=3)
    assert (found.system or 0) + (found.tools or 0) + (found.rest or 0) == found.full
    assert all(count.method == "preflight" and not count.cached for count in counts.values())


async def test_what_was_counted_is_not_asked_again(client: UpstreamClient) -> None:
    async with FakeProvider() as provider:
        desk = Desk(provider, client, "anthropic", "anthropic")
        agenda = desk.agenda(request_of("anthropic"))
        first = await desk.counter.count_all(agenda.asks)
        assert uncounted(agenda.asks, desk.target, desk.cache) == []
        second = await desk.counter.count_all(agenda.asks)
        assert len(provider.requests) == 7
    assert {case: count.tokens for case, count in first.items()} == {
        case: count.tokens for case, count in second.items()
    }
    assert all(count.cached for count in second.values())
    assert SECRET not in str(desk.cache.counts)


async def test_another_body_model_or_address_is_another_count(client: UpstreamClient) -> None:
    async with FakeProvider() as provider:
        desk = Desk(provider, client, "google", "gemini")
        await desk.counter.count_all(desk.agenda(request_of("gemini"), apart=False).asks)
        conversation = parse_request(request_of("gemini").body, "gemini")
        other_model = plan_counts(conversation, desk.endpoint, "m-2", apart=False)
        assert len(uncounted(other_model.asks, desk.target, desk.cache)) == 1
        elsewhere = Target(provider.url + "/elsewhere", "gemini", None)
        assert len(uncounted(desk.agenda(request_of("gemini"), apart=False).asks, elsewhere, desk.cache)) == 1


async def test_the_whole_alone_is_one_call(client: UpstreamClient) -> None:
    async with FakeProvider() as provider:
        desk = Desk(provider, client, "anthropic", "anthropic")
        agenda = desk.agenda(request_of("anthropic"), apart=False)
        counts = await desk.counter.count_all(agenda.asks)
        assert (len(provider.requests), set(counts), agenda.plan) == (1, {"full"}, None)


async def test_an_answer_that_cannot_be_true_is_refused_and_not_kept(client: UpstreamClient) -> None:
    """Accounting specification, section 19, item 28: a proxied endpoint answers 1 for each tool."""
    rule = Rule(route="count", reply=Reply(body=b'{"input_tokens":1}'))
    async with FakeProvider([rule]) as provider:
        desk = Desk(provider, client, "anthropic", "anthropic")
        agenda = desk.agenda(request_of("anthropic"))
        counts = await desk.counter.count_all(agenda.asks)
    assert known_counts(counts) == {"baseline": 1}
    assert counts["tool:bash"].refused is not None
    assert "too low" in counts["tool:bash"].refused
    assert set(desk.cache.counts.values()) == {1}
    assert agenda.plan is not None
    assert isolate(agenda.plan, known_counts(counts)).tools is None


async def test_a_kept_count_that_cannot_be_true_is_refused_too(client: UpstreamClient) -> None:
    async with FakeProvider() as provider:
        desk = Desk(provider, client, "anthropic", "anthropic")
        agenda = desk.agenda(request_of("anthropic"), apart=False)
        await desk.counter.count_all(agenda.asks)
        desk.cache.counts = dict.fromkeys(desk.cache.counts, 10_000_000)
        counts = await desk.counter.count_all(agenda.asks)
    assert (counts["full"].tokens, counts["full"].cached) == (None, True)


async def test_the_first_fault_ends_it_and_what_was_counted_stays(client: UpstreamClient) -> None:
    rules = [Rule(route="count", times=2), Rule(route="count", fault=Fault(status=429))]
    async with FakeProvider(rules) as provider:
        desk = Desk(provider, client, "anthropic", "anthropic")
        agenda = desk.agenda(request_of("anthropic", tools=20))
        with pytest.raises(UpstreamError) as caught:
            await desk.counter.count_all(agenda.asks)
        assert caught.value.code == "upstream_limited"
        assert len(provider.requests) < len(agenda.asks)
        provider.script.clear()
        await desk.counter.count_all(agenda.asks)
    assert len(desk.cache.counts) == len(agenda.asks)


async def test_only_a_few_requests_are_under_way_at_once(client: UpstreamClient) -> None:
    async with FakeProvider([Rule(route="count", fault=Fault(delay_ms=20))]) as provider:
        desk = Desk(provider, client, "anthropic", "anthropic")
        await desk.counter.count_all(desk.agenda(request_of("anthropic", tools=12)).asks)
        assert 1 < provider.connections_opened <= 4


async def test_above_the_cap_single_tools_are_not_counted(client: UpstreamClient) -> None:
    async with FakeProvider() as provider:
        desk = Desk(provider, client, "anthropic", "anthropic")
        agenda = desk.agenda(request_of("anthropic"), max_calls=6)
        assert agenda.over_cap
        counts = await desk.counter.count_all(agenda.asks)
        assert len(provider.requests) == 4
    assert agenda.plan is not None
    found = isolate(agenda.plan, known_counts(counts))
    assert found.tools is not None
    assert found.block is None


async def test_progress_is_told_once_a_count(client: UpstreamClient) -> None:
    ticks: list[None] = []
    async with FakeProvider() as provider:
        desk = Desk(provider, client, "anthropic", "anthropic")
        agenda = desk.agenda(request_of("anthropic"))
        await desk.counter.count_all(agenda.asks, lambda: ticks.append(None))
    assert len(ticks) == len(agenda.asks)


async def test_leaving_in_the_middle_leaves_nothing_running(client: UpstreamClient) -> None:
    async with FakeProvider([Rule(route="count", fault=Fault(delay_ms=5_000))]) as provider:
        desk = Desk(provider, client, "anthropic", "anthropic")
        task = asyncio.create_task(desk.counter.count_all(desk.agenda(request_of("anthropic")).asks))
        await asyncio.sleep(0.05)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task


def test_a_request_that_lost_something_is_no_full_one() -> None:
    tools = [{"type": "web_search_20250305", "name": "web_search"}]
    body = make_request("anthropic", extra={"tools": tools}).body
    endpoint = find_endpoint("anthropic", "anthropic")
    agenda = plan_counts(parse_request(body, "anthropic"), endpoint, "m", apart=False)
    assert agenda.coverage == "partial-request"
    assert agenda.lost == ("the server tool web_search_20250305",)
    whole = plan_counts(parse_request(make_request("anthropic").body, "anthropic"), endpoint, "m", apart=False)
    assert whole.coverage == "full-request"
