"""Seals of reasoning on their way through a client that speaks another dialect: wrapped with their owner's name, and unwrapped.

A client sends back what it was given. So the signature or the encrypted reasoning of one provider travels in the place where
another keeps its own, and is found again when the conversation goes back to its owner.
"""

from __future__ import annotations

import binascii
import re
from typing import TYPE_CHECKING

from ullage.core.wire import DIALECTS, read_message, render
from ullage.core.wire.foreign import without_thinking
from ullage.core.wire.thinking import write_thinking

from .models import base_name
from .nouns import Seal

if TYPE_CHECKING:
    from collections.abc import Collection

    from ullage.core.wire import Conversation, Dialect

_LEAD = "ullage:1:"
# Gemini's signatures are bytes, so in its dialect the wrapped seal is base64; nine bytes make twelve characters without padding.
_LEAD_BASE64 = "dWxsYWdlOjE6"
_MARKS = (_LEAD.encode(), _LEAD_BASE64.encode())
SEAL_MARK_BYTES = max(map(len, _MARKS))
"""The length of what a seal is known by."""
_WORD = re.compile(r"[a-z]+")


def family_of(model: str) -> str:
    """The first word of a model's name: `claude` of `anthropic/claude-sonnet-4-5`. Seals are good within it at most."""
    word = _WORD.match(base_name(model))
    return word[0] if word is not None else ""


def wrap(seal: Seal, dialect: Dialect) -> str:
    """The seal as a client of this dialect is given it, in the place where that dialect keeps its own."""
    text = f"{_LEAD}{seal.owner}:{seal.family}:{seal.id}:{seal.data}"
    return binascii.b2a_base64(text.encode(), newline=False).decode() if dialect == "gemini" else text


def unwrap(text: str, dialect: Dialect, *, item_id: str = "") -> Seal:
    """The seal that a client sent back. What was not wrapped here belongs to the provider of the client's own dialect."""
    plain = _from_base64(text) if text.startswith(_LEAD_BASE64) else text
    owner, _, rest = plain.removeprefix(_LEAD).partition(":")
    if not plain.startswith(_LEAD) or owner not in DIALECTS:
        return Seal(owner=dialect, data=text, id=item_id)
    family, _, rest = rest.partition(":")
    inner_id, _, data = rest.partition(":")
    return Seal(owner=next(one for one in DIALECTS if one == owner), family=family, id=inner_id, data=data)


def opens_for(seal: Seal, target: Dialect, model: str) -> bool:
    """Whether the model of a target can read the seal: its dialect's, and of the same family where one is named."""
    return seal.owner == target and (not seal.family or seal.family == family_of(model))


def without_wrapped(conversation: Conversation) -> bytes:
    """A request without the reasoning that targets of other dialects gave its client, whose own provider would refuse it.

    For requests that go untranslated. The same bytes where there is none.
    """
    if not holds_seal(conversation.body):
        return conversation.body
    gone: set[int] = set()
    replaced: dict[int, bytes] = {}
    for index, piece in enumerate(conversation.messages):
        raw = without_thinking(piece, conversation.dialect) if holds_seal(piece.raw) else piece.raw
        if raw is None:
            gone.add(index)
        elif raw != piece.raw:
            replaced[index] = raw
    kept = [index for index in range(len(conversation.messages)) if index not in gone]
    options = write_thinking(conversation, None, "off").options if _is_loop_of(conversation, replaced) else {}
    return render(conversation, messages=kept if gone else None, replaced=replaced, options=options)


def _is_loop_of(conversation: Conversation, changed: Collection[int]) -> bool:
    """Whether results are sent for calls that Anthropic now sees without thinking: such a loop must go on without."""
    if conversation.dialect != "anthropic" or not conversation.messages:
        return False
    roles = [read_message(piece, "anthropic").role for piece in conversation.messages[-1:]]
    last = max(changed, default=None)
    return roles == ["tool"] and last is not None and last >= len(conversation.messages) - 2


def holds_seal(raw: bytes, start: int = 0) -> bool:
    """Whether a request, or a part of one, may hold what was wrapped here, from a byte on: surely not where it is false."""
    return any(raw.find(mark, start) >= 0 for mark in _MARKS)


def _from_base64(text: str) -> str:
    try:
        return binascii.a2b_base64(text).decode()
    except (binascii.Error, UnicodeDecodeError):
        return ""
