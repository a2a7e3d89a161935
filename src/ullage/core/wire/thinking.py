"""How much a model is to think, in the words of each dialect (routing specification, section 15)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from ullage.core.profiles.thinking import LEAST_BUDGET_TOKENS

from .jsontext import decode
from .options import REMOVED
from .output import CONFIGS, requested_output

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ullage.core.profiles.thinking import ThinkingLevel, ThinkingRule, Value

    from .conversation import Conversation, Dialect
    from .options import Path

_FORCED = frozenset({"any", "tool"})
_SEALED = "reasoning.encrypted_content"


class Thinking(NamedTuple):
    """Members to set or remove, by their paths, and whether the model thinks then."""

    options: Mapping[Path, Any]
    on: bool


def write_thinking(conversation: Conversation, rule: ThinkingRule | None, level: ThinkingLevel) -> Thinking:
    """What makes the model of this rule think at this level; `None` is a model that cannot think at all.

    Where the dialect does not allow it (a forced tool, a temperature, no room for a budget), it does not think. What the client
    asked for itself is replaced.
    """
    return _WRITERS[conversation.dialect](conversation, rule.value_of(level) if rule is not None else None)


def _member(conversation: Conversation, key: str) -> Any:
    raw = conversation.options.get(key)
    return decode(raw) if raw is not None else None


def _anthropic(conversation: Conversation, value: Value | None) -> Thinking:
    if value is None or not _may_think(conversation):
        return _without_thinking(conversation)
    if isinstance(value, str):
        adaptive: dict[Path, Any] = {
            ("thinking", "type"): "adaptive",
            ("thinking", "budget_tokens"): REMOVED,
            ("output_config", "effort"): value,
        }
        return Thinking(adaptive, on=True)
    room = _member(conversation, "max_tokens")
    budget = min(value, room - LEAST_BUDGET_TOKENS) if type(room) is int else value
    if budget < LEAST_BUDGET_TOKENS:
        return _without_thinking(conversation)
    options: dict[Path, Any] = {
        ("thinking", "type"): "enabled",
        ("thinking", "budget_tokens"): budget,
        ("output_config", "effort"): REMOVED,
    }
    return Thinking(options, on=True)


def _may_think(conversation: Conversation) -> bool:
    """Anthropic lets no model think that must call a tool, or whose sampling is changed."""
    choice = _member(conversation, "tool_choice")
    if isinstance(choice, dict) and choice.get("type") in _FORCED:
        return False
    return _member(conversation, "temperature") in (None, 1) and _member(conversation, "top_k") is None


def _without_thinking(conversation: Conversation) -> Thinking:
    """Left out is off. What clears earlier thinking may then not be asked for either."""
    options: dict[Path, Any] = {("thinking",): REMOVED, ("output_config", "effort"): REMOVED}
    management = _member(conversation, "context_management")
    edits = management.get("edits") if isinstance(management, dict) else None
    if isinstance(edits, list):
        kept = [edit for edit in edits if not _clears_thinking(edit)]
        if not kept:
            options["context_management",] = REMOVED
        elif len(kept) < len(edits):
            options["context_management", "edits"] = kept
    return Thinking(options, on=False)


def _clears_thinking(edit: Any) -> bool:
    return isinstance(edit, dict) and str(edit.get("type")).startswith("clear_thinking")


def _chat(_: Conversation, value: Value | None) -> Thinking:
    return Thinking({("reasoning_effort",): REMOVED if value is None else value}, on=value not in (None, "none"))


def _responses(conversation: Conversation, value: Value | None) -> Thinking:
    if value is not None:
        return Thinking({("reasoning", "effort"): value}, on=value != "none")
    options: dict[Path, Any] = {("reasoning",): REMOVED}
    include = _member(conversation, "include")
    if isinstance(include, list) and _SEALED in include:
        options["include",] = [one for one in include if one != _SEALED]
    return Thinking(options, on=False)


def _gemini(conversation: Conversation, value: Value | None) -> Thinking:
    holder = next((name for name in CONFIGS if name in conversation.options), CONFIGS[0])
    config = _member(conversation, holder)
    spelled = isinstance(config, dict) and "thinking_config" in config
    inner = "thinking_config" if spelled else "thinkingConfig"
    if value is None:
        return Thinking({(holder, inner): REMOVED}, on=False)
    names = ("thinking_level", "thinking_budget") if spelled else ("thinkingLevel", "thinkingBudget")
    told, other = names if isinstance(value, str) else names[::-1]
    if isinstance(value, int) and value and (room := requested_output(conversation)) is not None:
        value = max(min(value, room - LEAST_BUDGET_TOKENS), min(value, 128))
    return Thinking({(holder, inner, told): value, (holder, inner, other): REMOVED}, on=value != 0)


_WRITERS: Mapping[Dialect, Callable[[Conversation, Value | None], Thinking]] = {
    "anthropic": _anthropic,
    "openai-chat": _chat,
    "openai-responses": _responses,
    "gemini": _gemini,
}
