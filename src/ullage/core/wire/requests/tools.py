"""Tool definitions by kind: the readers of the dialects say which one they see."""

from __future__ import annotations

from typing import Any

from ullage.core.content import ToolSpec

from .parts import as_dict, as_text, name_of, type_of


def function_tool(spec: dict[str, Any], *schema_keys: str, outer: dict[str, Any] | None = None) -> ToolSpec:
    """A function with a JSON schema under one of the keys. `outer` is the wrapper that may carry the deferral mark."""
    schema = next((spec[key] for key in schema_keys if isinstance(spec.get(key), dict)), None)
    strict = spec.get("strict")
    return ToolSpec(
        name=as_text(spec.get("name")),
        description=as_text(spec.get("description")),
        parameters=schema,
        strict=strict if isinstance(strict, bool) else None,
        deferred=is_deferred(spec) or is_deferred(outer),
    )


def custom_tool(spec: dict[str, Any]) -> ToolSpec:
    """A tool whose input is plain text, perhaps of a grammar."""
    return ToolSpec(
        name=as_text(spec.get("name")),
        description=as_text(spec.get("description")),
        kind="custom",
        format=spec.get("format"),
        deferred=is_deferred(spec),
    )


def hosted_tool(value: Any, name: str | None = None) -> ToolSpec:
    """A tool that the provider runs: known by a name of its own or by its type."""
    spec = as_dict(value)
    named = name or name_of(spec.get("name")) or name_of(spec.get("server_label")) or type_of(value)
    return ToolSpec(
        name=named or "unknown",
        description=as_text(spec.get("description")),
        kind="hosted",
        deferred=is_deferred(spec),
    )


def is_deferred(spec: dict[str, Any] | None) -> bool:
    """Listed but not loaded: it costs nothing yet."""
    return spec is not None and spec.get("defer_loading") is True
