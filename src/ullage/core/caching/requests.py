"""A wire request as a chain."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xxhash import xxh3_64_intdigest

from ullage.core.accounting.insights import find_marks, marks_on
from ullage.core.wire.jsontext import decode

from .chains import Chain, Mark, make_chain

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from ullage.core.profiles.cache_rules import CacheRule
    from ullage.core.wire import Conversation, Slice

_LONG_TTL = "1h"
_RETENTION = "prompt_cache_retention"
_LONG_RETENTION = b'"24h"'
# What a request goes on from that it does not hold: Gemini's cached content, a conversation that Responses keep.
_KEPT_ELSEWHERE = ("cachedContent", "cached_content", "conversation")
# Deep enough for `{"type":"text","text":"` with spaces.
_OPENING_BYTES = 64


def chain_of(
    conversation: Conversation,
    rule: CacheRule,
    *,
    hashes: Sequence[int],
    weights: Iterable[int],
    turn: int = 0,
    marks_of: Callable[[Slice], tuple[str | None, ...]] = marks_on,
    translated: bool = False,
) -> Chain:
    """The chain of a request whose slices have these canonical hashes and tokens: tools, system, messages. `turn` is the position
    behind the message that opened the current turn; `marks_of` may remember what `marks_on` said of a slice. A `translated` one
    gets marks where its client has set none."""
    tools, system = len(conversation.tools), len(conversation.system)
    if rule.passed_over is not None and system:
        passed = {
            tools + piece.index for piece in conversation.system if rule.passed_over in piece.raw[:_OPENING_BYTES]
        }
        hashes = [0 if index in passed else number for index, number in enumerate(hashes)] if passed else hashes
        weights = (0 if index in passed else weight for index, weight in enumerate(weights))
    return make_chain(
        hashes,
        weights,
        tools=tools,
        system=system,
        marks=(_marks(conversation, marks_of) or _usual_marks(conversation, translated=translated))
        if rule.kind == "marks"
        else (),
        options=_options(conversation, rule.message_options),
        long=conversation.options.get(_RETENTION) == _LONG_RETENTION,
        turn=turn,
    )


def is_whole(conversation: Conversation) -> bool:
    """Whether the request holds its whole prompt: it does not if it goes on from what its provider keeps."""
    if conversation.previous_response_id is not None:
        return False
    return all(conversation.options.get(key, b"null") == b"null" for key in _KEPT_ELSEWHERE)


def count_blocks(piece: Slice) -> int:
    """How many content blocks a slice has, as marks look back over them."""
    value = decode(piece.raw)
    content = value.get("content") if isinstance(value, dict) and piece.kind == "message" else None
    return max(1, len(content)) if isinstance(content, list) else 1


def _marks(conversation: Conversation, marks_of: Callable[[Slice], tuple[str | None, ...]]) -> list[Mark]:
    tools, system = len(conversation.tools), len(conversation.system)
    before = {"tool": 0, "system": tools, "message": tools + system}
    found: dict[int, Mark] = {}
    for mark in find_marks(conversation, marks_of):
        position = before[mark.kind] + mark.index + 1
        known = found.get(position)
        found[position] = Mark(position, mark.ttl == _LONG_TTL or (known is not None and known.long))
    return [found[position] for position in sorted(found)]


def _usual_marks(conversation: Conversation, *, translated: bool) -> list[Mark]:
    """Those of translations (`core.translation`): behind what all requests of a conversation begin with, and at its end."""
    head, messages = len(conversation.tools) + len(conversation.system), len(conversation.messages)
    if not translated or not (conversation.tools or messages > 1):
        return []
    return [Mark(position) for position in sorted({head, head + messages}) if position]


def _options(conversation: Conversation, names: Iterable[str]) -> int:
    """A hash of these options as they came; 0 if the request has none of them."""
    present = [name.encode() + b"=" + conversation.options[name] for name in names if name in conversation.options]
    return xxh3_64_intdigest(b"\0".join(present)) if present else 0
