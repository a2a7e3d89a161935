"""A request made fit for its target, before it is written: what holds for every dialect is done here once."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

from msgspec.structs import replace

from ullage.core.translation.losses import refuse
from ullage.core.translation.models import takes_format_with_tools, takes_schemas, takes_short_ids
from ullage.core.translation.naming import Ids, clean_names
from ullage.core.translation.nouns import AnswerFormat, Call, Media, Message, Reasoning, Result, Text, ToolChoice
from ullage.core.translation.schemas import has_maps
from ullage.core.translation.sealing import opens_for
from ullage.core.translation.tellings import tell_wordless
from ullage.core.wire.jsontext import compact

from .exchanges import settle_exchanges

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from ullage.core.translation.losses import Losses
    from ullage.core.translation.nouns import Part, Request
    from ullage.core.translation.target import Target

CONTINUE = "Continue."
# Only Responses has a role for instructions in the middle that all of its hosts take; elsewhere templates refuse it.
_TAKES_LATE_SYSTEM = frozenset({"openai-responses"})


def settle(request: Request, target: Target, losses: Losses) -> tuple[Request, Mapping[str, str]]:
    """The request as the target takes it, and the client's own name of each tool whose name had to change.

    Raises `TranslationRefused` for pictures and tools that the target is known not to take, and for a choice of tools that
    cannot be kept.
    """
    request = _ask_in_words(_choose_tools(request, losses), target, losses)
    _check_abilities(request, target)
    system, rest = _split_system(request, losses)
    messages = _place_late_system(rest, target, losses)
    messages = _keep_own_reasoning(messages, target, losses)
    messages = settle_exchanges(_merge(messages), Ids(short=takes_short_ids(target.model)), losses)
    messages = _without_empty(_merge(messages))
    system, messages = _open_and_close(system, messages, losses)
    request = replace(request, system=system, messages=tuple(messages))
    names = clean_names(_tool_names(request))
    changed = {cleaned: name for name, cleaned in names.items() if cleaned != name}
    return (_rename(request, names) if changed else request), changed


def _choose_tools(request: Request, losses: Losses) -> Request:
    """A choice of tools that agrees with the tools present (maximhq/bifrost#3596)."""
    choice = request.tool_choice
    if choice is None:
        return request
    present = {tool.name for tool in request.tools}
    if choice.mode == "tool" and choice.name not in present:
        raise refuse("tool_choice", f"the tool {choice.name} must be called, but is not among the tools.")
    if choice.allowed:
        allowed = tuple(tool for tool in request.tools if tool.name in choice.allowed)
        if not allowed and choice.mode == "required":
            raise refuse("tool_choice", "none of the tools that may be called is among the tools.")
        if len(allowed) < len(request.tools):
            losses.add("tools_left_out", "tool_choice", "Only the tools that may be called are offered.")
        request = replace(request, tools=allowed, tool_choice=ToolChoice(mode=choice.mode))
    if request.tools:
        return request
    if choice.mode == "required":
        raise refuse("tool_choice", "a tool must be called, but there are none.")
    return replace(request, tool_choice=None, parallel_tools=None)


def _ask_in_words(request: Request, target: Target, losses: Losses) -> Request:
    """JSON is asked for in words where the target has no member for it."""
    wanted = request.format
    if wanted is None or _takes_format(request, wanted, target):
        return request
    losses.add("format_in_words", "response_format", "The target is asked for JSON in words, and not held to it.")
    words = "Answer with one JSON object and nothing else."
    if wanted.schema:
        words = f"Answer with one JSON value and nothing else. It must fit this JSON schema:\n{compact(wanted.schema)}"
    bare = AnswerFormat(kind="json")
    left = bare if target.dialect != "anthropic" and _takes_format(request, bare, target) else None
    return replace(request, system=(*request.system, Text(text=words)), format=left)


def _takes_format(request: Request, wanted: AnswerFormat, target: Target) -> bool:
    """Anthropic's answers of a schema have closed objects only; Gemini's older models take no format beside tools."""
    if request.tools and not takes_format_with_tools(target.model):
        return False
    if wanted.kind != "schema":
        return target.dialect != "anthropic"
    return takes_schemas(target.model) and not (target.dialect == "anthropic" and has_maps(wanted.schema))


def _check_abilities(request: Request, target: Target) -> None:
    if target.tools is False and request.tools:
        raise refuse("tools", f"{target.model} takes no tools.")
    if target.images is False and any(_is_picture(part) for message in request.messages for part in message.parts):
        raise refuse("messages", f"{target.model} takes no pictures.")


def _is_picture(part: Part) -> bool:
    if isinstance(part, Result):
        return any(map(_is_picture, part.parts))
    return isinstance(part, Media) and part.kind == "image"


def _split_system(request: Request, losses: Losses) -> tuple[tuple[Text, ...], list[Message]]:
    """What stands before the conversation, wherever the dialect keeps it, and the rest."""
    system = list(request.system)
    rest = list(request.messages)
    while rest and rest[0].role == "system":
        for part in rest.pop(0).parts:
            if isinstance(part, Text):
                system.append(part)
            else:
                tell_wordless(losses, "messages.system")
    return tuple(part for part in system if part.text.strip()), rest


def _place_late_system(messages: Sequence[Message], target: Target, losses: Losses) -> list[Message]:
    """Instructions in the middle keep their place, so that the prefix before them stays warm."""
    if target.dialect in _TAKES_LATE_SYSTEM:
        return list(messages)
    placed = []
    for message in messages:
        if message.role == "system":
            losses.add(
                "system_as_user", "messages", "Instructions amid the conversation are sent as marked text of the user."
            )
            message = Message(role="user", parts=tuple(_as_instruction(part) for part in message.parts))
        placed.append(message)
    return placed


def _as_instruction(part: Part) -> Part:
    if isinstance(part, Text) and part.text.strip():
        return replace(part, text=f"<system-instruction>\n{part.text}\n</system-instruction>")
    return part


def _keep_own_reasoning(messages: Sequence[Message], target: Target, losses: Losses) -> list[Message]:
    """Reasoning goes back to the model that it came from, whole; no other can check its seal (complaint C10), and some models not
    even their own behind something else."""
    kept = []
    for message in messages:
        parts = tuple(part for part in message.parts if not isinstance(part, Reasoning) or _is_own(part, target))
        if len(parts) < len(message.parts):
            losses.add("foreign_reasoning", "messages", "Reasoning is left out that the model would not take back.")
        kept.append(replace(message, parts=parts))
    return kept


def _is_own(reasoning: Reasoning, target: Target) -> bool:
    return target.reasoning and reasoning.seal is not None and opens_for(reasoning.seal, target.dialect, target.model)


def _merge(messages: Iterable[Message]) -> list[Message]:
    """Messages of one side in a row as one: Anthropic and Gemini want the sides to alternate."""
    merged = []
    for role, group in groupby(messages, key=lambda message: message.role):
        parts = tuple(part for message in group for part in message.parts)
        merged.append(Message(role=role, parts=_results_first(parts) if role == "user" else parts))
    return merged


def _results_first(parts: tuple[Part, ...]) -> tuple[Part, ...]:
    """Anthropic refuses a message in which text stands before results."""
    return tuple(sorted(parts, key=lambda part: not isinstance(part, Result)))


def _without_empty(messages: Iterable[Message]) -> list[Message]:
    """Texts of nothing but white space, reasoning that leads to nothing, and messages that have nothing left are refused."""
    kept = (replace(one, parts=_without_blanks(one.parts)) for one in messages)
    return _merge(message for message in kept if message.parts)


def _without_blanks(parts: tuple[Part, ...]) -> tuple[Part, ...]:
    kept = [part for part in parts if not (isinstance(part, Text) and not part.text.strip())]
    while kept and isinstance(kept[-1], Reasoning):
        kept.pop()
    return tuple(kept)


def _open_and_close(
    system: tuple[Text, ...], messages: list[Message], losses: Losses
) -> tuple[tuple[Text, ...], list[Message]]:
    """A conversation begins and ends with the user, and has a message at least."""
    if not messages and system:
        losses.add("system_as_user", "messages", "A request of instructions alone is sent as a message of the user.")
        return system[:-1], [Message(role="user", parts=(system[-1],))]
    if not messages:
        raise refuse("messages", "there is nothing to answer.", hint="Send a message of the user.")
    go_on = Message(role="user", parts=(Text(text=CONTINUE),))
    if next((one.role for one in messages if one.role != "system"), None) == "assistant":
        losses.add("opened", "messages", "A conversation that begins with the model is opened by a word of the user.")
        messages = [go_on, *messages]
    if messages[-1].role == "assistant":
        losses.add("closed", "messages", "A conversation that ends with the model is closed by a word of the user.")
        messages = [*messages, go_on]
    return system, messages


def _tool_names(request: Request) -> Iterable[str]:
    yield from (tool.name for tool in request.tools)
    yield from (part.name for message in request.messages for part in message.parts if isinstance(part, Call))


def _rename(request: Request, names: Mapping[str, str]) -> Request:
    choice = request.tool_choice
    return replace(
        request,
        tools=tuple(replace(tool, name=names[tool.name]) for tool in request.tools),
        tool_choice=replace(choice, name=names.get(choice.name, choice.name)) if choice is not None else None,
        messages=tuple(
            replace(message, parts=tuple(_renamed(part, names) for part in message.parts))
            for message in request.messages
        ),
    )


def _renamed(part: Part, names: Mapping[str, str]) -> Part:
    return replace(part, name=names.get(part.name, part.name)) if isinstance(part, Call | Result) else part
