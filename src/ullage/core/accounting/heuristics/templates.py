"""Tool definitions written out by a user's own template (accounting specification, section 3.1)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from collections.abc import Callable

    from ullage.core.content import ToolSpec

_UNKNOWN_SOURCE = "unknown"
_MARK = re.compile(r"\{\{(name|description|source)\}\}")


def fill_template(template: Any, spec: ToolSpec, description: str) -> Any:
    """The template with one tool in it.

    A text that is a placeholder becomes the value itself: `$name`, `$description`, `$schema` (also `$parameters`), `$source`,
    `$parameterKeys`, `$promptGuidelines`, `$strict` (always null). In other texts `{{name}}`, `{{description}}` and `{{source}}`
    are replaced. Keys of objects stay as they are.
    """
    match template:
        case str():
            value = _VALUES.get(template)
            return value(spec, description) if value is not None else _interpolated(template, spec, description)
        case list():
            return [fill_template(member, spec, description) for member in template]
        case dict():
            return {key: fill_template(member, spec, description) for key, member in template.items()}
        case _:
            return template


def read_template(template: Any) -> Any:
    """A template as a value: text that holds JSON is decoded, because TOML has no null and keeps no key order by promise."""
    if not isinstance(template, str):
        return template
    try:
        return msgspec.json.decode(template)
    except (msgspec.DecodeError, RecursionError, UnicodeEncodeError):
        return template


def _interpolated(text: str, spec: ToolSpec, description: str) -> str:
    filled = {"name": spec.name, "description": description, "source": spec.source or _UNKNOWN_SOURCE}
    return _MARK.sub(lambda found: filled[found[1]], text)


def _parameter_keys(spec: ToolSpec) -> list[str]:
    properties = (spec.parameters or {}).get("properties")
    return list(properties) if isinstance(properties, dict) else []


_VALUES: dict[str, Callable[[ToolSpec, str], Any]] = {
    "$name": lambda spec, description: spec.name,
    "$description": lambda spec, description: description,
    "$schema": lambda spec, description: spec.parameters,
    "$parameters": lambda spec, description: spec.parameters,
    "$source": lambda spec, description: spec.source or _UNKNOWN_SOURCE,
    "$parameterKeys": lambda spec, description: _parameter_keys(spec),
    "$promptGuidelines": lambda spec, description: list(spec.guidelines),
    "$strict": lambda spec, description: None,
}
