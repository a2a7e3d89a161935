"""A request of one dialect as a request of another: read, settled for its target, written."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from ullage.core.profiles.thinking import find_thinking_rule
from ullage.core.wire import parse_request, render
from ullage.core.wire.jsontext import decode
from ullage.core.wire.thinking import write_thinking

from .losses import Loss, Losses, refuse
from .nouns import Reasoning, Result
from .requests.reading import anthropic as read_anthropic
from .requests.reading import gemini as read_gemini
from .requests.reading import openai_chat as read_chat
from .requests.reading import openai_responses as read_responses
from .requests.settling import settle
from .requests.writing import anthropic as write_anthropic
from .requests.writing import gemini as write_gemini
from .requests.writing import openai_chat as write_chat
from .requests.writing import openai_responses as write_responses
from .terms import Terms

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ullage.core.profiles.thinking import ThinkingLevel
    from ullage.core.wire import Conversation, Dialect

    from .nouns import Message, Request
    from .target import Target

_READERS: Mapping[Dialect, Callable[[dict[str, Any], Losses], Request]] = {
    "openai-chat": read_chat.read,
    "openai-responses": read_responses.read,
    "anthropic": read_anthropic.read,
    "gemini": read_gemini.read,
}
_WRITERS: Mapping[Dialect, Callable[[Request, Target, Losses], dict[str, Any]]] = {
    "openai-chat": write_chat.write,
    "openai-responses": write_responses.write,
    "anthropic": write_anthropic.write,
    "gemini": write_gemini.write,
}
# What an answer of Responses repeats of its request.
_ECHOED = (
    *(
        "instructions",
        "max_output_tokens",
        "metadata",
        "parallel_tool_calls",
        "reasoning",
        "store",
        "temperature",
        "text",
    ),
    *("tool_choice", "tools", "top_p", "truncation", "user"),
)
_USUAL_LEVEL: ThinkingLevel = "medium"


class TranslatedRequest(Struct, frozen=True, kw_only=True):
    """A request in the target's dialect. `terms` go to the `AnswerTranslator` of its answer.

    `dropped` is what the target is not told, or told otherwise. `thinking` is the level that the model is asked for, empty
    where nothing is. For Gemini, model and streaming stand in the path, not in `body`.
    """

    body: bytes
    terms: Terms
    dropped: tuple[Loss, ...] = ()
    thinking: str = ""


def translate_request(
    conversation: Conversation, target: Target, *, level: ThinkingLevel | None = None
) -> TranslatedRequest:
    """The request of a client as one that the target understands. The same request always gives the same bytes.

    `level` is how much the model is to think, in place of what the client asks for. Raises `TranslationRefused` where the
    translated request would mean something else.
    """
    losses = Losses()
    payload = decode(conversation.body)
    if not isinstance(payload, dict):
        raise refuse("body", "it is no JSON object.")
    request = _READERS[conversation.dialect](payload, losses)
    request, names = settle(replace(request, stream=conversation.stream), target, losses)
    body = msgspec.json.encode(_WRITERS[target.dialect](request, target, losses))
    body, thinking = _with_effort(body, request, target, losses, level)
    terms = Terms(
        model=target.model,
        asked_model=conversation.model or target.model,
        stream=conversation.stream,
        include_usage=_includes_usage(payload),
        names=dict(names),
        namespaces=request.namespaces,
        custom=frozenset(names.get(tool.name, tool.name) for tool in request.tools if tool.custom),
        echo={key: payload[key] for key in _ECHOED if key in payload}
        if conversation.dialect == "openai-responses"
        else {},
    )
    return TranslatedRequest(body=body, terms=terms, dropped=losses.found(), thinking=thinking)


def _includes_usage(payload: dict[str, Any]) -> bool:
    options = payload.get("stream_options")
    return isinstance(options, dict) and options.get("include_usage") is True


def _with_effort(
    body: bytes, request: Request, target: Target, losses: Losses, level: ThinkingLevel | None
) -> tuple[bytes, str]:
    """The body with a level of thinking by the target's rule, and the level; said where the client's own cannot be kept."""
    asked = request.effort
    if asked is None and level is None:
        return body, ""
    wanted = level or (asked.level if asked is not None else None) or _USUAL_LEVEL
    misses = asked is not None and asked.level != "off" and wanted != "off"
    rule = target.thinking or find_thinking_rule(target.model)
    if rule is None:
        if misses:
            losses.add("effort", "effort", "Nobody says how this model is told how much to think.")
        return body, ""
    if target.dialect == "anthropic" and _opens_without_thinking(request.messages):
        wanted = "off"
    conversation = parse_request(body, target.dialect)
    thinking = write_thinking(conversation, rule, wanted)
    if misses and not thinking.on:
        losses.add(
            "effort",
            "effort",
            "With these tools, sampling or length, or amid this tool loop, it cannot think.",
        )
    options = dict(thinking.options)
    if asked is not None and asked.shown and options.get(("thinking", "type")) == "adaptive":
        options["thinking", "display"] = "summarized"  # what some models leave out unless they are asked
    return render(conversation, options=options), wanted if thinking.on else "off"


def _opens_without_thinking(messages: Sequence[Message]) -> bool:
    """Whether the request answers calls that came without thinking of Anthropic's own: such a loop must go on without."""
    if not messages or not any(isinstance(part, Result) for part in messages[-1].parts):
        return False
    last = next((message for message in reversed(messages) if message.role == "assistant"), None)
    return last is not None and not isinstance(last.parts[0], Reasoning)
