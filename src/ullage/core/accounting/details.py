"""Words for the views: descriptions, field trees, first lines. Made only for a screen, never kept or sent."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from .breakdown import Details, Field, ToolDetails
from .field_types import type_text
from .inline_tools import inline_tools
from .layouts import find_blocks

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ullage.core.content import Context, ToolSpec

    from .meter import Meter

PREVIEW_LINES = 8
_BLANK_LINES = re.compile(r"\n{3,}")
_MAX_DEPTH = 3


def describe(context: Context, meter: Meter) -> Details:
    """The words of a context that a screen shows beside the numbers."""
    inline = [spec for message in context.messages for part in message.parts for spec in inline_tools(part)]
    tools = {name: details for spec in (*context.tools, *inline) for name, details in _tools(spec, "")}
    previews: dict[str, tuple[str, ...]] = {}
    skills: dict[str, str] = {}
    for text, part in _instructions(context):
        _read_text(text, part, meter, previews, skills)
    return Details(tools=tools, skills=skills, previews=previews)


def field_tree(schema: Any) -> tuple[Field, ...]:
    """The fields of a tool's schema in order, nested ones below their parent, three levels deep; no final period."""
    return tuple(_fields(schema, 0))


def first_line(text: str) -> str:
    """The first line that says something."""
    return next((line.strip() for line in text.splitlines() if line.strip()), "")


def _instructions(context: Context) -> Iterator[tuple[str, str]]:
    """Texts that may hold instruction files and skills, each with the wire type of its part."""
    yield from ((text, "") for text in context.system)
    for message in context.messages:
        if message.role in ("system", "developer", "user"):
            yield from ((part.text, part.wire_type) for part in message.parts if part.kind == "text")


def _read_text(
    text: str, part: str, meter: Meter, previews: dict[str, tuple[str, ...]], skills: dict[str, str]
) -> None:
    rest = []
    end = 0
    for block in find_blocks(text, meter.client, part):
        rest.append(text[end : block.start])
        end = block.end
        for entry in block.entries:
            body = text[entry.start : entry.end]
            if block.kind == "context":
                previews.setdefault(f"context:{entry.name}", _preview(body))
            else:
                skills.setdefault(entry.name, _skill_description(body))
    previews.setdefault("system", _preview("".join([*rest, text[end:]])))


def _preview(text: str) -> tuple[str, ...]:
    """The first lines, three or more line breaks closed up to two as where a block was taken out."""
    lines = _BLANK_LINES.sub("\n\n", text).strip().splitlines()[:PREVIEW_LINES]
    return tuple(line.rstrip() for line in lines)


def _skill_description(entry: str) -> str:
    _, marked, rest = entry.partition("<description>")
    if marked:
        return first_line(_unescape(rest.partition("</description>")[0]))
    return first_line(entry.partition(": ")[2])


def _unescape(text: str) -> str:
    """XML entities back to characters, the ampersand last (accounting specification, section 2)."""
    for entity, character in (("&apos;", "'"), ("&quot;", '"'), ("&gt;", ">"), ("&lt;", "<"), ("&amp;", "&")):
        text = text.replace(entity, character)
    return text


def _tools(spec: ToolSpec, prefix: str) -> Iterator[tuple[str, ToolDetails]]:
    for member in spec.tools:
        yield from _tools(member, f"{prefix}{spec.name}.")
    if not spec.tools:
        details = ToolDetails(
            description=first_line(spec.description), source=spec.source, fields=field_tree(spec.parameters)
        )
        yield prefix + spec.name, details


def _fields(schema: Any, depth: int) -> Iterator[Field]:
    properties = schema.get("properties") if isinstance(schema, dict) else None
    if not isinstance(properties, dict) or depth >= _MAX_DEPTH:
        return
    required = schema.get("required")
    for name, member in properties.items():
        facts = member if isinstance(member, dict) else {}
        description = facts.get("description")
        yield Field(
            name=name,
            type=type_text(facts),
            required=isinstance(required, list) and name in required,
            description=first_line(description).removesuffix(".") if isinstance(description, str) else "",
            depth=depth,
        )
        yield from _fields(facts, depth + 1)
        yield from _fields(facts.get("items"), depth + 1)
