"""How much a model is to think, in the words of each dialect (routing specification, section 15)."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec.structs import replace

from ullage.core.profiles.thinking import LEAST_BUDGET_TOKENS, THINKING_BUDGETS, level_of_budget, level_of_word

from .jsontext import decode
from .options import REMOVED
from .output import CONFIGS, OUTPUT_MEMBERS, requested_output

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ullage.core.profiles.thinking import ThinkingLevel, ThinkingRule, Value

    from .conversation import Conversation, Dialect
    from .options import Path

_FORCED = frozenset({"any", "tool"})
_SEALED = "reasoning.encrypted_content"
# Words that each protocol knows at all, as of summer 2026.
_OPENAI_WORDS = frozenset({"minimal", "low", "medium", "high", "xhigh"})
_GEMINI_WORDS = frozenset({"minimal", "low", "medium", "high"})
_ANTHROPIC_WORDS = frozenset({"low", "medium", "high", "xhigh", "max"})
# Hosts that speak OpenAI's protocol for models with budgets make a budget of a word; of these each knows three.
_LEAST_WORDS: Mapping[ThinkingLevel, Value] = {"minimal": "low", "low": "low", "medium": "medium"}
_MOST_WORD = "high"
_USUAL_LEVEL: ThinkingLevel = "medium"
_UNCHANGED: Mapping[Path, Any] = MappingProxyType({})


class Thinking(NamedTuple):
    """Members to set or remove, by their paths, and whether the model thinks then."""

    options: Mapping[Path, Any]
    on: bool


def write_thinking(
    conversation: Conversation,
    rule: ThinkingRule | None,
    level: ThinkingLevel,
    *,
    changed: Mapping[Path, Any] = _UNCHANGED,
) -> Thinking:
    """What makes the model of this rule think at this level; `None` is a model that cannot think at all.

    Where the dialect does not allow it (a forced tool, a temperature, no room for a budget), it does not think. What the client
    asked for itself is replaced. `changed` are members that are sent otherwise than they stand in the request, by their paths.
    """
    value = rule_in(rule, conversation.dialect).value_of(level) if rule is not None else None
    return _WRITERS[conversation.dialect](_Members(conversation, changed), value)


def find_misfit(
    conversation: Conversation, rule: ThinkingRule, *, changed: Mapping[Path, Any] = _UNCHANGED
) -> ThinkingLevel | None:
    """The level of thinking that the client asks for itself in words or numbers that the model of this rule does not take; `None`
    where it asks for none, or where it can be sent as it is."""
    members, spoken = _Members(conversation, changed), rule_in(rule, conversation.dialect)
    said = _SAID[conversation.dialect](members)
    if said is None:
        return None
    taken = {*spoken.levels.values(), *([spoken.off] if spoken.off is not None else [])}
    if isinstance(said, str):
        return None if said in taken or (said.lower() in taken) else level_of_word(said) or _USUAL_LEVEL
    room = members.room if conversation.dialect == "anthropic" else None
    fits = any(map(_is_budget, spoken.levels.values())) and (room is None or said < room)
    if fits and (said or spoken.off == 0):
        return None
    return level_of_budget(said) or _USUAL_LEVEL


def _is_budget(value: Value) -> bool:
    return isinstance(value, int)


def rule_in(rule: ThinkingRule, dialect: Dialect) -> ThinkingRule:
    """The rule in the words of a protocol: a model is told by the same words wherever it is, but a host that speaks another
    protocol than the model's maker knows its own protocol's words alone. Those that a registry lists for the host stay."""
    return _RULES[dialect](rule)


def _openai_rule(rule: ThinkingRule) -> ThinkingRule:
    if rule.listed:
        return rule
    levels = {
        level: _LEAST_WORDS.get(level, _MOST_WORD) if isinstance(value, int) else value
        for level, value in rule.levels.items()
        if isinstance(value, int) or value in _OPENAI_WORDS
    }
    return replace(rule, levels=levels, off="none" if rule.off is not None else None)


def _gemini_rule(rule: ThinkingRule) -> ThinkingRule:
    """Not to think is a budget of nothing, also where a level is a word."""
    if rule.listed:
        return rule
    levels = {level: value for level, value in rule.levels.items() if isinstance(value, int) or value in _GEMINI_WORDS}
    return replace(rule, levels=levels, off=0 if rule.off is not None else None)


def _anthropic_rule(rule: ThinkingRule) -> ThinkingRule:
    """Adaptive thinking is for models of Anthropic's own; others get a budget, of which hosts make what their models take. Not to
    think is to say nothing."""
    rule = replace(rule, off=None, omits=rule.omits or rule.off is not None)
    if rule.adaptive or (rule.listed and _ANTHROPIC_WORDS.issuperset(map(str, rule.levels.values()))):
        return rule
    levels = {
        level: max(value, LEAST_BUDGET_TOKENS) if isinstance(value, int) else THINKING_BUDGETS[level]
        for level, value in rule.levels.items()
    }
    return replace(rule, levels=levels)


_RULES: Mapping[Dialect, Callable[[ThinkingRule], ThinkingRule]] = {
    "anthropic": _anthropic_rule,
    "openai-chat": _openai_rule,
    "openai-responses": _openai_rule,
    "gemini": _gemini_rule,
}


class _Members(NamedTuple):
    """The members beside the messages as they are sent."""

    conversation: Conversation
    changed: Mapping[Path, Any]

    def find(self, key: str) -> Any:
        """The value at the top; `None` where there is none."""
        if (key,) in self.changed:
            value = self.changed[key,]
            return None if value is REMOVED else value
        raw = self.conversation.options.get(key)
        return decode(raw) if raw is not None else None

    @property
    def room(self) -> int | None:
        """The tokens that the answer may have at most."""
        asked = requested_output(self.conversation)
        capped = [value for path, value in self.changed.items() if path[-1] in OUTPUT_MEMBERS and type(value) is int]
        return min([*([asked] if asked is not None else []), *capped], default=None)


def _anthropic(members: _Members, value: Value | None) -> Thinking:
    if value is None or not _may_think(members):
        return _without_thinking(members)
    if isinstance(value, str):
        adaptive: dict[Path, Any] = {
            ("thinking", "type"): "adaptive",
            ("thinking", "budget_tokens"): REMOVED,
            ("output_config", "effort"): value,
        }
        return Thinking(adaptive, on=True)
    room = members.room
    budget = min(value, room - LEAST_BUDGET_TOKENS) if room is not None else value
    if budget < LEAST_BUDGET_TOKENS:
        return _without_thinking(members)
    options: dict[Path, Any] = {
        ("thinking", "type"): "enabled",
        ("thinking", "budget_tokens"): budget,
        ("output_config", "effort"): REMOVED,
    }
    return Thinking(options, on=True)


def _may_think(members: _Members) -> bool:
    """Anthropic lets no model think that must call a tool, or whose sampling is changed."""
    choice = members.find("tool_choice")
    if isinstance(choice, dict) and choice.get("type") in _FORCED:
        return False
    return members.find("temperature") in (None, 1) and members.find("top_k") is None


def _without_thinking(members: _Members) -> Thinking:
    """Left out is off. What clears earlier thinking may then not be asked for either."""
    options: dict[Path, Any] = {("thinking",): REMOVED, ("output_config", "effort"): REMOVED}
    management = members.find("context_management")
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


def _chat(_: _Members, value: Value | None) -> Thinking:
    return Thinking({("reasoning_effort",): REMOVED if value is None else value}, on=value not in (None, "none"))


def _responses(members: _Members, value: Value | None) -> Thinking:
    if value is not None:
        return Thinking({("reasoning", "effort"): value}, on=value != "none")
    options: dict[Path, Any] = {("reasoning",): REMOVED}
    include = members.find("include")
    if isinstance(include, list) and _SEALED in include:
        options["include",] = [one for one in include if one != _SEALED]
    return Thinking(options, on=False)


def _gemini(members: _Members, value: Value | None) -> Thinking:
    holder = next((name for name in CONFIGS if name in members.conversation.options), CONFIGS[0])
    config = members.find(holder)
    spelled = isinstance(config, dict) and "thinking_config" in config
    inner = "thinking_config" if spelled else "thinkingConfig"
    if value is None:
        return Thinking({(holder, inner): REMOVED}, on=False)
    names = ("thinking_level", "thinking_budget") if spelled else ("thinkingLevel", "thinkingBudget")
    told, other = names if isinstance(value, str) else names[::-1]
    if isinstance(value, int) and value and (room := members.room) is not None:
        value = max(min(value, room - LEAST_BUDGET_TOKENS), min(value, 128))
    return Thinking({(holder, inner, told): value, (holder, inner, other): REMOVED}, on=value != 0)


def _said_to_anthropic(members: _Members) -> Value | None:
    """Adaptive thinking without an effort is as much as the model's usual one; an effort may stand alone."""
    thinking, config = members.find("thinking"), members.find("output_config")
    asked = thinking if isinstance(thinking, dict) else {}
    effort = config.get("effort") if isinstance(config, dict) else None
    if asked.get("type") == "enabled":
        return _value(asked.get("budget_tokens"))
    if asked.get("type") == "adaptive":
        return _value(effort) or _USUAL_LEVEL
    return _value(effort)


def _said_to_responses(members: _Members) -> Value | None:
    reasoning = members.find("reasoning")
    return _value(reasoning.get("effort")) if isinstance(reasoning, dict) else None


def _said_to_gemini(members: _Members) -> Value | None:
    config = next((members.find(name) for name in CONFIGS if name in members.conversation.options), None)
    thinking = config.get("thinkingConfig", config.get("thinking_config")) if isinstance(config, dict) else None
    if not isinstance(thinking, dict):
        return None
    names = ("thinkingLevel", "thinking_level", "thinkingBudget", "thinking_budget")
    return next((_value(thinking[name]) for name in names if name in thinking), None)


def _value(said: Any) -> Value | None:
    return said if isinstance(said, str) or type(said) is int else None


_SAID: Mapping[Dialect, Callable[[_Members], Value | None]] = {
    "anthropic": _said_to_anthropic,
    "openai-chat": lambda members: _value(members.find("reasoning_effort")),
    "openai-responses": _said_to_responses,
    "gemini": _said_to_gemini,
}
_WRITERS: Mapping[Dialect, Callable[[_Members, Value | None], Thinking]] = {
    "anthropic": _anthropic,
    "openai-chat": _chat,
    "openai-responses": _responses,
    "gemini": _gemini,
}
