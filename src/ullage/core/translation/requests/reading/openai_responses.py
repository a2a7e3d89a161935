"""Requests of OpenAI Responses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ullage.core.translation.efforts import effort_of_word
from ullage.core.translation.losses import refuse
from ullage.core.translation.nouns import (
    AnswerFormat,
    Call,
    Effort,
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
from ullage.core.translation.sealing import unwrap

from .common import (
    as_dict,
    as_list,
    as_text,
    flag,
    function_tool,
    hosted_tools,
    note_rest,
    number,
    objects,
    refuse_unless,
    schema_format,
    text_of,
    type_of,
    url_media,
    whole,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ullage.core.translation.losses import Losses
    from ullage.core.translation.nouns import Part, Speaker

_KNOWN = frozenset(
    {
        *(
            "model",
            "input",
            "instructions",
            "tools",
            "tool_choice",
            "parallel_tool_calls",
            "text",
            "reasoning",
            "include",
        ),
        *(
            "max_output_tokens",
            "temperature",
            "top_p",
            "stream",
            "stream_options",
            "user",
            "safety_identifier",
            "background",
        ),
        *(
            "prompt_cache_key",
            "prompt_cache_retention",
            "top_logprobs",
            "previous_response_id",
            "conversation",
            "prompt",
        ),
    }
)
_SEALED = "reasoning.encrypted_content"
_SYSTEM = ("system", "developer")
# Items of tools that the provider ran itself, in history: what they found is in the answers that followed.
_HOSTED_ITEMS = frozenset(
    {
        *("web_search_call", "file_search_call", "code_interpreter_call", "image_generation_call", "mcp_call"),
        *("mcp_list_tools", "mcp_approval_request", "mcp_approval_response", "agent_message"),
    }
)
_STATEFUL = {
    "compaction": "its summary is encrypted, and only the client's provider can read it.",
    "compaction_trigger": "only the client's provider compacts in this way; let the client compact by itself.",
    "item_reference": "what it refers to lies at the client's provider; send whole items.",
}
_NAMESPACE_JOINT = "__"
# The namespace of tools without one, as OpenAI's models know them.
_PLAIN_NAMESPACE = "functions"


def read(payload: dict[str, Any], losses: Losses) -> Request:
    """The request. Raises `TranslationRefused`."""
    _refuse_what_no_target_can(payload)
    note_rest(payload, {*_KNOWN, "store"} if payload.get("store") is not True else _KNOWN, losses)
    items = _items(payload)
    specs = [*objects(payload.get("tools"), "tools"), *_tools_among(items)]
    namespaces: dict[str, tuple[str, str]] = {}
    tools = _tools(map(as_dict, specs), namespaces, losses)
    text = as_dict(payload.get("text"))
    return Request(
        system=tuple(text_of(block) for block in as_list(payload.get("instructions"))),
        messages=tuple(message for item in items if (message := _message(item, losses)) is not None),
        tools=tools,
        tool_choice=_tool_choice(payload.get("tool_choice")),
        parallel_tools=flag(payload.get("parallel_tool_calls")),
        format=_format(as_dict(text.get("format"))),
        effort=_effort(as_dict(payload.get("reasoning"))),
        sampling=Sampling(
            max_tokens=whole(payload.get("max_output_tokens"), "max_output_tokens", least=1),
            temperature=number(payload.get("temperature"), "temperature"),
            top_p=number(payload.get("top_p"), "top_p"),
        ),
        user=as_text(payload.get("safety_identifier") or payload.get("user")),
        verbosity=as_text(text.get("verbosity")),
        cache_key=as_text(payload.get("prompt_cache_key")),
        namespaces=namespaces,
    )


def _refuse_what_no_target_can(payload: dict[str, Any]) -> None:
    kept = "what was said before lies at the client's provider; send the whole conversation with `store: false`."
    refuse_unless(payload, "previous_response_id", (), kept)
    refuse_unless(payload, "conversation", (), kept)
    refuse_unless(payload, "prompt", (), "the template lies at the client's provider.")
    refuse_unless(payload, "background", (False,), "only the client's provider answers later.")
    refuse_unless(payload, "top_logprobs", (0,), "the target's protocol gives no probabilities.")
    more = [one for one in as_list(payload.get("include")) if one != _SEALED]
    if "message.output_text.logprobs" in more:
        raise refuse("include", "the target's protocol gives no probabilities.")


def _items(payload: dict[str, Any]) -> list[dict[str, Any]]:
    given = payload.get("input")
    if isinstance(given, str):
        return [{"type": "message", "role": "user", "content": given}]
    return [as_dict(item) for item in as_list(given)]


def _tools_among(items: list[dict[str, Any]]) -> list[Any]:
    """Codex defines its tools in an item of the input for its newest models."""
    return [tool for item in items if item.get("type") == "additional_tools" for tool in as_list(item.get("tools"))]


def _message(item: dict[str, Any], losses: Losses) -> Message | None:
    kind = type_of(item)
    if kind in ("", "message"):
        role = as_text(item.get("role"))
        speaker: Speaker = "system" if role in _SYSTEM else "assistant" if role == "assistant" else "user"
        return Message(role=speaker, parts=_content(item.get("content"), losses))
    if kind in _STATEFUL:
        raise refuse(f"input.{kind}", _STATEFUL[kind])
    if kind == "reasoning":
        return Message(role="assistant", parts=(_reasoning(item),))
    if kind in _HOSTED_ITEMS:
        losses.add(
            "not_carried", f"input.{kind}", "What the client's provider did by itself is left out of the history."
        )
        return None
    if kind.endswith("_output"):
        return Message(role="user", parts=(_result(item, losses),))
    if kind.endswith("_call"):
        return Message(role="assistant", parts=(_call(item, kind),))
    if kind != "additional_tools":
        losses.add("not_carried", f"input.{kind}", "The target's protocol has no such item.")
    return None


def _content(content: Any, losses: Losses) -> tuple[Part, ...]:
    if isinstance(content, str):
        return (Text(text=content),) if content else ()
    return tuple(part for block in as_list(content) if (part := _block(block, losses)) is not None)


def _block(block: Any, losses: Losses) -> Part | None:
    match type_of(block):
        case "input_text" | "output_text" | "text" | "":
            return text_of(block)
        case "refusal":
            return Refusal(text=as_text(block.get("refusal")))
        case "input_image":
            detail = block.get("detail") if block.get("detail") != "auto" else ""
            return url_media("image", block.get("image_url"), where="input.input_image", detail=detail)
        case "input_file":
            address = block.get("file_data") or block.get("file_url")
            return url_media("document", address, where="input.input_file", name=block.get("filename"))
        case "input_audio":
            raise refuse("input.input_audio", "sound cannot be carried.")
        case kind:
            losses.add("not_carried", f"input.{kind}", "The target's protocol has no such part.")
            return None


def _reasoning(item: dict[str, Any]) -> Reasoning:
    blocks = [*as_list(item.get("summary")), *as_list(item.get("content"))]
    sealed = as_text(item.get("encrypted_content"))
    return Reasoning(
        text="\n\n".join(text_of(block).text for block in blocks),
        seal=unwrap(sealed, "openai-responses", item_id=as_text(item.get("id"))) if sealed else None,
    )


def _call(item: dict[str, Any], kind: str) -> Call:
    """A call that the client ran. Those of OpenAI's own kinds are named by their kind."""
    call_id = as_text(item.get("call_id") or item.get("id"))
    match kind:
        case "function_call":
            return Call(id=call_id, name=_full_name(item), arguments=as_text(item.get("arguments")))
        case "custom_tool_call":
            return Call(id=call_id, name=_full_name(item), arguments=as_text(item.get("input")), custom=True)
        case _:
            asked: Any = next((item[key] for key in ("action", "operation", "arguments") if key in item), {})
            return Call(id=call_id, name=kind.removesuffix("_call"), arguments=as_text(asked))


def _full_name(item: dict[str, Any]) -> str:
    namespace, name = as_text(item.get("namespace")), as_text(item.get("name"))
    return name if namespace in ("", _PLAIN_NAMESPACE) else f"{namespace}{_NAMESPACE_JOINT}{name}"


def _result(item: dict[str, Any], losses: Losses) -> Result:
    output = item.get("output") if "output" in item else item.get("tools")
    listed = isinstance(output, list | str)
    blocks = _content(output, losses) if listed else (Text(text=as_text(output)),)
    return Result(
        id=as_text(item.get("call_id") or item.get("id")),
        parts=tuple(part for part in blocks if isinstance(part, Text | Media)),
        is_error=item.get("status") in ("failed", "incomplete"),
    )


def _tools(specs: Iterable[dict[str, Any]], namespaces: dict[str, tuple[str, str]], losses: Losses) -> tuple[Tool, ...]:
    tools: list[Tool] = []
    hosted: list[str] = []
    for spec in specs:
        match spec.get("type"):
            case "function" | "custom":
                tools.append(_tool(spec))
            case "namespace":
                namespace = as_text(spec.get("name"))
                for member in map(as_dict, as_list(spec.get("tools"))):
                    tool = _tool({**member, "name": _full_name({**member, "namespace": namespace})})
                    namespaces[tool.name] = (namespace, as_text(member.get("name")))
                    tools.append(tool)
            case kind:
                hosted.append(as_text(kind))
    hosted_tools(hosted, tools, losses)
    return tuple(tools)


def _tool(spec: dict[str, Any]) -> Tool:
    if spec.get("type") != "custom":
        return function_tool(spec, "parameters")
    name, description = as_text(spec.get("name")), as_text(spec.get("description"))
    return Tool(name=name, description=description, custom=True, format=spec.get("format"))


def _tool_choice(value: Any) -> ToolChoice | None:
    if isinstance(value, str):
        return ToolChoice(mode="none" if value == "none" else "required" if value == "required" else "auto")
    choice = as_dict(value)
    match choice.get("type"):
        case "function" | "custom":
            return ToolChoice(mode="tool", name=_full_name(choice))
        case "allowed_tools":
            names = tuple(_full_name(as_dict(one)) for one in as_list(choice.get("tools")))
            return ToolChoice(mode="required" if choice.get("mode") == "required" else "auto", allowed=names)
        case None:
            return None
        case kind:
            raise refuse("tool_choice", f"a tool of the kind {kind} cannot be demanded of another provider.")


def _format(value: dict[str, Any]) -> AnswerFormat | None:
    match value.get("type"):
        case "json_object":
            return AnswerFormat(kind="json")
        case "json_schema":
            return schema_format(value)
        case _:
            return None


def _effort(reasoning: dict[str, Any]) -> Effort | None:
    shown = reasoning.get("summary") is not None
    word = effort_of_word(reasoning.get("effort"), shown=shown)
    return word or (Effort(shown=True) if shown else None)
