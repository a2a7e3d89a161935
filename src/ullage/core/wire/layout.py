"""Which members of a request hold its system blocks, tools and messages, per dialect, and the places of the slices in them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from .slicing import Span, elements, find_member, members, members_and_elements

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .conversation import Dialect, Member, SliceKind

_NULL = b"null"


class Layout(Struct, frozen=True, kw_only=True):
    """Keys of the top-level object, and those of a list one level further in.

    `wrapper` names a member whose object holds the conversation in place of the top level. `system_inner` and `tool_inner` are
    keys of a list inside a system value or inside one tool: its elements are the slices (Gemini's `parts` and
    `functionDeclarations`).
    """

    messages: tuple[str, ...]
    system: tuple[str, ...] = ()
    tools: tuple[str, ...] = ("tools",)
    system_inner: frozenset[str] = frozenset()
    tool_inner: frozenset[str] = frozenset()
    wrapper: str | None = None


LAYOUTS: dict[Dialect, Layout] = {
    "openai-chat": Layout(messages=("messages",), tools=("tools", "functions")),
    "openai-responses": Layout(messages=("input",), system=("instructions",)),
    "anthropic": Layout(messages=("messages",), system=("system",)),
    "gemini": Layout(
        messages=("contents",),
        system=("systemInstruction", "system_instruction"),
        system_inner=frozenset({"parts"}),
        tool_inner=frozenset({"functionDeclarations", "function_declarations"}),
        wrapper="generateContentRequest",
    ),
}


class Node(Struct, frozen=True):
    """A value in the body: a slice itself (`children` is `None`), or a holder of slices that stand side by side in a list."""

    start: int
    end: int
    children: tuple[Node, ...] | None = None

    def leaves(self) -> list[Span]:
        """The spans of the slices, in order."""
        if self.children is None:
            return [(self.start, self.end)]
        return [span for child in self.children for span in child.leaves()]


def members_and_messages(body: bytes, start: int, layout: Layout) -> tuple[tuple[Member, ...], list[Span]]:
    """The members of the object that holds the conversation (the top level, or what `wrapper` names), and the messages' spans."""
    for key in layout.messages:
        found = members_and_elements(body, start, key)
        if found is not None:
            return found
    root = _root_members(body, start, layout)
    holder = list_member(root, layout.messages)
    return root, list_spans(body, holder.value, holder.end) if holder is not None else []


def _root_members(body: bytes, start: int, layout: Layout) -> tuple[Member, ...]:
    top = members(body, start)
    wrapper = find_member(top, layout.wrapper) if layout.wrapper is not None else None
    if wrapper is None or _is(body, wrapper.value) != "{" or list_member(top, layout.messages) is not None:
        return top
    return members(body, wrapper.value, wrapper.end)


def list_member(found: Sequence[Member], keys: Sequence[str]) -> Member | None:
    """The member under one of the keys that counts."""
    return next((member for key in keys if (member := find_member(found, key)) is not None), None)


def holders(body: bytes, found: Sequence[Member], layout: Layout, kind: SliceKind) -> list[tuple[Member, Node]]:
    """The members that hold the system blocks or the tools, each with its tree."""
    keys = layout.system if kind == "system" else layout.tools
    present = [member for key in keys if (member := find_member(found, key)) is not None]
    tree = _system_tree if kind == "system" else _tool_tree
    return [(member, tree(body, member.value, member.end, layout)) for member in present]


def list_spans(body: bytes, start: int, end: int) -> list[Span]:
    """The elements of an array; any other value stands for a list of one, `null` for an empty one."""
    if _is(body, start) == "[":
        return elements(body, start, end)
    return [] if body[start:end] == _NULL else [(start, end)]


def _system_tree(body: bytes, start: int, end: int, layout: Layout) -> Node:
    inner = _inner_lists(body, start, end, layout.system_inner)
    if inner:
        return Node(start, end, tuple(_leaves(body, inner)))
    return Node(start, end, tuple(Node(*span) for span in list_spans(body, start, end)))


def _tool_tree(body: bytes, start: int, end: int, layout: Layout) -> Node:
    return Node(start, end, tuple(_one_tool(body, *span, layout) for span in list_spans(body, start, end)))


def _one_tool(body: bytes, start: int, end: int, layout: Layout) -> Node:
    inner = _inner_lists(body, start, end, layout.tool_inner)
    return Node(start, end, tuple(_leaves(body, inner)) if len(inner) == 1 else None)


def _inner_lists(body: bytes, start: int, end: int, keys: frozenset[str]) -> list[Member]:
    """Members of the object under one of the keys; none if it holds anything else that a model reads.

    A tool that mixes declarations with a hosted tool is one slice, since neither could leave alone.
    """
    if not keys or _is(body, start) != "{":
        return []
    found = members(body, start, end)
    if any(member.key not in keys and member.key != "role" for member in found):
        return []
    return [member for member in found if member.key in keys]


def _leaves(body: bytes, lists: Sequence[Member]) -> list[Node]:
    return [Node(*span) for member in lists[-1:] for span in list_spans(body, member.value, member.end)]


def _is(body: bytes, position: int) -> str:
    return chr(body[position])
