"""Requests of Anthropic Messages."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any

from ullage.core.profiles.thinking import level_of_budget
from ullage.core.translation.efforts import effort_of_word
from ullage.core.translation.losses import refuse
from ullage.core.translation.nouns import (
    REDACTED,
    AnswerFormat,
    Call,
    Effort,
    Media,
    Message,
    Reasoning,
    Request,
    Result,
    Sampling,
    Text,
    ToolChoice,
)
from ullage.core.translation.sealing import unwrap

from .common import (
    as_dict,
    as_list,
    as_text,
    flag,
    function_tool,
    hosted_tools,
    instructions,
    mark_of,
    name_of,
    note_rest,
    number,
    objects,
    refuse_unless,
    stops,
    text_of,
    type_of,
    whole,
)

if TYPE_CHECKING:
    from typing import Literal

    from ullage.core.translation.losses import Losses
    from ullage.core.translation.nouns import Part, Tool

_KNOWN = frozenset(
    {
        *("model", "messages", "system", "tools", "tool_choice", "max_tokens"),
        *("metadata", "stop_sequences", "stream", "temperature", "top_k", "top_p"),
        *("thinking", "output_config", "output_format", "cache_control", "mcp_servers", "container"),
    }
)
# A line of Claude Code's that its provider takes out of the prompt. It differs from request to request: no cache would stay warm.
_BILLING = "x-anthropic-billing-header:"
_MODES: dict[str, Literal["auto", "none", "required"]] = {"auto": "auto", "none": "none", "any": "required"}


def read(payload: dict[str, Any], losses: Losses) -> Request:
    """The request. Raises `TranslationRefused`."""
    refuse_unless(payload, "mcp_servers", ([],), "the client's provider calls these servers itself.")
    refuse_unless(payload, "container", (), "it lies at the client's provider.")
    note_rest(payload, _KNOWN, losses)
    choice = as_dict(payload.get("tool_choice"))
    single = flag(choice.get("disable_parallel_tool_use"))
    messages = [_message(as_dict(one), losses) for one in as_list(payload.get("messages"))]
    _refuse_prefill(messages)
    return Request(
        system=tuple(
            text for text in instructions(payload.get("system"), "system", losses) if not text.text.startswith(_BILLING)
        ),
        messages=tuple(messages),
        tools=_tools(payload, losses),
        tool_choice=_tool_choice(choice),
        parallel_tools=None if single is None else not single,
        format=_format(payload),
        effort=_effort(payload),
        sampling=Sampling(
            max_tokens=whole(payload.get("max_tokens"), "max_tokens", least=1),
            temperature=number(payload.get("temperature"), "temperature"),
            top_p=number(payload.get("top_p"), "top_p"),
            top_k=whole(payload.get("top_k"), "top_k"),
            stop=stops(payload.get("stop_sequences"), "stop_sequences"),
        ),
        user=as_text(as_dict(payload.get("metadata")).get("user_id")),
    )


def _refuse_prefill(messages: list[Message]) -> None:
    last = messages[-1] if messages else None
    if last is not None and last.role == "assistant" and not any(isinstance(part, Call) for part in last.parts):
        raise refuse("messages", "the answer is to go on from the last message, which no other protocol can be told.")


def _message(message: dict[str, Any], losses: Losses) -> Message:
    """Claude Code also puts `role: "system"` among the messages."""
    role = message.get("role")
    blocks = message.get("content")
    if isinstance(blocks, str):
        parts: list[Part] = [Text(text=blocks)] if blocks else []
    else:
        parts = [part for block in as_list(blocks) if (part := _block(block, losses)) is not None]
    return Message(role=role if role in ("assistant", "system") else "user", parts=tuple(parts))


def _block(block: Any, losses: Losses) -> Part | None:
    match type_of(block):
        case "text" | "":
            return text_of(block)
        case "image":
            return _media("image", block)
        case "document":
            return _document(block, losses)
        case "thinking":
            signature = as_text(block.get("signature"))
            seal = unwrap(signature, "anthropic") if signature else None
            return Reasoning(text=as_text(block.get("thinking")), seal=seal)
        case "redacted_thinking":
            return Reasoning(seal=unwrap(as_text(block.get("data")), "anthropic", item_id=REDACTED))
        case "tool_use":
            return Call(
                id=as_text(block.get("id")),
                name=as_text(block.get("name")),
                arguments=as_text(block.get("input")) or "{}",
                mark=mark_of(block),
            )
        case "tool_result":
            return _result(block, losses)
        case "tool_reference":
            return Text(text=f"The tool {as_text(block.get('tool_name'))} can be used now.")
        case "search_result":
            texts = [as_text(block.get("title")), as_text(block.get("source"))]
            texts += [as_text(as_dict(one).get("text")) for one in as_list(block.get("content"))]
            return Text(text="\n".join(text for text in texts if text), mark=mark_of(block))
        case kind:
            losses.add("not_carried", f"messages.{kind}", "The target's protocol has no such part.")
            return None


def _result(block: dict[str, Any], losses: Losses) -> Result:
    content = block.get("content")
    blocks = [content] if isinstance(content, str) else as_list(content)
    parts = [_block(one, losses) for one in blocks]
    return Result(
        id=as_text(block.get("tool_use_id")),
        parts=tuple(part for part in parts if isinstance(part, Text | Media)),
        is_error=block.get("is_error") is True,
        mark=mark_of(block),
    )


def _media(kind: Literal["image", "document"], block: dict[str, Any]) -> Media:
    source = as_dict(block.get("source"))
    mime, name, mark = as_text(source.get("media_type")), as_text(block.get("title")), mark_of(block)
    match source.get("type"):
        case "base64":
            return Media(kind=kind, mime=mime, data=as_text(source.get("data")), name=name, mark=mark)
        case "url":
            return Media(kind=kind, url=as_text(source.get("url")), name=name, mark=mark)
        case _:
            raise refuse(f"messages.{kind}", "files that the client's provider keeps cannot be read from here.")


def _document(block: dict[str, Any], losses: Losses) -> Part:
    """A document of text is carried as a file of text, one of blocks as its text."""
    source = as_dict(block.get("source"))
    if as_dict(block.get("citations")).get("enabled"):
        losses.add("citations", "messages.document.citations", "The target does not say what it cites.")
    if source.get("type") == "text":
        data = base64.b64encode(as_text(source.get("data")).encode()).decode()
        name = as_text(block.get("title"))
        return Media(kind="document", mime="text/plain", data=data, name=name, mark=mark_of(block))
    if source.get("type") == "content":
        texts = [as_text(block.get("title")), *(text_of(one).text for one in as_list(source.get("content")))]
        return Text(text="\n".join(text for text in texts if text), mark=mark_of(block))
    return _media("document", block)


def _tools(payload: dict[str, Any], losses: Losses) -> tuple[Tool, ...]:
    tools: list[Tool] = []
    hosted: list[str] = []
    for spec in objects(payload.get("tools"), "tools"):
        if type_of(spec) in ("", "custom") and name_of(spec.get("name")) is not None:
            if spec.get("defer_loading") is True:
                losses.add(
                    "not_deferred", "tools.defer_loading", "Tools to be loaded later are offered from the start."
                )
            tools.append(function_tool(spec, "input_schema", mark=mark_of(spec)))
        else:
            hosted.append(type_of(spec) or "unknown")
    hosted_tools(hosted, tools, losses)
    return tuple(tools)


def _tool_choice(choice: dict[str, Any]) -> ToolChoice | None:
    kind = as_text(choice.get("type"))
    if kind == "tool":
        return ToolChoice(mode="tool", name=as_text(choice.get("name")))
    return ToolChoice(mode=_MODES[kind]) if kind in _MODES else None


def _format(payload: dict[str, Any]) -> AnswerFormat | None:
    wanted = as_dict(as_dict(payload.get("output_config")).get("format") or payload.get("output_format"))
    if wanted.get("type") != "json_schema":
        return None
    return AnswerFormat(kind="schema", schema=as_dict(wanted.get("schema")))


def _effort(payload: dict[str, Any]) -> Effort | None:
    """Without a word, thinking that is switched on without a budget leaves the amount to the model."""
    thinking = as_dict(payload.get("thinking"))
    shown = thinking.get("display") == "summarized"
    match thinking.get("type"):
        case "disabled":
            return Effort(level="off")
        case "enabled":
            budget = whole(thinking.get("budget_tokens"), "thinking.budget_tokens")
            return Effort(level=level_of_budget(budget) if budget is not None else None, shown=shown)
        case "adaptive":
            word = effort_of_word(as_dict(payload.get("output_config")).get("effort"), shown=shown)
            return word or Effort(shown=shown)
        case _:
            return None
