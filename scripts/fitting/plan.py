"""Which constants are fitted, by group of families: what is free, where it starts, and within which bounds it may lie.

What the specification publishes (Claude's tool blocks, OpenAI's framing, tiles and patches of pictures) is not in here.
"""

from __future__ import annotations

from typing import NamedTuple


class Free(NamedTuple):
    """One constant to fit. `start` is what it is without evidence, `trust` how many typical misses of a request that is worth;
    `whole` says that it counts tokens and not a ratio."""

    start: float
    low: float
    high: float
    whole: bool = True
    trust: float = 0.3


Plan = dict[str, dict[str, Free]]


def tokens(start: int, high: int, low: int = 0, trust: float = 0.3) -> Free:
    return Free(start, low, high, trust=trust)


def ratio(start: float, low: float, high: float, trust: float = 0.3) -> Free:
    return Free(start, low, high, whole=False, trust=trust)


_FRAMES = {
    "framing.base": tokens(3, 400),
    "framing.system": tokens(2, 20),
    "framing.user": tokens(2, 20),
    "framing.assistant": tokens(2, 20),
}
_CALLS = {"framing.call": tokens(10, 60), "framing.result": tokens(8, 40)}
_JSON_TOOLS = {"tools.block": tokens(80, 1_000), "tools.ratio": ratio(1.0, 0.5, 2.0), "tools.each": tokens(5, 60)}
_SCHEMA = {"schema.block": tokens(0, 400), "schema.ratio": ratio(0.0, 0.0, 2.5)}
_DENSITIES = {"prose": ratio(1.03, 0.8, 1.4), "dense": ratio(1.05, 0.8, 1.6)}
_DECLARED = {"tools.block": tokens(12, 120), "tools.bare": tokens(0, 3, -3)}
_OPEN = {**_FRAMES, **_CALLS, **_JSON_TOOLS, **_SCHEMA}

PLAN: Plan = {
    "openai": {"schema.described": tokens(8, 30)},
    # OpenAI: text is published and exact; what stands around calls, tools and schemas is not.
    "gpt-4": {
        **_CALLS,
        "tools.block": tokens(16, 30),
        "tools.beside_system": tokens(-3, 0, -6),
        "tools.bare": tokens(0, 3, -3),
        "framing.parallel": tokens(6, 40),
    },
    "gpt-4o": {
        **_DECLARED,
        "tools.beside_system": tokens(-4, 0, -6),
        "framing.call": tokens(7, 20),
        "framing.result": tokens(7, 20),
        "framing.parallel": tokens(10, 40),
        "schema.block": tokens(-1, 20, -20),
        "sealed.ratio": ratio(0.1, 0.0, 0.3),
    },
    "gpt-4o-responses": {
        "tools.block": tokens(9, 120),
        "tools.beside_system": tokens(0, 4, -6),
        "framing.call": tokens(6, 20),
        "framing.result": tokens(7, 20),
        "framing.parallel": tokens(2, 40),
    },
    "gpt-5": {
        **_DECLARED,
        "tools.block": tokens(97, 120),
        "tools.block_inline": tokens(94, 120),
        "tools.grammar": tokens(30, 60),
        "framing.call": tokens(10, 30),
        "framing.result": tokens(10, 30),
        "framing.parallel": tokens(10, 40),
        "schema.block": tokens(-1, 20, -20),
        "sealed.ratio": ratio(0.1875, 0.05, 0.3),
        "sealed.base": tokens(-160, 50, -400),
    },
    "gpt-5-responses": {
        "schema.block": tokens(-1, 20, -20),
        "tools.block": tokens(15, 120),
        "tools.serial": tokens(78, 120),
    },
    "gpt-oss": {
        "framing.prefix": tokens(61, 200),
        "framing.system": tokens(8, 20),
        **_DECLARED,
        "framing.call": tokens(10, 30),
        "framing.result": tokens(10, 30),
        "schema.block": tokens(0, 200),
        "schema.ratio": ratio(0.0, 0.0, 2.0),
    },
    # Claude: the tool block is published.
    "claude": {
        "framing.system": tokens(0, 10),
        "framing.user": tokens(2, 10),
        "framing.assistant": tokens(2, 10),
        "framing.call": tokens(36, 80),
        "framing.result": tokens(12, 60),
        "tools.each": tokens(7, 60),
        "tools.serial": tokens(-200, 0, -300),
        "schema.block": tokens(105, 400),
        "schema.ratio": ratio(1.8, 0.5, 3.0),
        "sealed.base": tokens(0, 0, 0),
    },
    "claude-old": {
        "tools.ratio": ratio(1.285, 0.9, 1.7),
        "framing.thinking": tokens(28, 80),
        "framing.adaptive": tokens(0, 80),
    },
    "claude-databricks": {"schema.block": tokens(400, 600)},
    "claude-new": {
        "framing.base": tokens(5, 10),
        "framing.thinking": tokens(0, 80),
        "framing.adaptive": tokens(0, 80),
        "framing.task_budget": tokens(0, 80),
        "tools.ratio": ratio(1.6, 1.4, 1.9, trust=10),
        "tools.deferred": tokens(0, 300),
    },
    "claude-4.6": {"framing.thinking": tokens(17, 80), "framing.adaptive": tokens(17, 80)},
    "claude-opus-4.6": {"framing.adaptive": tokens(0, 80)},
    # Gemini: text is exact by Gemma's vocabulary.
    "gemini": {
        "framing.system": tokens(1, 4),
        "framing.user": tokens(1, 4),
        "framing.assistant": tokens(1, 4),
        "framing.call": tokens(1, 10),
        "framing.result": tokens(1, 10),
        "tools.block": tokens(0, 20),
        **_SCHEMA,
    },
    "gemini-3": {
        "framing.call": tokens(0, 10),
        "framing.result": tokens(0, 10),
        "tools.block": tokens(0, 20),
        "sealed.ratio": ratio(0.21, 0.0, 0.4),
        "sealed.base": tokens(-30, 30, -100),
        **_SCHEMA,
    },
    "gemini-2.0": {
        "framing.user": tokens(0, 4),
        "framing.call": tokens(1, 40),
        "framing.result": tokens(1, 40),
        "tools.each": tokens(0, 60),
        **_SCHEMA,
    },
    "gemini-vertex": {
        "framing.user": tokens(0, 4),
        "framing.call": tokens(1, 40),
        "framing.result": tokens(1, 40),
        "tools.each": tokens(0, 60),
        "sealed.ratio": ratio(0.2, 0.0, 0.4),
        "sealed.base": tokens(-20, 30, -100),
        **_SCHEMA,
    },
    "gemini-3-vertex": {"sealed.ratio": ratio(0.0, 0.0, 0.4), "sealed.base": tokens(0, 30, -100), **_SCHEMA},
    "gemma": {
        "framing.base": tokens(4, 20),
        "framing.user": tokens(5, 20),
        "framing.assistant": tokens(5, 20),
        **_SCHEMA,
    },
    # The others.
    "kimi": _OPEN,
    "glm": _OPEN,
    "grok": {**_OPEN, **_DENSITIES, "sealed.ratio": ratio(0.16, 0.0, 0.4), "sealed.base": tokens(0, 60, -100)},
    "grok-azure": {"framing.prefix": tokens(150, 300), "tools.block": tokens(80, 400), **_SCHEMA},
    "grok-4.3": {"framing.prefix": tokens(191, 300), "prose": ratio(0.99, 0.8, 1.2, trust=2)},
    "grok-4.5": {"framing.prefix": tokens(191, 300), "prose": ratio(1.02, 0.8, 1.2, trust=2)},
    "deepseek": _OPEN,
    "deepseek-r1": {"framing.base": tokens(3, 40), "framing.user": tokens(1, 20)},
    "qwen-3": {**_OPEN, "framing.no_system": tokens(0, 60)},
    "qwen-coder": {
        "tools.block": tokens(200, 1_000),
        "tools.each": tokens(30, 300),
        "tools.ratio": ratio(1.2, 0.5, 3.0),
    },
    "qwen-vl": {"framing.no_system": tokens(11, 60)},
    "mistral": _OPEN,
    "mistral-small": {"framing.prefix": tokens(12, 60, trust=30), "schema.block": tokens(-12, 100, -20)},
    "llama-3-huggingface": {"schema.block": tokens(100, 400), "schema.ratio": ratio(1.0, 0.0, 2.5)},
    "llama-3": {**_OPEN, "framing.base": tokens(30, 100)},
    "llama-3-distilled": _FRAMES,
    "llama-3-first": _FRAMES,
    "llama-4": {**_OPEN, "tools.block": tokens(500, 1_000)},
    "llama-4-groq": {"tools.block": tokens(600, 1_000), "tools.each": tokens(5, 60)},
    "llama-4-bedrock": {"tools.block": tokens(80, 1_000), "tools.each": tokens(5, 60)},
    "nova": {**_OPEN, **_DENSITIES, "tools.block": tokens(345, 1_000)},
    "nova-2": {
        **_OPEN,
        **_DENSITIES,
        "framing.base": tokens(46, 100),
        "framing.thinking": tokens(0, 100),
        "tools.block": tokens(845, 1_200),
    },
    "unknown": _OPEN,
}
