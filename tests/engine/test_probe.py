"""The prefix probe over real sockets: limits before and during, the right model, models that think unasked."""

from __future__ import annotations

from collections.abc import AsyncIterator

import msgspec
import pytest

from ullage.core.accounting.isolation import isolate
from ullage.core.content import Usage
from ullage.core.errors import CallError, UpstreamError
from ullage.core.wire import DIALECTS, Conversation, Dialect, parse_request
from ullage.engine.probe import RUNAWAY_TOKENS, Limits, ProbePlan, ProbeResult, is_model, plan_probe, run_probe
from ullage.settings import UpstreamSettings
from ullage.testing import BuiltRequest, FakeProvider, Fault, Reply, Rule, make_prose, make_request, make_tools
from ullage.upstream import UpstreamClient
from ullage.upstream.asking import Target

ROOMY = Limits(calls=40, tokens=1_000_000, chars=1_000_000)
WITHOUT_USAGE = b'{"type":"message","model":"m-1","role":"assistant","content":[],"stop_reason":"end_turn"}'


@pytest.fixture
async def client() -> AsyncIterator[UpstreamClient]:
    client = UpstreamClient(UpstreamSettings(idle_timeout_s=0.3, connect_timeout_s=1))
    yield client
    await client.close()


def request_of(dialect: Dialect, tools: int = 2) -> BuiltRequest:
    return make_request(
        dialect, turns=(make_prose(400),), tools=make_tools(tools), system=make_prose(800, 1), stream=True
    )


def estimate(conversation: Conversation) -> int:
    return len(conversation.body) // 2


def planned(request: BuiltRequest, limits: Limits = ROOMY, model: str = "m-1") -> ProbePlan:
    return plan_probe(parse_request(request.body, request.dialect), model, limits, estimate)


async def probe(
    client: UpstreamClient, provider: FakeProvider, plan: ProbePlan, dialect: Dialect, model: str = "m-1"
) -> ProbeResult:
    return await run_probe(plan, client=client, target=Target(provider.url, dialect, None), model=model)


def prompts_of(*prompts: int) -> list[Rule]:
    """An upstream that reports these prompts one after another."""
    return [Rule(times=1, reply=Reply(usage=Usage(input_fresh=prompt, output=1))) for prompt in prompts]


@pytest.mark.parametrize("dialect", DIALECTS)
async def test_sections_are_measured_by_the_difference_of_reported_prompts(
    client: UpstreamClient, dialect: Dialect
) -> None:
    async with FakeProvider() as provider:
        plan = planned(request_of(dialect))
        result = await probe(client, provider, plan, dialect)
    found = isolate(plan.isolation, result.prompts)
    assert found.system == pytest.approx(800 / 4, abs=3)
    assert found.tools_net == pytest.approx(sum(cost.net or 0 for cost in found.tool_costs), abs=3)
    assert (result.calls, result.stopped, result.skipped) == (6, None, [])
    assert result.prompt_tokens == sum(result.prompts.values())
    assert result.answered_by == "m-1"


@pytest.mark.parametrize("dialect", DIALECTS)
async def test_what_is_sent_is_capped_and_not_streamed(client: UpstreamClient, dialect: Dialect) -> None:
    async with FakeProvider() as provider:
        await probe(client, provider, planned(request_of(dialect)), dialect)
        bodies = [msgspec.json.decode(received.body) for received in provider.requests]
        paths = {received.path for received in provider.requests}
    caps = {
        "openai-chat": {"max_tokens": 1},
        "openai-responses": {"max_output_tokens": 16, "store": False},
        "anthropic": {"max_tokens": 1},
        "gemini": {"generationConfig": {"maxOutputTokens": 1}},
    }
    assert all(body | caps[dialect] == body and "stream" not in body for body in bodies)
    assert len(paths) == 1
    assert not any("stream" in path for path in paths)


@pytest.mark.parametrize(
    ("dialect", "model", "members"),
    [
        ("openai-chat", "glm-5.1", {"thinking": {"type": "disabled"}, "max_tokens": 1}),
        ("openai-chat", "qwen/qwen3-32b", {"enable_thinking": False}),
        ("openai-chat", "gpt-5.5", {"reasoning_effort": "none", "max_completion_tokens": 1}),
        ("openai-chat", "gpt-5-mini", {"reasoning_effort": "minimal", "max_completion_tokens": 1}),
        ("openai-responses", "gpt-5.6-sol", {"reasoning": {"effort": "none"}}),
        (
            "gemini",
            "gemini-2.5-flash",
            {"generationConfig": {"maxOutputTokens": 1, "thinkingConfig": {"thinkingBudget": 0}}},
        ),
    ],
)
def test_thinking_is_switched_off_in_the_models_own_words(
    dialect: Dialect, model: str, members: dict[str, object]
) -> None:
    body = msgspec.json.decode(planned(request_of(dialect), model=model).planned[0].tiny.body)
    assert body | members == body


def test_members_that_steer_the_answer_are_left_out() -> None:
    extra = {"thinking": {"type": "enabled", "budget_tokens": 9_000}, "temperature": 1, "metadata": {"user_id": "u"}}
    request = make_request("anthropic", system="s", extra=extra)
    bodies = [msgspec.json.decode(call.tiny.body) for call in planned(request).planned]
    assert not any(set(extra) & set(body) for body in bodies)


async def test_the_first_call_is_repeated_plainly_where_it_is_refused(client: UpstreamClient) -> None:
    rules = [Rule(times=1, fault=Fault(status=400, message="Unrecognized request argument: thinking"))]
    async with FakeProvider(rules) as provider:
        plan = planned(request_of("openai-chat"), model="glm-5")
        assert plan.calls == len(plan.planned) + 1
        result = await probe(client, provider, plan, "openai-chat", model="glm-5")
        bodies = [msgspec.json.decode(received.body) for received in provider.requests]
    assert (result.calls, len(result.prompts)) == (7, 6)
    assert "thinking" in bodies[0]
    assert all("thinking" not in body and body["max_tokens"] == 16 for body in bodies[1:])


@pytest.mark.parametrize(
    ("limits", "cases"),
    [
        (
            Limits(calls=6, tokens=10**6, chars=10**6),
            {"baseline", "system", "tools", "tool:bash", "tool:tool_1", "full"},
        ),
        (Limits(calls=4, tokens=10**6, chars=10**6), {"baseline", "system", "tools", "full"}),
        (Limits(calls=2, tokens=10**6, chars=10**6), {"baseline", "system"}),
        (Limits(calls=40, tokens=2_200, chars=10**6), {"baseline", "system", "tools"}),
        (Limits(calls=40, tokens=10**6, chars=2_000), {"baseline", "system", "tools"}),
    ],
    ids=["just enough", "no single tools", "two calls", "tokens", "characters"],
)
async def test_the_limits_hold(client: UpstreamClient, limits: Limits, cases: set[str]) -> None:
    async with FakeProvider() as provider:
        plan = planned(request_of("anthropic"), limits)
        assert plan.calls <= limits.calls
        assert plan.tokens <= limits.tokens
        assert plan.chars <= limits.chars
        result = await probe(client, provider, plan, "anthropic")
        sent = sum(len(received.body.decode()) for received in provider.requests)
    assert set(result.prompts) == cases
    assert len(result.prompts) + len(result.skipped) == 6
    assert result.calls <= limits.calls
    assert result.prompt_tokens + result.output_tokens <= limits.tokens
    assert sent <= limits.chars


@pytest.mark.parametrize(
    ("limits", "words"),
    [
        (Limits(calls=1, tokens=10**6, chars=10**6), "2 calls would be needed, 1 are allowed"),
        (Limits(calls=9, tokens=30, chars=10**6), "tokens would be needed, 30 are allowed"),
        (Limits(calls=9, tokens=10**6, chars=10), "characters would be needed, 10 are allowed"),
    ],
)
def test_limits_without_room_for_a_section_are_a_wrong_call(limits: Limits, words: str) -> None:
    with pytest.raises(CallError) as caught:
        planned(request_of("anthropic"), limits)
    assert words in caught.value.message
    assert "--max-tokens" in caught.value.hint


async def test_what_was_really_spent_is_held_against_the_limit(client: UpstreamClient) -> None:
    """The estimate was far too low: the probe ends before the call that would go over."""
    plan = plan_probe(
        parse_request(request_of("anthropic").body, "anthropic"),
        "m-1",
        Limits(calls=40, tokens=1_600, chars=10**6),
        lambda conversation: 10,
    )
    async with FakeProvider(prompts_of(300, 1_100)) as provider:
        result = await probe(client, provider, plan, "anthropic")
    assert result.stopped is not None
    assert "the limit of 1,600 tokens is reached" in result.stopped
    assert {skipped.reason for skipped in result.skipped} == {"not sent any more"}


async def test_a_model_that_thinks_unasked_ends_the_probe(client: UpstreamClient) -> None:
    """Accounting specification, section 15.2: one produced 38,918 hidden tokens with a limit of 1."""
    runaway = Reply(usage=Usage(input_fresh=12, output=38_918, reasoning=38_917))
    async with FakeProvider([Rule(reply=runaway)]) as provider:
        result = await probe(client, provider, planned(request_of("openai-chat")), "openai-chat")
        assert len(provider.requests) == 1
    assert result.stopped == "the model answers with 38,918 tokens in spite of the cap: it thinks unasked"
    assert (result.prompts, result.output_tokens) == ({"baseline": 12}, 38_918)


async def test_prompts_are_whole_whatever_the_cache_holds(client: UpstreamClient) -> None:
    """Only the prompt is subtracted: its cached parts belong to it, the output never."""
    cached = Reply(usage=Usage(input_fresh=2, cache_read=90, cache_write=8, output=30))
    async with FakeProvider([*prompts_of(12), Rule(reply=cached)]) as provider:
        result = await probe(client, provider, planned(request_of("anthropic")), "anthropic")
    assert result.prompts["system"] == 100


async def test_another_models_answer_is_discarded(client: UpstreamClient) -> None:
    async with FakeProvider([Rule(reply=Reply(model="m-1-mini"))]) as provider:
        with pytest.raises(UpstreamError, match="asked for m-1, but m-1-mini answered") as caught:
            await probe(client, provider, planned(request_of("anthropic")), "anthropic")
    assert caught.value.code == "probe_discarded"


@pytest.mark.parametrize("second", ["m-1-20260601", "other"])
async def test_another_model_in_the_middle_ends_the_probe(client: UpstreamClient, second: str) -> None:
    """What it would answer next has nothing to do with the baseline, and costs as much."""
    rules = [Rule(times=2, reply=Reply(model="m-1-20260101")), Rule(reply=Reply(model=second))]
    async with FakeProvider(rules) as provider:
        result = await probe(client, provider, planned(request_of("anthropic")), "anthropic")
        assert len(provider.requests) == 3
    assert set(result.prompts) == {"baseline", "system"}
    assert result.answered_by == "m-1-20260101"
    assert result.stopped is not None
    assert f"{second} answered" in result.stopped


async def test_missing_usage_ends_the_probe_and_is_charged_by_our_estimate(client: UpstreamClient) -> None:
    rules = [Rule(times=2), Rule(reply=Reply(body=WITHOUT_USAGE))]
    async with FakeProvider(rules) as provider:
        plan = planned(request_of("anthropic"))
        result = await probe(client, provider, plan, "anthropic")
        assert len(provider.requests) == 3
    assert set(result.prompts) == {"baseline", "system"}
    assert result.stopped == "it reports no usage"
    assert result.skipped[0].case == "tools"
    assert result.charged_tokens == result.prompt_tokens + result.output_tokens + plan.planned[2].tokens


@pytest.mark.parametrize("system", [299, 300])
async def test_a_section_that_is_not_above_the_baseline_is_no_result(client: UpstreamClient, system: int) -> None:
    async with FakeProvider(prompts_of(300, system, 500, 400, 400, 900)) as provider:
        plan = planned(request_of("anthropic"))
        result = await probe(client, provider, plan, "anthropic")
    assert [(skipped.case, skipped.reason) for skipped in result.skipped] == [("system", "below the baseline")]
    assert isolate(plan.isolation, result.prompts).system is None
    assert result.stopped is None


@pytest.mark.parametrize(
    ("full", "reason"), [(250, "below the baseline"), (499, "below its largest part"), (500, None)]
)
async def test_the_whole_request_is_not_smaller_than_its_largest_part(
    client: UpstreamClient, full: int, reason: str | None
) -> None:
    async with FakeProvider(prompts_of(300, 500, 480, 400, 400, full)) as provider:
        result = await probe(client, provider, planned(request_of("anthropic")), "anthropic")
    assert [skipped.reason for skipped in result.skipped] == ([reason] if reason else [])


async def test_a_probe_without_any_section_measured_says_so(client: UpstreamClient) -> None:
    async with FakeProvider(prompts_of(300, 300, 300, 300, 300, 900)) as provider:
        result = await probe(client, provider, planned(request_of("anthropic")), "anthropic")
    assert set(result.prompts) == {"baseline", "full"}
    assert result.stopped == "no section was measured"


async def test_a_request_without_sections_is_measured_whole(client: UpstreamClient) -> None:
    async with FakeProvider() as provider:
        plan = planned(make_request("anthropic", turns=(make_prose(400),)))
        result = await probe(client, provider, plan, "anthropic")
    assert (set(result.prompts), result.stopped) == ({"baseline", "full"}, None)


@pytest.mark.parametrize(("output", "calls"), [(RUNAWAY_TOKENS, 6), (RUNAWAY_TOKENS + 1, 1)])
async def test_an_upstream_that_ignores_the_cap_costs_no_more_than_planned(
    client: UpstreamClient, output: int, calls: int
) -> None:
    usages = [Usage(input_fresh=prompt, output=output) for prompt in (20, 220, 200, 120, 120, 600)]
    async with FakeProvider([Rule(times=1, reply=Reply(usage=usage)) for usage in usages]) as provider:
        plan = planned(request_of("anthropic"))
        result = await probe(client, provider, plan, "anthropic")
    assert result.calls == calls
    assert result.charged_tokens <= plan.tokens


async def test_a_passed_total_of_the_plan_ends_the_probe(client: UpstreamClient) -> None:
    conversation = parse_request(request_of("anthropic").body, "anthropic")
    plan = plan_probe(conversation, "m-1", ROOMY, lambda part: 10)
    async with FakeProvider(prompts_of(300, 1_700, 480, 400, 400, 900)) as provider:
        result = await probe(client, provider, plan, "anthropic")
        assert len(provider.requests) == 2
    assert result.stopped == f"2,002 tokens are spent, {plan.tokens:,} were planned for all calls"


async def test_an_upstream_that_reports_no_usage_cannot_be_measured(client: UpstreamClient) -> None:
    async with FakeProvider([Rule(reply=Reply(body=WITHOUT_USAGE))]) as provider:
        with pytest.raises(UpstreamError, match="it reports no usage"):
            await probe(client, provider, planned(request_of("anthropic")), "anthropic")


async def test_usage_that_cannot_be_true_is_refused(client: UpstreamClient) -> None:
    rules = [Rule(times=1), Rule(reply=Reply(usage=Usage(input_fresh=1, output=1)))]
    async with FakeProvider(rules) as provider:
        result = await probe(client, provider, planned(request_of("anthropic")), "anthropic")
    assert set(result.prompts) == {"baseline"}
    assert all("too low" in skipped.reason for skipped in result.skipped)


@pytest.mark.parametrize("status", [401, 404, 429, 500])
async def test_a_fault_of_the_first_call_is_the_probes(client: UpstreamClient, status: int) -> None:
    async with FakeProvider([Rule(fault=Fault(status=status))]) as provider:
        with pytest.raises(UpstreamError):
            await probe(client, provider, planned(request_of("anthropic")), "anthropic")
        assert len(provider.requests) == 1


async def test_a_later_fault_keeps_what_was_measured(client: UpstreamClient) -> None:
    rules = [Rule(times=2), Rule(fault=Fault(status=429))]
    async with FakeProvider(rules) as provider:
        result = await probe(client, provider, planned(request_of("anthropic")), "anthropic")
        assert len(provider.requests) == 3
    assert set(result.prompts) == {"baseline", "system"}
    assert result.stopped is not None
    assert "too many requests" in result.stopped


async def test_a_case_that_the_upstream_rejects_is_passed_over(client: UpstreamClient) -> None:
    rules = [Rule(times=2), Rule(times=1, fault=Fault(status=400, message="No such tool."))]
    async with FakeProvider(rules) as provider:
        result = await probe(client, provider, planned(request_of("anthropic")), "anthropic")
    assert [skipped.case for skipped in result.skipped] == ["tools"]
    assert "No such tool." in result.skipped[0].reason
    assert len(result.prompts) == 5


@pytest.mark.parametrize(
    ("answered", "asked", "same"),
    [
        ("gpt-5.5", "gpt-5.5", True),
        ("gpt-5.5-2026-03-01", "gpt-5.5", True),
        ("claude-opus-4-8-20260420", "claude-opus-4-8", True),
        ("gemini-2.0-flash-001", "models/gemini-2.0-flash", True),
        ("z-ai/GLM-5", "glm-5", True),
        ("claude-3-5-haiku-20241022", "claude-3-5-haiku-latest", True),
        ("command-r-08-2024", "command-r", True),
        ("gpt-5-mini", "gpt-5", False),
        ("gpt-4o", "gpt-4o-2024-05-13", False),
        ("gpt-4o-2024-08-06", "gpt-4o-2024-05-13", False),
        ("claude-opus-4-7", "claude-opus-4-8", False),
        (None, "gpt-5", False),
        ("", "gpt-5", False),
    ],
)
def test_a_model_is_known_by_its_name_with_or_without_version(answered: str | None, asked: str, same: bool) -> None:
    assert is_model(answered, asked) is same
