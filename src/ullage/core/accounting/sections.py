"""Sections from entries: grouped, titled, in the order in which they are shown."""

from __future__ import annotations

import re
from collections import defaultdict
from typing import TYPE_CHECKING

from .breakdown import Item, Section

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from .measure import Entry

HARNESS = ("system", "context", "skills", "tools", "schema", "unrecorded")
"""Sections of what the client sends before the conversation; `context` stands for every `context:<path>`."""

SESSION = ("tool_outputs", "messages", "thinking_summaries", "reasoning", "framing")

_TITLES = {
    "system": "Runtime system prompt",
    "skills": "Skill frontmatter",
    "tools": "Tools",
    "schema": "Output schema",
    "unrecorded": "Not in the file",
    "tool_outputs": "Tool outputs",
    "messages": "Messages",
    "thinking_summaries": "Thinking summaries",
    "reasoning": "Reasoning context",
    "framing": "Framing",
}
_ORDER = (*HARNESS, *SESSION)
_HOME = re.compile(r"^(?:/(?:home|Users)/[^/]+|/root|[A-Z]:\\Users\\[^\\]+)(?=[/\\])")
_USER_FILE = re.compile(r"^~[/\\]\.(?:claude|codex|gemini|pi[/\\]agent|config[/\\]opencode)[/\\]([^/\\]+)$")


def short_path(path: str) -> str:
    """The path with the home folder as `~`."""
    return _HOME.sub("~", path)


def section_kind(section_id: str) -> str:
    """The id without the path of a context file."""
    return section_id.partition(":")[0]


def kind_title(kind: str) -> str:
    """The title of a kind of section, whatever is in it; the files of `context` together are instruction files."""
    return "Instruction files" if kind == "context" else _TITLES.get(kind, kind)


def context_title(path: str) -> str:
    """A context file's title: its short path, or `Global NAME` for the user's own."""
    short = short_path(path)
    match = _USER_FILE.match(short)
    return f"Global {match[1]}" if match else short


def make_sections(entries: Iterable[Entry]) -> list[Section]:
    """Groups entries into sections; a context file is a section of its own."""
    groups: dict[str, list[Entry]] = defaultdict(list)
    for entry in entries:
        groups[f"context:{entry.name}" if entry.section == "context" else entry.section].append(entry)
    sections = [_section(section_id, members) for section_id, members in groups.items()]
    return sorted(sections, key=lambda section: _ORDER.index(section_kind(section.id)))


def _section(section_id: str, entries: Sequence[Entry]) -> Section:
    kind, _, path = section_id.partition(":")
    items = () if kind == "context" else tuple(_items(entries))
    return Section(
        id=section_id,
        title=context_title(path) if kind == "context" else _title(kind, entries),
        tokens=sum(entry.tokens for entry in entries),
        low=sum(entry.low for entry in entries),
        high=sum(entry.high for entry in entries),
        chars=sum(entry.chars for entry in entries if entry.loaded_tokens is None),
        method=_main_method(entries),
        items=items,
    )


def _title(kind: str, entries: Sequence[Entry]) -> str:
    title = _TITLES[kind]
    if kind == "skills":
        return f"{title} ({sum(entry.count for entry in entries if entry.name)})"
    if kind == "tools":
        tools = [entry for entry in entries if entry.name != TOOL_BLOCK]
        active = sum(entry.count for entry in tools if entry.loaded_tokens is None)
        return f"{title} ({active}/{sum(entry.count for entry in tools)} active)"
    return title


TOOL_BLOCK = "tool block"
"""Item of what the first tool costs beside its definition."""


def _items(entries: Sequence[Entry]) -> list[Item]:
    """One item a name, in order of first appearance."""
    groups: dict[str, list[Entry]] = defaultdict(list)
    for entry in entries:
        groups[entry.name].append(entry)
    return [_item(name, members) for name, members in groups.items()]


def _item(name: str, entries: Sequence[Entry]) -> Item:
    first = entries[0]
    return Item(
        name=name,
        tokens=sum(entry.tokens for entry in entries),
        low=sum(entry.low for entry in entries),
        high=sum(entry.high for entry in entries),
        chars=sum(entry.chars for entry in entries),
        count=sum(entry.count for entry in entries),
        state=first.method if first.loaded_tokens is not None else None,
        loaded_tokens=first.loaded_tokens,
    )


def _main_method(entries: Sequence[Entry]) -> str:
    weights: dict[str, int] = defaultdict(int)
    for entry in entries:
        weights[entry.method] += abs(entry.tokens) + entry.count
    return max(weights, key=lambda method: weights[method])
