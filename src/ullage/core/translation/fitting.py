"""A request that stays in its dialect, made fit for a model that its client did not know of: what that model would refuse."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ullage.core.wire.jsontext import decode
from ullage.core.wire.options import REMOVED
from ullage.core.wire.output import CONFIGS, cap_output

from .hosts import find_host
from .losses import Losses, refuse
from .models import has_fixed_sampling, is_openai, is_openai_reasoning, takes_parallel_tools
from .tellings import tell_fixed_sampling, tell_penalties, tell_shortened

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ullage.core.wire import Conversation
    from ullage.core.wire.options import Path

    from .losses import Loss
    from .target import Target

_OLD_LIMIT, _NEW_LIMIT = "max_tokens", "max_completion_tokens"
_SEED, _PARALLEL, _CACHE_KEY = "seed", "parallel_tool_calls", "prompt_cache_key"
_SAMPLING = ("temperature", "top_p", "top_k")
_INNER_SAMPLING = ("temperature", "topP", "top_p", "topK", "top_k")
_PENALTIES = ("frequency_penalty", "presence_penalty", "logit_bias")
_DEFAULT = 1
"""Of temperature and top_p: every model takes what it does anyway."""


def fit_members(conversation: Conversation, target: Target) -> tuple[dict[Path, Any], Sequence[Loss]]:
    """The members beside the messages that are to be set or to go, and what the model is told otherwise by that.

    Raises `TranslationRefused` where the request would mean something else without what the model does not take.
    """
    losses = Losses()
    options: dict[Path, Any] = dict(cap_output(conversation, target.max_output_tokens))
    if options:
        tell_shortened(losses, target.max_output_tokens or 0)
    if conversation.dialect == "openai-chat":
        _fit_chat(conversation, target, options, losses)
    if has_fixed_sampling(target.model):
        gone = [path for path in _sampling_paths(conversation) if _value(conversation, path) not in (None, _DEFAULT)]
        if gone:
            tell_fixed_sampling(losses)
        options |= dict.fromkeys(gone, REMOVED)
    return options, losses.found()


def _fit_chat(conversation: Conversation, target: Target, options: dict[Path, Any], losses: Losses) -> None:
    """Who reasons at OpenAI takes its limit by the new name alone; hosts of others know the old one alone, many of them."""
    reasons = is_openai_reasoning(target.model)
    if reasons:
        if _value(conversation, ("stop",)):
            raise refuse("stop", f"{target.model} takes no stop sequences.")
        if _value(conversation, ("logprobs",)):
            raise refuse("logprobs", f"{target.model} gives no probabilities.")
        gone = [name for name in _PENALTIES if name in conversation.options]
        if any(_value(conversation, (name,)) for name in gone):
            tell_penalties(losses)
        options |= {(name,): REMOVED for name in gone}
    host = find_host(target.provider)
    refused = {"stream_options": host.usage_options, _CACHE_KEY: host.cache_key}
    options |= {(name,): REMOVED for name, taken in refused.items() if not taken and name in conversation.options}
    if host.seed != _SEED:
        _rename(conversation, options, _SEED, host.seed)
    if not takes_parallel_tools(target.model) and _PARALLEL in conversation.options:
        options[_PARALLEL,] = REMOVED
    if reasons:
        _rename(conversation, options, _OLD_LIMIT, _NEW_LIMIT)
    elif not is_openai(target.model):
        _rename(conversation, options, _NEW_LIMIT, _OLD_LIMIT)


def _rename(conversation: Conversation, options: dict[Path, Any], old: str, new: str) -> None:
    if old not in conversation.options:
        return
    said = options.get((old,), _value(conversation, (old,)))
    options[old,] = REMOVED
    if new not in conversation.options and said is not None:
        options[new,] = said


def _sampling_paths(conversation: Conversation) -> list[Path]:
    if conversation.dialect == "gemini":
        holders = [name for name in CONFIGS if name in conversation.options]
        return [(holder, name) for holder in holders for name in _INNER_SAMPLING]
    return [(name,) for name in _SAMPLING]


def _value(conversation: Conversation, path: Path) -> Any:
    raw = conversation.options.get(path[0])
    value = decode(raw) if raw is not None else None
    for name in path[1:]:
        value = value.get(name) if isinstance(value, dict) else None
    return value
