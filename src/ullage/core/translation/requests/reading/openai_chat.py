"""Requests of OpenAI Chat Completions, with the additions of hosts that speak it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ullage.core.translation.efforts import effort_of_word
from ullage.core.translation.losses import refuse
from ullage.core.translation.nouns import (
    AnswerFormat,
    Call,
    Media,
    Message,
    Reasoning,
    Refusal,
    Request,
    Result,
    Sampling,
    Text,
    Tool,
    ToolChoice,
)

from .common import (
    as_dict,
    as_list,
    as_text,
    flag,
    function_tool,
    hosted_tools,
    mark_of,
    name_of,
    note_rest,
    number,
    objects,
    refuse_unless,
    schema_format,
    stops,
    text_of,
    type_of,
    url_media,
    whole,
)

if TYPE_CHECKING:
    from ullage.core.translation.losses import Losses
    from ullage.core.translation.nouns import Effort, Part, Speaker

_KNOWN = frozenset(
    {
        *("messages", "model", "stream", "stream_options", "tools", "tool_choice"),
        *(
            "parallel_tool_calls",
            "response_format",
            "reasoning_effort",
            "reasoning",
            "max_tokens",
            "max_completion_tokens",
        ),
        *("temperature", "top_p", "top_k", "stop", "frequency_penalty", "presence_penalty"),
        *("seed", "user", "safety_identifier", "prompt_cache_key", "prompt_cache_retention", "verbosity"),
        *("n", "logprobs", "top_logprobs", "modalities", "audio", "functions"),
        *("function_call", "web_search_options"),
    }
)
_SYSTEM = ("system", "developer")


def read(payload: dict[str, Any], losses: Losses) -> Request:
    """The request. Raises `TranslationRefused`."""
    _refuse_what_no_target_can(payload)
    note_rest(payload, {*_KNOWN, "store"} if payload.get("store") is False else _KNOWN, losses)
    tools = _tools(payload, losses)
    return Request(
        messages=tuple(_message(as_dict(one), losses) for one in as_list(payload.get("messages"))),
        tools=tools,
        tool_choice=_tool_choice(payload.get("tool_choice")),
        parallel_tools=flag(payload.get("parallel_tool_calls")),
        format=_format(as_dict(payload.get("response_format"))),
        effort=_effort(payload),
        sampling=_sampling(payload),
        user=as_text(payload.get("safety_identifier") or payload.get("user")),
        verbosity=as_text(payload.get("verbosity")),
        cache_key=as_text(payload.get("prompt_cache_key")),
    )


def _refuse_what_no_target_can(payload: dict[str, Any]) -> None:
    refuse_unless(payload, "n", (1,), "several answers to one request have no place in the target's protocol.")
    refuse_unless(payload, "logprobs", (False,), "the target's protocol gives no probabilities.")
    refuse_unless(payload, "audio", ({},), "spoken answers cannot be carried.")
    refuse_unless(payload, "modalities", (["text"], []), "answers that are more than text cannot be carried.")
    refuse_unless(payload, "functions", ([],), "the old form of tools has no place elsewhere; send `tools`.")
    refuse_unless(payload, "web_search_options", (), "the client's provider searches itself, and no target can do so.")


def _message(message: dict[str, Any], losses: Losses) -> Message:
    role = as_text(message.get("role"))
    if role == "tool":
        return Message(role="user", parts=(_result(message, losses),))
    if role == "function":
        raise refuse("messages", "the old form of tool results has no ids; send `tool` messages.")
    speaker: Speaker = "system" if role in _SYSTEM else "assistant" if role == "assistant" else "user"
    if message.get("audio"):
        raise refuse("messages.audio", "a spoken answer lies at the client's provider and cannot be read from here.")
    if name_of(message.get("name")) is not None:
        losses.add("not_carried", "messages.name", "The target's protocol names no speakers.")
    parts = [
        *_thinking(message),
        *_content(message.get("content"), losses),
        *([Refusal(text=message["refusal"])] if name_of(message.get("refusal")) else []),
        *(_call(as_dict(call)) for call in as_list(message.get("tool_calls"))),
    ]
    return Message(role=speaker, parts=tuple(parts))


def _result(message: dict[str, Any], losses: Losses) -> Result:
    """Pictures and files stand in results at some hosts; OpenAI takes texts only."""
    found = _content(message.get("content"), losses)
    parts = tuple(part for part in found if isinstance(part, Text | Media))
    if len(parts) < len(found):
        losses.add("not_carried", "messages.tool", "The result of a tool is text, pictures and files only.")
    mark = next((part.mark for part in parts if part.mark is not None), mark_of(message))
    return Result(id=as_text(message.get("tool_call_id")), name=as_text(message.get("name")), parts=parts, mark=mark)


def _call(call: dict[str, Any]) -> Call:
    custom = call.get("type") == "custom"
    asked = as_dict(call.get("custom") if custom else call.get("function"))
    arguments = as_text(asked.get("input") if custom else asked.get("arguments"))
    return Call(id=as_text(call.get("id")), name=as_text(asked.get("name")), arguments=arguments, custom=custom)


def _thinking(message: dict[str, Any]) -> list[Reasoning]:
    text = name_of(message.get("reasoning_content")) or name_of(message.get("reasoning"))
    return [Reasoning(text=text)] if text else []


def _content(content: Any, losses: Losses) -> list[Part]:
    if isinstance(content, str):
        return [Text(text=content)] if content else []
    return [part for block in as_list(content) if (part := _block(block, losses)) is not None]


def _block(block: Any, losses: Losses) -> Part | None:
    match type_of(block):
        case "image_url":
            return _linked(block)
        case "file":
            return _file(block)
        case "refusal":
            return Refusal(text=as_text(block.get("refusal")))
        case "thinking":
            texts = [as_text(as_dict(item).get("text", item)) for item in as_list(block.get("thinking"))]
            return Reasoning(text="".join(texts))
        case "input_audio" | "video_url" as kind:
            raise refuse(f"messages.{kind}", "sound and film cannot be carried.")
        case "text" | "":
            return text_of(block)
        case kind:
            losses.add("not_carried", f"messages.{kind}", "The target's protocol has no such part.")
            return None


def _linked(block: dict[str, Any]) -> Media:
    link = block.get("image_url")
    url = link.get("url") if isinstance(link, dict) else link
    detail = as_dict(link).get("detail")
    return url_media("image", url, where="messages.image_url", detail=detail, mark=mark_of(block))


def _file(block: dict[str, Any]) -> Media:
    file = as_dict(block.get("file"))
    return url_media(
        "document", file.get("file_data"), where="messages.file", name=file.get("filename"), mark=mark_of(block)
    )


def _tools(payload: dict[str, Any], losses: Losses) -> tuple[Tool, ...]:
    tools: list[Tool] = []
    hosted: list[str] = []
    for spec in objects(payload.get("tools"), "tools"):
        match spec.get("type"):
            case "function":
                tools.append(function_tool(as_dict(spec.get("function")), "parameters", mark=mark_of(spec)))
            case "custom":
                inner = as_dict(spec.get("custom"))
                tools.append(
                    Tool(
                        name=as_text(inner.get("name")),
                        description=as_text(inner.get("description")),
                        custom=True,
                        format=inner.get("format"),
                    )
                )
            case kind:
                hosted.append(as_text(kind))
    hosted_tools(hosted, tools, losses)
    return tuple(tools)


def _tool_choice(value: Any) -> ToolChoice | None:
    if isinstance(value, str):
        return ToolChoice(mode="none" if value == "none" else "required" if value == "required" else "auto")
    choice = as_dict(value)
    match choice.get("type"):
        case "function" | "custom" as kind:
            return ToolChoice(mode="tool", name=as_text(as_dict(choice.get(kind)).get("name")))
        case "allowed_tools":
            inner = as_dict(choice.get("allowed_tools"))
            names = [as_text(as_dict(as_dict(one).get("function")).get("name")) for one in as_list(inner.get("tools"))]
            return ToolChoice(mode="required" if inner.get("mode") == "required" else "auto", allowed=tuple(names))
        case None:
            return None
        case kind:
            raise refuse("tool_choice", f"a tool of the kind {kind} cannot be demanded of another provider.")


def _format(value: dict[str, Any]) -> AnswerFormat | None:
    match value.get("type"):
        case "json_object":
            return AnswerFormat(kind="json")
        case "json_schema":
            return schema_format(as_dict(value.get("json_schema")))
        case _:
            return None


def _effort(payload: dict[str, Any]) -> Effort | None:
    reasoning = as_dict(payload.get("reasoning"))
    return effort_of_word(payload.get("reasoning_effort") or reasoning.get("effort"))


def _sampling(payload: dict[str, Any]) -> Sampling:
    limits = [whole(payload.get(name), name, least=1) for name in ("max_completion_tokens", "max_tokens")]
    return Sampling(
        max_tokens=next((one for one in limits if one is not None), None),
        temperature=number(payload.get("temperature"), "temperature"),
        top_p=number(payload.get("top_p"), "top_p"),
        top_k=whole(payload.get("top_k"), "top_k"),
        stop=stops(payload.get("stop"), "stop"),
        frequency_penalty=number(payload.get("frequency_penalty"), "frequency_penalty"),
        presence_penalty=number(payload.get("presence_penalty"), "presence_penalty"),
        seed=whole(payload.get("seed"), "seed"),
    )
