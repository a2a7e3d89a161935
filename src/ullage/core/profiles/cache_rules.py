"""How each provider caches prompts, as rows: what it holds, from which length on, for how long, at what price.

Facts are from the vendors' pages on prompt caching as they stood in autumn 2026, and from recorded sessions where those are
silent; each row says which. A row states what can be relied upon: a cache may hold more, or longer, than is said here.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from .rows.patterns import END, START

CacheKind = Literal["marks", "automatic"]
"""`marks`: only what the client marks is held. `automatic`: every prompt is, without being asked."""

Reach = Literal["anywhere", "request_end"]
"""Where a prefix that is held automatically may end: `anywhere` (in steps of a block), or only where an earlier request ended."""

_MINUTE_MS = 60_000
_HOUR_MS = 60 * _MINUTE_MS


class CacheRule(Struct, frozen=True, kw_only=True):
    """How one provider caches the prompts of one family of models. Tokens are the provider's, times milliseconds.

    `who` is searched in `provider/model`, `model` in the model id, `provider` in the provider, all lower case; those given must
    all match. The first row that fits wins.

    A prefix shorter than `minimum_tokens` is not cached; a longer one is read in steps of `block_tokens`. `ttl_ms` is how long
    an unused prefix is held at least as a rule, `long_ttl_ms` how long where the request asks for the longer time.
    A request may carry `marks` marks, and each finds what was held up to `look_back_blocks` content blocks before it.
    `tools_first` says that tools are known to be read before the system prompt; where it is not known, a change of either is
    taken to touch both. `passed_over` begins system blocks that the provider takes out of the prompt. `message_options` are
    options of a request whose change makes the held messages useless, but not what stands before them.
    `read_ratio` and `write_ratio` (`long_write_ratio`) are prices as parts of the input price, for want of a price list.
    `sure` is false where it is not known that the provider caches at all.
    """

    id: str
    kind: CacheKind
    source: str
    who: str | None = None
    model: str | None = None
    provider: str | None = None
    minimum_tokens: int
    block_tokens: int = 1
    ttl_ms: int
    long_ttl_ms: int | None = None
    reach: Reach = "anywhere"
    marks: int = 0
    look_back_blocks: int = 0
    tools_first: bool = False
    passed_over: bytes | None = None
    message_options: tuple[str, ...] = ()
    read_ratio: float | None = None
    write_ratio: float = 1.0
    long_write_ratio: float | None = None
    sure: bool = True

    def lifetime_ms(self, *, long: bool) -> int:
        """How long a prefix is held without use."""
        return self.long_ttl_ms if long and self.long_ttl_ms is not None else self.ttl_ms


# Anthropic's page: tools, then system, then messages; marks find entries among the 20 blocks that end with their own; a change of
# the tool choice or of thinking makes the messages' entries useless. The block of Claude Code that tells what is to be billed
# differs from request to request, and recorded sessions are read from cache all the same.
_CLAUDE = CacheRule(
    id="claude",
    kind="marks",
    source="Anthropic's page on prompt caching; the longest minimum it names, for models that it does not",
    who=r"claude|anthropic",
    minimum_tokens=4_096,
    ttl_ms=5 * _MINUTE_MS,
    long_ttl_ms=_HOUR_MS,
    marks=4,
    look_back_blocks=20,
    tools_first=True,
    passed_over=b"x-anthropic-billing-header",
    message_options=("thinking", "tool_choice"),
    read_ratio=0.1,
    write_ratio=1.25,
    long_write_ratio=2.0,
)


def _claude(name: str, model: str, minimum: int, *, provider: str | None = None) -> CacheRule:
    source = "Anthropic's page on prompt caching, table of minimum lengths"
    return replace(_CLAUDE, id=f"claude-{name}", model=model, provider=provider, minimum_tokens=minimum, source=source)


_OPENAI = CacheRule(
    id="openai",
    kind="automatic",
    source="OpenAI's page on prompt caching: from 1,024 tokens on, in steps of 128, 5 to 10 minutes without use",
    who=rf"^(?!.*gpt-oss).*(?:openai|{START}(?:gpt|o[1-9]|chatgpt|codex))",
    minimum_tokens=1_024,
    block_tokens=128,
    ttl_ms=10 * _MINUTE_MS,
    long_ttl_ms=24 * _HOUR_MS,
    read_ratio=0.1,
)
_DEFAULT_TTL_MS = 5 * _MINUTE_MS  # routing specification, section 12.3

CACHE_RULES: tuple[CacheRule, ...] = (
    _claude("opus-4.7-bedrock", rf"opus-4[-.]7{END}", 4_096, provider=r"bedrock|amazonaws"),
    _claude("opus-4.7", rf"opus-4[-.]7{END}|haiku-3|3[-.]5-haiku|3-haiku", 2_048),
    _claude("4.5", rf"opus-4[-.][56]{END}|haiku-4[-.]5{END}|mythos-preview", 4_096),
    _claude("4", rf"opus-4(?:[-.][018])?{END}|sonnet-[45]|opus-4-\d{{8}}|3[-.]?[57]?-(?:sonnet|opus)", 1_024),
    _claude("5", r"(?:opus|fable|mythos)-[5-9]", 512),
    _CLAUDE,
    replace(
        _OPENAI,
        id="openai-5.6",
        model=rf"{START}gpt-(?:5\.[6-9]|[6-9])",
        ttl_ms=30 * _MINUTE_MS,
        long_ttl_ms=None,
        reach="request_end",
        write_ratio=1.25,
        source="OpenAI's page on prompt caching, GPT-5.6 and later: held for 30 minutes at least, found where a request ended",
    ),
    replace(
        _OPENAI,
        id="openai-5.5",
        model=rf"{START}gpt-5\.5",
        ttl_ms=24 * _HOUR_MS,
        source="OpenAI's page on prompt caching: GPT-5.5 holds for 24 hours, whatever is asked",
    ),
    replace(
        _OPENAI,
        id="openai-4o",
        model=rf"{START}(?:gpt-4o|o[1-9]|chatgpt)",
        long_ttl_ms=None,
        read_ratio=0.5,
    ),
    _OPENAI,
    CacheRule(
        id="gemini-2.5",
        kind="automatic",
        source="Gemini's page on context caching: implicit from 2,048 tokens on; its time is not told",
        who=r"gemini-2[-.]5",
        minimum_tokens=2_048,
        ttl_ms=_DEFAULT_TTL_MS,
        read_ratio=0.1,
    ),
    CacheRule(
        id="gemini",
        kind="automatic",
        source="Gemini's page on context caching: implicit from 4,096 tokens on; its time is not told",
        who=r"gemini",
        minimum_tokens=4_096,
        ttl_ms=_DEFAULT_TTL_MS,
        read_ratio=0.1,
    ),
    CacheRule(
        id="deepseek",
        kind="automatic",
        source="DeepSeek's page on context caching: units of 64 tokens, found where a request ended, cleared within hours",
        provider=r"deepseek",
        minimum_tokens=64,
        block_tokens=64,
        ttl_ms=_HOUR_MS,
        reach="request_end",
        read_ratio=0.1,
    ),
    CacheRule(
        id="glm",
        kind="automatic",
        source=(
            "Z.AI's page on context caching; recorded sessions for the rest: whole steps of 64 tokens, all read after up to half "
            "an hour, none after more"
        ),
        who=r"glm-|z\.?ai\b|bigmodel",
        minimum_tokens=1_024,
        block_tokens=64,
        ttl_ms=30 * _MINUTE_MS,
        read_ratio=0.2,
    ),
    CacheRule(
        id="grok",
        kind="automatic",
        source="xAI's page on prompt caching, which promises no time; steps of 128 tokens as measured by a reseller",
        who=rf"{START}grok-|x\.?ai\b",
        minimum_tokens=1_024,
        block_tokens=128,
        ttl_ms=_DEFAULT_TTL_MS,
        read_ratio=0.25,
    ),
    CacheRule(
        id="groq",
        kind="automatic",
        source="Groq's page on prompt caching: two hours without use; 1,024 tokens are enough for every model",
        provider=r"groq",
        minimum_tokens=1_024,
        block_tokens=128,
        ttl_ms=2 * _HOUR_MS,
        read_ratio=0.5,
    ),
    CacheRule(
        id="qwen",
        kind="automatic",
        source="Alibaba's page on context cache: implicit from 256 tokens on, hits not promised",
        provider=r"aliyuncs|alibaba|dashscope",
        minimum_tokens=256,
        ttl_ms=_DEFAULT_TTL_MS,
        read_ratio=0.2,
    ),
    CacheRule(
        id="kimi",
        kind="automatic",
        source="Moonshot's price list, which has a price for cached tokens; length and time are guesses on the careful side",
        who=r"kimi|moonshot",
        minimum_tokens=1_024,
        block_tokens=256,
        ttl_ms=_DEFAULT_TTL_MS,
        read_ratio=0.25,
    ),
)
"""All rows in the order in which they are tried."""

UNKNOWN_CACHE = CacheRule(
    id="unknown",
    kind="automatic",
    source="nothing known: nothing is expected until the provider reports a cached token",
    minimum_tokens=1_024,
    block_tokens=128,
    ttl_ms=_DEFAULT_TTL_MS,
    reach="request_end",
    sure=False,
)
"""Used where no row fits."""


@lru_cache(maxsize=1024)
def find_cache_rule(provider: str | None, model: str | None) -> CacheRule:
    """The first row that fits, else `UNKNOWN_CACHE`. Names are compared in lower case.

    A reseller (OpenRouter, Bedrock, Vertex) passes on the caching of the model's own vendor, so the model decides where a row
    does not name the provider.
    """
    provider, model = (provider or "").lower(), (model or "").lower()
    return next((rule for rule in CACHE_RULES if _fits(rule, provider, model)), UNKNOWN_CACHE)


def _fits(rule: CacheRule, provider: str, model: str) -> bool:
    wanted = ((rule.who, f"{provider}/{model}"), (rule.model, model), (rule.provider, provider))
    return all(pattern is None or re.search(pattern, subject) for pattern, subject in wanted)
