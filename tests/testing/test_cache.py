"""Cache reads and writes follow from the prefixes really seen."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from ullage.core.content import Usage
from ullage.testing import BuiltRequest, make_prose, make_request, make_tools
from ullage.testing.cache import POLICIES, CachePolicy, PromptCache
from ullage.testing.dialects import DIALECT_MODULES

if TYPE_CHECKING:
    from ullage.testing.prompt import Prompt

LONG = make_prose(20_000)
AUTOMATIC = ("openai-chat", "openai-responses", "gemini")


class Clock:
    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


def read(request: BuiltRequest) -> Prompt:
    return DIALECT_MODULES[request.dialect].read(request.payload, "fake-large", None)


def anthropic(*blocks: tuple[str, str | None], **fields: Any) -> Prompt:
    """A request of one user message whose blocks carry the given marks."""
    content: list[dict[str, Any]] = []
    for text, ttl in blocks:
        control = {"cache_control": {"type": "ephemeral", "ttl": ttl}} if ttl else {}
        content.append({"type": "text", "text": text, **control})
    payload = {"model": "m", "messages": [{"role": "user", "content": content}], **fields}
    return DIALECT_MODULES["anthropic"].read(payload, None, None)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def cache(clock: Clock) -> PromptCache:
    return PromptCache(clock)


@pytest.mark.parametrize("dialect", AUTOMATIC)
def test_automatic_caching_reads_the_longest_known_prefix_on_a_step(cache: PromptCache, dialect: Any) -> None:
    first, second = (
        read(make_request(dialect, system=LONG, turns=turns)) for turns in (("One?",), ("One?", "One.", "Two?"))
    )
    step = POLICIES[first.dialect].step_tokens
    assert step is not None
    assert cache.use(first).cache_read == 0
    usage = cache.use(second)
    assert usage.cache_read == first.tokens // step * step
    assert usage.prompt == second.tokens


@pytest.mark.parametrize("dialect", AUTOMATIC)
def test_a_short_prompt_is_never_cached(cache: PromptCache, dialect: Any) -> None:
    prompt = read(make_request(dialect, system=make_prose(3_900)))
    assert [cache.use(prompt).cache_read for _ in range(2)] == [0, 0]


def test_a_change_in_the_middle_ends_the_prefix_there(cache: PromptCache) -> None:
    cache.use(read(make_request("openai-chat", system=LONG)))
    changed = LONG[:8_000] + "#" + LONG[8_001:]
    read_tokens = cache.use(read(make_request("openai-chat", system=changed))).cache_read
    assert read_tokens is not None
    assert 1_792 <= read_tokens <= 2_000


def test_an_automatic_prefix_is_forgotten_after_its_life_and_kept_by_use(cache: PromptCache, clock: Clock) -> None:
    prompt = read(make_request("openai-chat", system=LONG))
    cache.use(prompt)
    clock.now += 599
    assert cache.use(prompt).cache_read
    clock.now += 599
    assert cache.use(prompt).cache_read
    clock.now += 601
    assert cache.use(prompt).cache_read == 0


def test_each_model_has_a_cache_of_its_own(cache: PromptCache) -> None:
    cache.use(read(make_request("openai-chat", system=LONG)))
    assert cache.use(read(make_request("openai-chat", system=LONG, model="other"))).cache_read == 0


def test_tools_stand_before_system_and_messages(cache: PromptCache) -> None:
    tools = make_tools(40)
    cache.use(read(make_request("openai-chat", system=LONG, tools=tools)))
    moved = (tools[1], tools[0], *tools[2:])
    assert cache.use(read(make_request("openai-chat", system=LONG, tools=moved))).cache_read == 0


def test_nothing_is_cached_without_a_mark(cache: PromptCache) -> None:
    usages = [cache.use(anthropic((LONG, None))) for _ in range(2)]
    assert [(usage.cache_read, usage.cache_write) for usage in usages] == [(0, 0), (0, 0)]


def test_a_mark_is_written_once_then_read(cache: PromptCache) -> None:
    prompt = anthropic((LONG, "5m"), ("Question?", None))
    first, second = cache.use(prompt), cache.use(prompt)
    assert (first.cache_read, second.cache_write) == (0, 0)
    assert first.cache_write == first.cache_write_5m == second.cache_read
    assert first.input_fresh == second.input_fresh
    assert first.prompt == second.prompt == prompt.tokens


def test_a_growing_conversation_reads_what_was_marked_and_writes_the_rest(cache: PromptCache) -> None:
    first = cache.use(anthropic((LONG, None), ("One?", "5m")))
    second = cache.use(anthropic((LONG, None), ("One?", None), ("One. " * 50, None), ("Two?", "5m")))
    assert second.cache_read == first.cache_write
    assert second.cache_write
    assert second.input_fresh == 0


def test_a_prefix_below_the_minimum_is_not_cached(cache: PromptCache) -> None:
    prompt = anthropic((make_prose(4_000), "5m"))
    assert prompt.tokens < 1_024
    assert [cache.use(prompt).cache_write for _ in range(2)] == [0, 0]


def test_an_hour_mark_and_a_five_minute_mark_are_booked_apart(cache: PromptCache) -> None:
    prompt = anthropic((LONG, "1h"), (LONG, "5m"))
    usage = cache.use(prompt)
    assert usage.cache_write_1h is not None
    assert usage.cache_write_5m is not None
    assert abs(usage.cache_write_1h - usage.cache_write_5m) <= 2
    assert usage.cache_write == usage.cache_write_1h + usage.cache_write_5m == prompt.tokens


def test_a_five_minute_prefix_is_gone_when_the_hour_prefix_still_stands(cache: PromptCache, clock: Clock) -> None:
    prompt = anthropic((LONG, "1h"), (LONG, "5m"))
    first = cache.use(prompt)
    clock.now += 301
    second = cache.use(prompt)
    assert second.cache_read == first.cache_write_1h
    assert (second.cache_write_1h, second.cache_write_5m) == (0, first.cache_write_5m)


def test_reading_a_prefix_lengthens_its_life(cache: PromptCache, clock: Clock) -> None:
    prompt = anthropic((LONG, "5m"))
    cache.use(prompt)
    for _ in range(3):
        clock.now += 299
        assert cache.use(prompt).cache_read


@pytest.mark.parametrize(("between", "is_read"), [(18, True), (19, False)])
def test_a_mark_looks_back_twenty_blocks(cache: PromptCache, between: int, is_read: bool) -> None:
    cache.use(anthropic((LONG, "5m")))
    usage = cache.use(anthropic((LONG, None), *[("more", None)] * between, ("end", "5m")))
    assert bool(usage.cache_read) is is_read


def test_moved_marks_and_text_as_string_or_block_make_no_other_prefix(cache: PromptCache) -> None:
    control = {"cache_control": {"type": "ephemeral"}}
    as_block = {"role": "user", "content": [{"type": "text", "text": LONG, **control}]}
    as_text = {"role": "user", "content": LONG}
    answer = {"role": "assistant", "content": "Yes."}
    again = {"role": "user", "content": [{"type": "text", "text": "And?", **control}]}
    for messages in ([as_block], [as_text, answer, again]):
        usage = cache.use(DIALECT_MODULES["anthropic"].read({"model": "m", "messages": messages}, None, None))
    assert usage.cache_read


def test_a_mark_on_the_whole_request_marks_its_last_block(cache: PromptCache) -> None:
    usages = [cache.use(anthropic((LONG, None), cache_control={"type": "ephemeral"})) for _ in range(2)]
    assert usages[0].cache_write == usages[1].cache_read


def test_policies_can_be_replaced(clock: Clock) -> None:
    cache = PromptCache(clock, {**POLICIES, "anthropic": CachePolicy(minimum_tokens=10)})
    prompt = anthropic((make_prose(100), "5m"))
    assert cache.use(prompt) == Usage(
        input_fresh=0, cache_read=0, cache_write=prompt.tokens, cache_write_5m=prompt.tokens, cache_write_1h=0
    )
