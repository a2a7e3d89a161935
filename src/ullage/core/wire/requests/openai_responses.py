"""Items, instructions and tools of OpenAI Responses: one item is one message."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ullage.core.content import Message, Part, Role, ToolSpec
from ullage.core.wire import media

from .parts import (
    BlockReader,
    as_dict,
    as_list,
    as_text,
    call_part,
    content_parts,
    media_part,
    name_of,
    other_message,
    other_part,
    plain_json,
    result_part,
    role_of,
    sealed_length,
    sound_part,
    system_text,
    text_part,
    thinking_part,
    type_of,
    typed_text_part,
)
from .tools import custom_tool, function_tool, hosted_tool

if TYPE_CHECKING:
    from collections.abc import Callable

# Calls without a name of their own, by the key that holds what was asked.
_HOSTED_CALLS = {
    "apply_patch_call": "operation",
    "code_interpreter_call": "code",
    "computer_call": "action",
    "file_search_call": "queries",
    "image_generation_call": "revised_prompt",
    "local_shell_call": "action",
    "shell_call": "action",
    "tool_search_call": "arguments",
    "web_search_call": "action",
}


def read_system(value: Any) -> str:
    """The instructions."""
    return system_text([as_text(as_dict(block).get("text", block)) for block in as_list(value)])


def read_message(value: Any) -> Message:
    """One item of the input, a whole string input too."""
    if not isinstance(value, dict):
        return other_message(value)
    kind = type_of(value)
    if kind in ("", "message") and ("role" in value or "content" in value):
        return Message(
            role=role_of(value.get("role")),
            parts=tuple(_content(value.get("content"))),
            name=name_of(value.get("name")),
        )
    return Message(role=_role(value, kind), parts=tuple(_item(value, kind)))


def read_tool(value: Any) -> ToolSpec:
    """A function, a custom tool, a namespace with its members, or a hosted tool by its type."""
    spec = as_dict(value)
    match type_of(value):
        case "function" | "":
            return function_tool(spec, "parameters") if name_of(spec.get("name")) else hosted_tool(value)
        case "custom":
            return custom_tool(spec)
        case "namespace":
            return ToolSpec(
                name=as_text(spec.get("name")),
                description=as_text(spec.get("description")),
                kind="namespace",
                deferred=spec.get("defer_loading") is True,
                tools=tuple(read_tool(member) for member in as_list(spec.get("tools"))),
            )
        case _:
            return hosted_tool(value)


def _role(item: dict[str, Any], kind: str) -> Role:
    """The role of an item that is no message: by itself, else by what its type says."""
    if "role" in item:
        return role_of(item["role"])
    if kind.endswith("_output"):
        return "tool"
    from_model = kind.endswith(("_call", "_request")) or kind in ("reasoning", "compaction", "agent_message")
    return "assistant" if from_model else "user"


def _item(item: dict[str, Any], kind: str) -> list[Part]:
    reader = _ITEMS.get(kind)
    if reader is not None:
        return reader(item)
    if kind in _HOSTED_CALLS:
        return [_hosted_call(item, kind)]
    if kind.endswith("_output"):
        return [_output(item, kind)]
    return [other_part(item)]


def _reasoning(item: dict[str, Any]) -> list[Part]:
    texts = [
        as_text(as_dict(block).get("text")) for block in (*as_list(item.get("summary")), *as_list(item.get("content")))
    ]
    return [thinking_part(system_text(texts), sealed=item.get("encrypted_content"), wire_type="reasoning")]


def _function_call(item: dict[str, Any]) -> list[Part]:
    return [call_part(item.get("name"), item.get("arguments"), call_id=item.get("call_id"), wire_type="function_call")]


def _custom_call(item: dict[str, Any]) -> list[Part]:
    return [call_part(item.get("name"), item.get("input"), call_id=item.get("call_id"), wire_type="custom_tool_call")]


def _mcp_call(item: dict[str, Any]) -> list[Part]:
    """A call that the provider made and answered: both halves are in one item."""
    call = call_part(item.get("name"), item.get("arguments"), call_id=item.get("id"), wire_type="mcp_call")
    answer = item.get("output") if item.get("output") is not None else item.get("error")
    if answer is None:
        return [call]
    failed = item.get("error") is not None
    result = result_part([text_part(answer)], call_id=item.get("id"), is_error=failed, wire_type="mcp_call")
    return [call, result]


def _compaction(item: dict[str, Any]) -> list[Part]:
    sealed = sealed_length(item.get("encrypted_content"))
    return [Part(kind="other", sealed_chars=sealed, carries_reasoning=sealed > 0, wire_type="compaction")]


def _trigger(item: dict[str, Any]) -> list[Part]:
    return [Part(kind="other", wire_type=type_of(item))]


def _additional_tools(item: dict[str, Any]) -> list[Part]:
    return [Part(kind="other", text=plain_json(item.get("tools")), wire_type="additional_tools")]


def _agent_message(item: dict[str, Any]) -> list[Part]:
    return _content(item.get("content")) or [other_part(item)]


_ITEMS: dict[str, Callable[[dict[str, Any]], list[Part]]] = {
    "additional_tools": _additional_tools,
    "agent_message": _agent_message,
    "compaction": _compaction,
    "compaction_trigger": _trigger,
    "custom_tool_call": _custom_call,
    "function_call": _function_call,
    "item_reference": _trigger,
    "mcp_call": _mcp_call,
    "reasoning": _reasoning,
}


def _hosted_call(item: dict[str, Any], kind: str) -> Part:
    asked = item.get(_HOSTED_CALLS[kind])
    call_id = item.get("call_id") or item.get("id")
    return call_part(kind.removesuffix("_call"), plain_json(asked), call_id=call_id, wire_type=kind)


def _output(item: dict[str, Any], kind: str) -> Part:
    answer = item.get("output") if "output" in item else item.get("tools")
    if isinstance(answer, dict) and "content" in answer:
        answer = answer["content"]
    return result_part(
        _content(answer),
        call_id=item.get("call_id") or item.get("id"),
        name=item.get("name"),
        is_error=as_text(item.get("status")) in ("failed", "incomplete"),
        wire_type=kind,
    )


def _content(content: Any) -> list[Part]:
    return content_parts(content, _BLOCKS, other_part)


def _image(block: dict[str, Any]) -> Part:
    found = media.from_url("image", block.get("image_url"), detail=block.get("detail"))
    return media_part(found, wire_type=type_of(block))


def _file(block: dict[str, Any]) -> Part:
    inline = block.get("file_data")
    mime, data = media.url_data(inline)
    found = media.from_url("document", inline or block.get("file_url"), detail=block.get("detail"))
    return media_part(found, text=media.inline_text(data, mime), name=block.get("filename"), wire_type="input_file")


def _sound(block: dict[str, Any]) -> Part:
    return sound_part(as_dict(block.get("input_audio", block)))


def _refusal(block: dict[str, Any]) -> Part:
    return text_part(block.get("refusal"), "refusal")


_BLOCKS: dict[str, BlockReader] = {
    **dict.fromkeys(("input_text", "output_text", "reasoning_text", "summary_text", "text"), typed_text_part),
    "computer_screenshot": _image,
    "input_audio": _sound,
    "input_file": _file,
    "input_image": _image,
    "refusal": _refusal,
}
