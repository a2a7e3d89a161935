"""Thinking that another model wrote, taken out of a message: its signature is no good to anybody else (complaint C10).

Routing specification, section 19. What a dialect's model needs to go on is left: text, calls and results.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .edits import apply, sibling_cuts
from .jsontext import decode
from .slicing import elements, find_member, members

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from .conversation import Dialect, Member, Slice
    from .edits import Edit
    from .slicing import Span

_THINKING = frozenset({"thinking", "redacted_thinking"})
# OpenAI's answer is known by its ids to the reasoning that it came with; without that, they lead nowhere.
_OWN_ITEMS = frozenset({"message", "function_call", "custom_tool_call"})
_CHAT_MEMBERS = frozenset({"reasoning", "reasoning_content", "reasoning_details", "thinking"})
_SIGNATURES = ("thoughtSignature", "thought_signature")
_UNSIGNED = b'"skip_thought_signature_validator"'
"""What Google lets a call have in place of another model's signature (its manual on thought signatures)."""


def without_thinking(piece: Slice, dialect: Dialect) -> bytes | None:
    """The message of a model without its thinking: the same bytes where it has none, `None` where it has nothing else."""
    raw = piece.raw
    if raw[:1] != b"{":
        return raw
    found = members(raw)
    edits = _EDITS[dialect](raw, found)
    if edits is None:
        return None
    return apply(raw, edits) if edits else raw


def _anthropic(raw: bytes, found: Sequence[Member]) -> list[Edit] | None:
    return _block_cuts(raw, find_member(found, "content"), lambda block: _word(raw, block, "type") in _THINKING)


def _responses(raw: bytes, found: Sequence[Member]) -> list[Edit] | None:
    kind = _word(raw, found, "type")
    if kind == "reasoning":
        return None
    named = kind in _OWN_ITEMS or (not kind and _word(raw, found, "role") == "assistant")
    return _member_cuts(found, {"id"}) if named else []


def _chat(raw: bytes, found: Sequence[Member]) -> list[Edit] | None:
    edits = _member_cuts(found, _CHAT_MEMBERS)
    cuts = _block_cuts(raw, find_member(found, "content"), lambda block: _word(raw, block, "type") == "thinking")
    calls = find_member(found, "tool_calls")
    if calls is not None and raw[calls.value : calls.value + 1] == b"[":
        for start, end in elements(raw, calls.value, calls.end):
            if raw[start : start + 1] == b"{":
                edits += _member_cuts(members(raw, start, end), {"extra_content"})
    return [*edits, *(cuts or [])]


def _gemini(raw: bytes, found: Sequence[Member]) -> list[Edit] | None:
    holder = find_member(found, "parts")
    cuts = _block_cuts(raw, holder, lambda part: _is_true(raw, part, "thought"))
    if cuts is None or holder is None:
        return cuts
    for part in _objects(raw, holder):
        if part is None or _is_true(raw, part, "thought"):
            continue
        signed = [member for member in part if member.key in _SIGNATURES]
        if any(member.key in ("functionCall", "function_call") for member in part):
            cuts += [(member.value, member.end, _UNSIGNED) for member in signed]
        else:
            cuts += _member_cuts(part, _SIGNATURES)
    return cuts


_EDITS: Mapping[Dialect, Callable[[bytes, Sequence[Member]], list[Edit] | None]] = {
    "anthropic": _anthropic,
    "openai-responses": _responses,
    "openai-chat": _chat,
    "gemini": _gemini,
}


def _block_cuts(
    raw: bytes, holder: Member | None, is_thinking: Callable[[Sequence[Member]], bool]
) -> list[Edit] | None:
    """The cuts of blocks in the list that a member holds; `None` if that leaves none."""
    if holder is None or raw[holder.value : holder.value + 1] != b"[":
        return []
    spans = elements(raw, holder.value, holder.end)
    alive = [block is None or not is_thinking(block) for block in _objects(raw, holder)]
    if spans and not any(alive):
        return None
    return sibling_cuts(spans.__getitem__, alive)


def _objects(raw: bytes, holder: Member) -> list[Sequence[Member] | None]:
    """The members of each element of a list; `None` for one that is no object."""
    if raw[holder.value : holder.value + 1] != b"[":
        return []
    return [_object(raw, span) for span in elements(raw, holder.value, holder.end)]


def _object(raw: bytes, span: Span) -> Sequence[Member] | None:
    return members(raw, *span) if raw[span[0] : span[0] + 1] == b"{" else None


def _member_cuts(found: Sequence[Member], keys: Collection[str]) -> list[Edit]:
    alive = [member.key not in keys for member in found]
    return sibling_cuts(lambda index: (found[index].start, found[index].end), alive) if any(alive) else []


def _word(raw: bytes, found: Sequence[Member], key: str) -> str:
    member = find_member(found, key)
    value = decode(raw[member.value : member.end]) if member is not None else None
    return value if isinstance(value, str) else ""


def _is_true(raw: bytes, found: Sequence[Member], key: str) -> bool:
    member = find_member(found, key)
    return member is not None and raw[member.value : member.end] == b"true"
