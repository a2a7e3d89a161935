"""A request as the chosen target gets it: its model's name, its level of thinking, no pins, no thinking of another model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from ullage.core.profiles.thinking import find_thinking_rule, rule_of_levels
from ullage.core.translation import Target, fit_members
from ullage.core.wire import render
from ullage.core.wire.foreign import without_thinking
from ullage.core.wire.identity import without_identity
from ullage.core.wire.thinking import find_misfit, write_thinking

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ullage.core.planning import SliceFacts
    from ullage.core.profiles.thinking import ThinkingRule
    from ullage.core.routing.models import ModelRecord
    from ullage.core.routing.thinking import Level
    from ullage.core.translation import Loss
    from ullage.core.wire import Conversation, Dialect
    from ullage.core.wire.options import Path

    from .measuring import Measuring


class Written(NamedTuple):
    """A body for a target. `thinking` is the level that the model was asked to think at, empty where it was asked nothing;
    `losses` are what it is told otherwise than the client has said, since it does not take that."""

    body: bytes
    thinking: str = ""
    losses: Sequence[Loss] = ()


class RouteSending:
    """Writes requests. Used by one thread only."""

    def __init__(self, measuring: Measuring) -> None:
        self._measuring = measuring

    def write(
        self,
        conversation: Conversation,
        facts: Sequence[SliceFacts],
        model: ModelRecord,
        level: Level | None,
        *,
        is_foreign: Callable[[int], bool],
        stranger: str | None = None,
    ) -> Written:
        """The body for a model; where no level is given, it thinks as the client asks for itself.

        `is_foreign` says of a message of a model, by its number, whether another target wrote it. `stranger` is the provider,
        where that is not the client's own: it is not told who the client is. Raises `TranslationRefused`.
        """
        kept, replaced = self._without_foreign_thinking(conversation, facts, is_foreign)
        options, told, losses = _options(conversation, facts, model, level, is_foreign)
        if stranger is not None:
            options |= without_identity(conversation, stranger)
        body = render(conversation, messages=kept, replaced=replaced, model=model.id, options=options)
        return Written(body, told, losses)

    def write_plain(
        self,
        conversation: Conversation,
        facts: Sequence[SliceFacts],
        model: ModelRecord,
        *,
        is_foreign: Callable[[int], bool],
        stranger: str,
    ) -> Written:
        """The body for a model that it is still to be translated for: all of the client's own that is no thinking of another
        and does not say who it is."""
        kept, replaced = self._without_foreign_thinking(conversation, facts, is_foreign)
        options = without_identity(conversation, stranger)
        return Written(render(conversation, messages=kept, replaced=replaced, model=model.id, options=options))

    def _without_foreign_thinking(
        self, conversation: Conversation, facts: Sequence[SliceFacts], is_foreign: Callable[[int], bool]
    ) -> tuple[list[int] | None, Mapping[int, bytes]]:
        """The numbers of the messages that stay, `None` for all, and those that change."""
        gone: set[int] = set()
        replaced: dict[int, bytes] = {}
        for index in filter(is_foreign, self._measuring.thinking(conversation, facts)):
            raw = without_thinking(conversation.messages[index], conversation.dialect)
            if raw is None:
                gone.add(index)
            else:
                replaced[index] = raw
        kept = [index for index in range(len(conversation.messages)) if index not in gone] if gone else None
        return kept, replaced


def _options(
    conversation: Conversation,
    facts: Sequence[SliceFacts],
    model: ModelRecord,
    level: Level | None,
    is_foreign: Callable[[int], bool],
) -> tuple[dict[Path, Any], str, Sequence[Loss]]:
    """The members beside the messages that are set or go, what the model is told of thinking, and what is lost."""
    options, losses = fit_members(conversation, target_of(model, conversation.dialect))
    told = ""
    rule = rule_of(model)
    if model.reasoning is False or _opens_without_thinking(conversation, facts, is_foreign):
        level = "off"
    if level is None and rule is not None:
        level = find_misfit(conversation, rule, changed=options)
    if level is not None and (rule is not None or model.reasoning is False):
        thinking = write_thinking(conversation, rule, level, changed=options)
        options |= thinking.options
        told = level if thinking.on else "off"
    return options, told, losses


def target_of(model: ModelRecord, dialect: Dialect) -> Target:
    """What is known of a model that is asked in a dialect."""
    return Target(
        dialect=dialect,
        model=model.id,
        provider=model.provider,
        max_output_tokens=model.max_output_tokens,
        images=None if model.inputs is None else "image" in model.inputs,
        thinking=rule_of(model),
    )


def rule_of(model: ModelRecord) -> ThinkingRule | None:
    """What its registry says of its levels, else what is known of its kind."""
    if model.reasoning is False:
        return None
    return rule_of_levels(model.thinking_levels) if model.thinking_levels else find_thinking_rule(model.id)


def _opens_without_thinking(
    conversation: Conversation, facts: Sequence[SliceFacts], is_foreign: Callable[[int], bool]
) -> bool:
    """Whether the request answers calls of an Anthropic model that came without thinking of its own: it must go on so."""
    if conversation.dialect != "anthropic" or not facts or facts[-1].role != "tool":
        return False
    last = next((index for index in range(len(facts) - 1, -1, -1) if facts[index].role == "assistant"), None)
    return last is not None and (not facts[last].thinking or is_foreign(last))
