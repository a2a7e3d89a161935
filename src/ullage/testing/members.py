"""What real providers refuse beside the conversation: thinking in words that their protocol or the model does not know, and
members that the model does not take.

From the providers' manuals as of summer 2026, in our own words. Like `strict`, this uses nothing of what writes requests.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from .prompt import as_dict

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from ullage.core.wire import Dialect

_OPENAI_EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh")
_ANTHROPIC_EFFORTS = ("low", "medium", "high", "xhigh", "max")
_GEMINI_LEVELS = ("minimal", "low", "medium", "high")
_LEAST_BUDGET, _MOST_BUDGET = 1_024, 32_768
_UNLIMITED = -1
# OpenAI's models that reason, with or without their maker before them.
_REASONING = re.compile(r"(?:^|/)(?:o[1-9]|gpt-5(?!.*chat))")
_NOT_REASONED = ("max_tokens", "stop", "presence_penalty", "frequency_penalty", "logit_bias", "logprobs")
# Claude up to 4.5 knows no adaptive thinking, from Opus 4.7 on no budgets; the latter take no sampling either.
_BUDGETED = re.compile(r"claude-(?:3|(?:haiku|sonnet|opus)-4(?:[-.][0-5])?(?:-\d{8})?$)")
_ADAPTIVE = re.compile(r"claude-(?:opus-4[-.][7-9]|[a-z]+-[5-9])")
_SAMPLING = ("temperature", "top_p", "top_k")
_CONFIGS = ("generationConfig", "generation_config")


def find_bad_member(dialect: Dialect, payload: dict[str, Any], model: str) -> str | None:
    """Why the provider of a dialect would refuse the members of a decoded request for a model; `None` if it takes them."""
    return next(_CHECKS[dialect](payload, model.lower()), None)


def _effort(where: str, effort: Any, words: tuple[str, ...]) -> Iterator[str]:
    if effort is not None and effort not in words:
        yield f"{where}: {effort!r} is none of {', '.join(words)}."


def _chat(payload: dict[str, Any], model: str) -> Iterator[str]:
    yield from _effort("reasoning_effort", payload.get("reasoning_effort"), _OPENAI_EFFORTS)
    if _REASONING.search(model):
        for name in _NOT_REASONED:
            if payload.get(name):
                yield f"{name}: not supported with this model."
        yield from _usual_sampling(payload)


def _responses(payload: dict[str, Any], model: str) -> Iterator[str]:
    yield from _effort("reasoning.effort", as_dict(payload.get("reasoning")).get("effort"), _OPENAI_EFFORTS)
    if _REASONING.search(model):
        yield from _usual_sampling(payload)


def _usual_sampling(payload: dict[str, Any]) -> Iterator[str]:
    for name in ("temperature", "top_p"):
        if payload.get(name, 1) not in (1, None):
            yield f"{name}: only the default (1) is supported with this model."


def _anthropic(payload: dict[str, Any], model: str) -> Iterator[str]:
    yield from _effort("output_config.effort", as_dict(payload.get("output_config")).get("effort"), _ANTHROPIC_EFFORTS)
    thinking = as_dict(payload.get("thinking"))
    kind = thinking.get("type")
    if kind == "enabled":
        yield from _budget(thinking.get("budget_tokens"), payload.get("max_tokens"))
        if _ADAPTIVE.search(model):
            yield "thinking.type: this model takes adaptive thinking only."
    elif kind == "adaptive":
        if "budget_tokens" in thinking:
            yield "thinking.budget_tokens: adaptive thinking has no budget."
        if "claude" not in model or _BUDGETED.search(model):
            yield "thinking.type: this model knows no adaptive thinking."
    elif thinking and kind != "disabled":
        yield f"thinking.type: {kind!r} is none of enabled, adaptive, disabled."
    if _ADAPTIVE.search(model):
        for name in _SAMPLING:
            if payload.get(name, 1) not in (1, None):
                yield f"{name}: not supported with this model."


def _budget(budget: Any, most: Any) -> Iterator[str]:
    if type(budget) is not int or budget < _LEAST_BUDGET:
        yield f"thinking.budget_tokens: {budget!r} is no number of at least {_LEAST_BUDGET}."
    elif type(most) is int and budget >= most:
        yield "thinking.budget_tokens: it must be less than max_tokens."


def _gemini(payload: dict[str, Any], model: str) -> Iterator[str]:
    config = as_dict(next((payload[name] for name in _CONFIGS if name in payload), None))
    thinking = as_dict(config.get("thinkingConfig", config.get("thinking_config")))
    level = thinking.get("thinkingLevel", thinking.get("thinking_level"))
    budget = thinking.get("thinkingBudget", thinking.get("thinking_budget"))
    yield from _effort("thinkingLevel", level.lower() if isinstance(level, str) else level, _GEMINI_LEVELS)
    if budget is not None and (type(budget) is not int or not _UNLIMITED <= budget <= _MOST_BUDGET):
        yield f"thinkingBudget: {budget!r} is no number of {_UNLIMITED} to {_MOST_BUDGET}."
    if level is not None and budget is not None:
        yield "thinkingConfig: a level and a budget cannot be set both."
    if level is not None and "gemini-2" in model:
        yield "thinkingLevel: not supported with this model."
    if budget == 0 and ("gemini-2.5-pro" in model or "gemini-3" in model):
        yield "thinkingBudget: this model cannot be kept from thinking."


_CHECKS: Mapping[Dialect, Callable[[dict[str, Any], str], Iterator[str]]] = {
    "openai-chat": _chat,
    "openai-responses": _responses,
    "anthropic": _anthropic,
    "gemini": _gemini,
}
