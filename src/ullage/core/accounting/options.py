"""The options of a request that change its prompt: a demanded tool, thinking, an output schema."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import Struct

from ullage.core.wire.jsontext import decode

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ullage.core.wire import Conversation


class Options(Struct, frozen=True, kw_only=True):
    """`forced_tool`: the tool choice names or demands a tool. `thinking`: extended thinking is on with a budget.
    `schema`: the output schema and `schema_name` its name."""

    forced_tool: bool = False
    thinking: bool = False
    schema: dict[str, Any] | None = None
    schema_name: str = ""


NO_OPTIONS = Options()


def read_options(conversation: Conversation) -> Options:
    """The options of a parsed request; what cannot be read counts as not there."""
    return options_from(conversation.options)


def options_from(raw: Mapping[str, bytes]) -> Options:
    """The same, from the raw values of a request's top-level keys in any dialect."""
    names = ("tool_choice", "toolConfig", "thinking", "response_format", "text", "output_config", "output_format")
    keys = {name: decode(raw[name]) for name in (*names, "generationConfig") if name in raw}
    schema, name = _schema(keys)
    return Options(
        forced_tool=_forced(keys.get("tool_choice"), keys.get("toolConfig")),
        thinking=_member(keys.get("thinking"), "type") == "enabled",
        schema=schema if isinstance(schema, dict) else None,
        schema_name=name if isinstance(name, str) else "",
    )


def _forced(choice: Any, config: Any) -> bool:
    if isinstance(choice, dict):
        return _member(choice, "type") not in ("auto", "none", None) or "any" in choice or "tool" in choice
    mode = _member(_member(config, "functionCallingConfig"), "mode")
    return choice in ("required", "any") or (isinstance(mode, str) and mode.upper() == "ANY")


def _schema(keys: Mapping[str, Any]) -> tuple[Any, Any]:
    chat = _member(keys.get("response_format"), "json_schema")
    if isinstance(chat, dict):
        return chat.get("schema"), chat.get("name")
    for holder in (
        _member(keys.get("text"), "format"),
        _member(keys.get("output_config"), "format"),
        keys.get("output_format"),
    ):
        if isinstance(holder, dict) and "schema" in holder:
            return holder["schema"], holder.get("name")
    config = keys.get("generationConfig")
    return _member(config, "responseJsonSchema") or _member(config, "responseSchema"), ""


def _member(value: Any, key: str) -> Any:
    return value.get(key) if isinstance(value, dict) else None
