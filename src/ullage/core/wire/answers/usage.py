"""Usage as each dialect reports it, to disjoint parts (accounting specification, section 7).

Anthropic's three inputs lie side by side; OpenAI and Gemini count cached tokens inside the prompt. Providers and gateways report
nonsense now and then: what is no whole number from zero up counts as not reported, and no part ever falls below zero.
"""

from __future__ import annotations

from typing import Any

from ullage.core.content import Usage

# Beyond this a figure is no count of tokens (and no longer exact as a float, nor fit for a database column).
_LIMIT = 2**53


def count(value: Any) -> int | None:
    """A whole number from zero up, also as a float without fraction; anything else is not reported."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _LIMIT:
        return value
    return None


def anthropic_usage(payload: dict[str, Any]) -> Usage:
    """`input_tokens`, reads and writes are disjoint; `cache_creation` splits the writes by time to live."""
    parts = _dict(payload.get("cache_creation"))
    short, long = count(parts.get("ephemeral_5m_input_tokens")), count(parts.get("ephemeral_1h_input_tokens"))
    written = count(payload.get("cache_creation_input_tokens"))
    if written is None and (short is not None or long is not None):
        written = (short or 0) + (long or 0)
    details = _dict(payload.get("output_tokens_details"))
    return Usage(
        input_fresh=count(payload.get("input_tokens")),
        cache_read=count(payload.get("cache_read_input_tokens")),
        cache_write=written,
        cache_write_5m=short,
        cache_write_1h=long,
        output=count(payload.get("output_tokens")),
        reasoning=_first(details, "thinking_tokens", "reasoning_tokens"),
        raw=payload,
    )


def openai_usage(payload: dict[str, Any]) -> Usage:
    """Chat Completions, Responses and their kin: cached (and written) tokens are inside the prompt figure.

    DeepSeek's `prompt_cache_hit_tokens`, OpenRouter's `cache_write_tokens` and the Anthropic names that some gateways add are
    read as well. Two hosts break the rule in ways that the total gives away: a prompt without the cached tokens, and an output
    without the reasoning.
    """
    details = {
        **_dict(payload.get("input_tokens_details")),
        **_dict(payload.get("prompt_tokens_details")),
    }
    prompt = _first(payload, "prompt_tokens", "input_tokens")
    read = _first(details, "cached_tokens")
    if read is None:
        read = _first(payload, "prompt_cache_hit_tokens", "cached_tokens", "cache_read_input_tokens")
    written = _first(details, "cache_write_tokens", "cache_creation_tokens", "cache_creation_input_tokens")
    if written is None:
        written = _first(payload, "cache_creation_input_tokens")
    output, reasoning = _openai_output(payload, prompt)
    if _prompt_leaves_cache_out(payload, prompt, read, written, output):
        fresh = prompt
    else:
        fresh, read, written = _take_inside(prompt, read, written)
    return Usage(
        input_fresh=fresh,
        cache_read=read,
        cache_write=written,
        output=output,
        reasoning=reasoning,
        raw=payload,
    )


def gemini_usage(payload: dict[str, Any]) -> Usage:
    """`usageMetadata`: thoughts stand beside the candidates, tool use beside the prompt, the cache inside it."""
    names = {key.replace("_", "").lower(): value for key, value in payload.items()}
    prompt = _sum(count(names.get("prompttokencount")), count(names.get("tooluseprompttokencount")))
    thoughts = count(names.get("thoughtstokencount"))
    fresh, read, _ = _take_inside(prompt, count(names.get("cachedcontenttokencount")), None)
    return Usage(
        input_fresh=fresh,
        cache_read=read,
        output=_sum(count(names.get("candidatestokencount")), thoughts),
        reasoning=thoughts,
        raw=payload,
    )


def _openai_output(payload: dict[str, Any], prompt: int | None) -> tuple[int | None, int | None]:
    """Output with reasoning inside. xAI counts reasoning beside it: then only the three together make up the total."""
    details = {
        **_dict(payload.get("output_tokens_details")),
        **_dict(payload.get("completion_tokens_details")),
    }
    output = _first(payload, "completion_tokens", "output_tokens")
    reasoning = _first(details, "reasoning_tokens")
    total = count(payload.get("total_tokens"))
    if output is not None and reasoning and prompt is not None and total == prompt + output + reasoning:
        output += reasoning
    return output, reasoning


def _prompt_leaves_cache_out(
    payload: dict[str, Any], prompt: int | None, read: int | None, written: int | None, output: int | None
) -> bool:
    """Whether the total proves that cached tokens come on top of the prompt (faults specification, section 1: Portkey)."""
    cached = (read or 0) + (written or 0)
    if not cached or prompt is None:
        return False
    return count(payload.get("total_tokens")) == prompt + cached + (output or 0)


def _take_inside(
    prompt: int | None, read: int | None, written: int | None
) -> tuple[int | None, int | None, int | None]:
    """Fresh, read and written tokens of a prompt that contains all three; parts beyond it are cut to it."""
    if prompt is None:
        return None, read, written
    if read is not None:
        read = min(read, prompt)
    if written is not None:
        written = min(written, prompt - (read or 0))
    return prompt - (read or 0) - (written or 0), read, written


def _first(values: dict[str, Any], *keys: str) -> int | None:
    return next((found for key in keys if (found := count(values.get(key))) is not None), None)


def _sum(*numbers: int | None) -> int | None:
    known = [number for number in numbers if number is not None]
    return sum(known) if known else None


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
