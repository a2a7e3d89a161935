"""What is counted, and what was counted wrong or not at all (faults, section 2)."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from ullage.core.planning import Limits, draw_budget
from ullage.core.planning.assembling import read_facts
from ullage.core.tokens import load_vocabulary
from ullage.core.wire import DIALECTS, Dialect, parse_request
from ullage.testing import make_request, make_tools

from .conftest import Managed
from .rig import Planner, Story, meter_of, words

every_dialect = pytest.mark.parametrize("dialect", DIALECTS)


def pictured(dialect: Dialect, size: int, *, in_result: bool = False) -> Story:
    """A picture of so many bytes from the user, or from a tool."""
    data = base64.b64encode(b"\x89PNG\r\n\x1a\n" + bytes(n % 251 for n in range(size))).decode()
    url = f"data:image/png;base64,{data}"
    picture: dict[Dialect, Any] = {
        "openai-chat": {"type": "image_url", "image_url": {"url": url}},
        "openai-responses": {"type": "input_image", "image_url": url},
        "anthropic": {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}},
        "gemini": {"inlineData": {"mimeType": "image/png", "data": data}},
    }
    story = Story(dialect)
    if not in_result:
        parts = "parts" if dialect == "gemini" else "content"
        story.add({"role": "user", parts: [picture[dialect]]})
        return story
    story.user("Look.")
    story.exchange("")
    holder = {"openai-chat": "content", "openai-responses": "output"}.get(dialect)
    if holder is not None:
        story.messages[-1][holder] = [picture[dialect]]
    elif dialect == "anthropic":
        story.messages[-1]["content"][0]["content"] = [picture[dialect]]
    else:
        story.messages[-1]["parts"][0]["functionResponse"]["parts"] = [picture[dialect]]
    return story


@every_dialect
@pytest.mark.parametrize("in_result", [False, True], ids=["from the user", "from a tool"])
def test_the_bytes_of_a_picture_are_no_text(dialect: Dialect, in_result: bool) -> None:
    """markusylisiurunen/tau#452: the bytes of pictures were divided by six and taken for tokens."""
    small, large = (Planner(pictured(dialect, size, in_result=in_result)).tokens for size in (3_000, 300_000))
    assert small == large < 6_000


@every_dialect
@pytest.mark.parametrize("in_result", [False, True], ids=["from the user", "from a tool"])
async def test_a_picture_is_never_free(dialect: Dialect, in_result: bool, managed: Managed) -> None:
    """earendil-works/pi#1441: pictures of the user cost nothing, so that a window overflowed unseen."""
    one = Planner(pictured(dialect, 3_000, in_result=in_result))
    assert one.facts.tokens[-1] > 80
    story = Story(dialect)
    for _ in range(30):
        story.messages += pictured(dialect, 3_000).messages
        story.assistant("I see.")
    story.user("And now?")
    async with managed(1_500) as gate:
        reply = await gate.send(story)
        assert (reply.status, reply.plan) == (200, "managed")
        assert len(reply.messages) < len(story.messages)


SCRIPTS = {
    "Chinese": "会话必须保留最近的请求和工具的结果，其余部分可以被省略。",
    "Japanese": "最新の依頼とツールの結果は必ず残し、古い会話は必要に応じて省きます。",
    "Korean": "가장 최근의 요청과 도구의 결과는 반드시 남기고 오래된 대화는 필요하면 뺍니다.",
}


@pytest.mark.parametrize("script", SCRIPTS)
@every_dialect
def test_other_scripts_count_as_their_tokenizer_counts_them(dialect: Dialect, script: str) -> None:
    """openclaw/openclaw#103930: a quarter token a character for Chinese, Japanese and Korean; what was kept was far too much."""
    text = (SCRIPTS[script] * 20)[:400]
    exact = load_vocabulary("o200k_base").count(text)
    story = Story(dialect)
    story.user(text)
    counted = Planner(story).facts.tokens[0]
    assert exact <= counted <= exact * 1.15
    assert counted > 1.5 * len(text) / 4


@every_dialect
async def test_tools_are_counted_and_told(dialect: Dialect, managed: Managed) -> None:
    """anthropics/claude-code#50061: schemas of tools were shown as nothing, while 100k of them hid elsewhere."""
    request = make_request(dialect, turns=["Hello."], tools=make_tools(40))
    conversation = parse_request(request.body, dialect, path_model="any-model")
    facts = read_facts(conversation, meter_of(dialect))
    assert facts.fixed_tokens > 40 * 10 > 10 * sum(facts.tokens)
    story = Story(dialect, tools=request.payload["tools"])
    story.user("Hello.")
    async with managed(20_000) as gate:
        record = await gate.record(await gate.send(story))
        assert record.plan is not None
        assert record.plan["fixed_tokens"] > 40 * 10
        assert record.breakdown is not None
        sections = {section["id"]: section["tokens"] for section in record.breakdown["sections"]}
        assert sections["tools"] > 40 * 10


@pytest.mark.parametrize("window", [4_096, 32_000, 200_000, 1_000_000])
@pytest.mark.parametrize("output", [None, 64, 8_000, 64_000])
def test_the_input_limit_leaves_room_for_the_answer_and_our_error(window: int, output: int | None) -> None:
    """cortexkit/magic-context#275: the room for the answer was never taken off, and engines that add both refused."""
    made = draw_budget(window=window, max_output=output, safety_margin=1_024, limits=Limits())
    assert made.nominal_hard + made.output_reserve + made.safety_margin <= window
    assert made.output_reserve >= min(output or 32_768, 32_768, window // 4)
    assert made.hard <= made.nominal_hard


@every_dialect
@pytest.mark.parametrize("asked", [1_000, 3_000])
async def test_what_may_be_answered_is_the_clients_to_say_and_ours_to_leave_room_for(
    dialect: Dialect, asked: int, managed: Managed
) -> None:
    """arbs-io/github-copilot-llm-gateway#74: a formula of its own made the answer 64 tokens long after 155 messages."""
    options: dict[Dialect, dict[str, Any]] = {
        "openai-chat": {"max_completion_tokens": asked},
        "openai-responses": {"max_output_tokens": asked},
        "anthropic": {"max_tokens": asked},
        "gemini": {"generationConfig": {"maxOutputTokens": asked}},
    }
    story = Story(dialect, **options[dialect])
    for _ in range(80):
        story.turn(words(40), words(40))
    story.user("And now?")
    async with managed(3_500) as gate:
        reply = await gate.send(story)
        record = await gate.record(reply)
    assert (reply.status, reply.plan) == (200, "managed")
    assert {key: reply.sent[key] for key in options[dialect]} == options[dialect]
    assert record.awareness is not None and record.plan is not None
    assert record.awareness["budget"]["output_reserve"] == asked
    assert record.plan["tokens"] + asked <= 5_000


@every_dialect
async def test_a_short_message_adds_what_it_weighs_to_the_last_usage(dialect: Dialect, managed: Managed) -> None:
    """openai/codex#45074: the count jumped by 230k with a short message, as usage and an estimate of the same were added."""
    story = Story(dialect)
    story.user(words(4_000))
    async with managed(50_000) as gate:
        first = await gate.record(await gate.send(story, x_ullage_session="s"))
        assert first.usage is not None
        prompt, output = first.usage["input_fresh"], first.usage["output"]
        story.assistant(words(20))
        story.user("Thanks.")
        second = await gate.send(story, x_ullage_session="s")
        told = await gate.record(second)
    assert told.usage is not None
    estimate = int(second.headers["x-ullage-input-estimate"])
    assert prompt < estimate < prompt + output + 60


@every_dialect
async def test_parts_are_the_whole(dialect: Dialect, managed: Managed) -> None:
    """anthropics/claude-code#23372: the figures of the categories did not add up to the total."""
    story = Story(dialect, tools=make_request(dialect, tools=make_tools(3)).payload["tools"])
    for _ in range(20):
        story.user(words(30))
        story.exchange(words(30), words(30))
        story.assistant(words(30))
    story.user("And now?")
    planner = Planner(story)
    for limit in planner.limits:
        made = planner.within(limit).plan
        assert sum(row.tokens for row in made.groups if row.selected) + made.fixed_tokens == made.tokens
        assert sum(row.tokens for row in made.groups) + made.fixed_tokens == planner.tokens
    async with managed(600) as gate:
        record = await gate.record(await gate.send(story))
    assert record.breakdown is not None and record.plan is not None
    sections = record.breakdown["sections"]
    assert sum(one["tokens"] for one in sections) + (record.breakdown["gap"] or 0) == record.breakdown["total"]
    included = sum(one["tokens"] for one in record.plan["included"])
    assert included + record.plan["fixed_tokens"] == record.plan["tokens"]


@every_dialect
@pytest.mark.parametrize("limit", [0, 1, 2])
def test_a_tiny_limit_is_not_overrun(dialect: Dialect, limit: int) -> None:
    """Ataraxy-Labs/sem#178: tiny budgets were overrun, as the target was always emitted."""
    story = Story(dialect)
    story.turn("Hello.", "Hello.")
    story.user("And now?")
    made = Planner(story).within(limit, live=False).plan
    assert (made.status, made.error) == ("refused", "mandatory_over_limit")
    assert made.kept == (2,)


@every_dialect
def test_the_limit_is_of_all_that_is_sent_and_the_plan_says_so(dialect: Dialect) -> None:
    """Aider-AI/aider#3493: a limit of history acted only on what was before the last edit."""
    story = Story(dialect)
    story.turn("Hello.", "Hello.")
    asked = story.user("Change it.")
    for _ in range(20):
        story.exchange(words(100))
    planner = Planner(story)
    made = planner.within(1_000)
    assert made.plan.limit == 1_000
    assert 800 < made.plan.tokens <= 1_000
    assert asked in made.kept
    assert made.plan.tokens == planner.size(*made.kept)


@every_dialect
def test_a_list_of_blocks_is_as_good_as_a_text(dialect: Dialect) -> None:
    """BerriAI/litellm#16567: messages with a list as their content came back untrimmed, after a type error that nobody saw."""
    plain, listed = Story(dialect), Story(dialect)
    for story in (plain, listed):
        for number in range(12):
            story.turn(f"{number} {words(30)}", words(30))
        story.user("And now?")
    kind = "input_text" if dialect == "openai-responses" else "text"
    for message in listed.messages:
        if isinstance(message.get("content"), str):
            message["content"] = [{"type": kind, "text": message["content"]}]
    left, right = Planner(plain), Planner(listed)
    for limit in left.limits:
        assert left.within(limit).plan.kept == right.within(limit).plan.kept
    assert left.facts == right.facts


ODD: list[Any] = [
    7,
    None,
    "text",
    [],
    {},
    {"role": 5},
    {"role": "user", "content": 5},
    {"role": "user", "content": [7, None]},
]


@every_dialect
@pytest.mark.parametrize("odd", ODD, ids=repr)
async def test_a_message_of_another_kind_is_planned_around_or_refused(
    dialect: Dialect, odd: Any, managed: Managed
) -> None:
    """BerriAI/litellm#3329: a message of another class switched trimming off; shortening could spin, too."""
    story = Story(dialect)
    for number in range(20):
        story.turn(f"{number} {words(30)}", words(30))
    story.messages.insert(10, odd)
    newest = story.user("And now?")
    planner = Planner(story)
    for limit in planner.limits[::8]:
        made = planner.within(limit)
        assert newest in made.kept
        assert made.plan.status == "fallback" or made.plan.tokens <= limit
    async with managed(400, strict=False) as gate:
        reply = await gate.send(story)
        assert reply.plan == "managed"
        assert reply.messages[-1] == story.messages[newest]


@pytest.mark.parametrize("messages", [7, None, {}, {"0": {"role": "user"}}], ids=repr)
@every_dialect
async def test_a_list_that_is_none_is_for_the_provider_to_judge(
    dialect: Dialect, messages: Any, managed: Managed
) -> None:
    """The same, for the list itself: nothing is made of it."""
    story = Story(dialect)
    story.messages = messages
    async with managed(400) as gate:
        reply = await gate.send(story)
        assert reply.plan == "unchanged"
        assert reply.raw == story.request().body
