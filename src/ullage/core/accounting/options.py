"""The options of a request that change its prompt: a demanded tool, thinking, an output schema."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from msgspec import Struct

from ullage.core.wire.jsontext import decode

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ullage.core.wire import Conversation


ToolChoice = Literal["auto", "none", "any", "tool"]


class Options(Struct, frozen=True, kw_only=True):
    """What a request says beside its content.

    `choice`: whether the model may, must not or must call a tool; `tool` a certain one, `tool_name`. `parallel`: whether it may
    call several at once, `None` if nothing is said. `thinking`: extended thinking is on with a budget, `adaptive`: the model
    chooses how much. `task_budget`: the model is told what the whole task may cost. `schema`: the output schema, `schema_name`
    its name, `schema_described` whether it came with a description.
    """

    choice: ToolChoice = "auto"
    tool_name: str = ""
    parallel: bool | None = None
    thinking: bool = False
    adaptive: bool = False
    task_budget: bool = False
    schema: dict[str, Any] | None = None
    schema_name: str = ""
    schema_described: bool = False

    @property
    def forced_tool(self) -> bool:
        """Whether the tool choice names or demands a tool."""
        return self.choice in ("any", "tool")


NO_OPTIONS = Options()


def read_options(conversation: Conversation) -> Options:
    """The options of a parsed request; what cannot be read counts as not there."""
    return options_from(conversation.options)


_NAMES = (
    "tool_choice", "parallel_tool_calls", "function_call", "toolConfig", "thinking", "reasoning", "response_format", "text",
    "output_config", "output_format", "generationConfig",
)  # fmt: skip


def options_from(raw: Mapping[str, bytes]) -> Options:
    """The same, from the raw values of a request's top-level keys in any dialect."""
    keys = {name: decode(raw[name]) for name in _NAMES if name in raw}
    holder = _schema_holder(keys)
    schema, name = holder.get("schema"), holder.get("name")
    choice, tool = _choice(keys)
    return Options(
        choice=choice,
        tool_name=tool,
        parallel=_parallel(keys),
        thinking=_thinks(keys),
        adaptive=_member(keys.get("thinking"), "type") == "adaptive",
        task_budget=_member(keys.get("output_config"), "task_budget") is not None,
        schema=schema if isinstance(schema, dict) else None,
        schema_name=name if isinstance(name, str) else "",
        schema_described="description" in holder,
    )


def _thinks(keys: Mapping[str, Any]) -> bool:
    """Thinking with a budget, or with an effort where an aggregator takes one."""
    if _member(keys.get("thinking"), "type") == "enabled":
        return True
    reasoning = keys.get("reasoning")
    if not isinstance(reasoning, dict) or reasoning.get("enabled") is False:
        return False
    return reasoning.get("effort", "none") != "none" or bool(reasoning.get("max_tokens") or reasoning.get("enabled"))


def _parallel(keys: Mapping[str, Any]) -> bool | None:
    allowed = keys.get("parallel_tool_calls")
    if isinstance(allowed, bool):
        return allowed
    return False if _member(keys.get("tool_choice"), "disable_parallel_tool_use") is True else None


_CHOICES: dict[Any, ToolChoice] = {"none": "none", "required": "any", "any": "any", "tool": "tool", "function": "tool"}


def _choice(keys: Mapping[str, Any]) -> tuple[ToolChoice, str]:
    """The tool choice, and the name of the tool if it names one."""
    mode = _member(_member(keys.get("toolConfig"), "functionCallingConfig"), "mode")
    if isinstance(mode, str):
        return _CHOICES.get(mode.lower(), "auto"), ""
    choice = keys.get("tool_choice", keys.get("function_call"))
    name = _member(choice, "name") or _member(_member(choice, "function"), "name")
    if isinstance(name, str):
        return "tool", name
    kind = _member(choice, "type") if isinstance(choice, dict) else choice
    return (_CHOICES.get(kind, "auto") if isinstance(kind, str) else "auto"), ""


def _schema_holder(keys: Mapping[str, Any]) -> dict[str, Any]:
    """The object that holds the output schema under `schema`; empty without one."""
    chat = _member(keys.get("response_format"), "json_schema")
    if isinstance(chat, dict):
        return chat
    for holder in (
        _member(keys.get("text"), "format"),
        _member(keys.get("output_config"), "format"),
        keys.get("output_format"),
    ):
        if isinstance(holder, dict) and "schema" in holder:
            return holder
    config = keys.get("generationConfig")
    schema = _member(config, "responseJsonSchema") or _member(config, "responseSchema")
    return {"schema": schema} if schema else {}


def _member(value: Any, key: str) -> Any:
    return value.get(key) if isinstance(value, dict) else None
