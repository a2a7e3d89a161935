"""Signatures of thinking that hold for one conversation alone, as the newest Claude models give them.

Such a signature stands for all that the model had before it (prompt, tools in any order, messages; not cache marks, nor earlier
thinking) and for the thinking right before it. The oldest thinking may be left out, none between others (Anthropic's pages on
preserved thinking and its prefix checks, autumn 2026). Like `strict`, this uses nothing of what plans requests.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import msgspec
from xxhash import xxh3_64, xxh3_64_hexdigest

from .dialects.events import seal
from .prompt import as_dict, as_list, blocks_of

if TYPE_CHECKING:
    from collections.abc import Iterator

BOUND = re.compile(r"claude-(?:fable-5[-.][12]|mythos-5[-.]2|(?:opus|sonnet|haiku)-5[-.]5)(?!\d)")
"""The models that check it. Mythos 5.1 gives such signatures, and takes any."""

_THINKING = ("thinking", "redacted_thinking")
# A line of Claude Code's that differs from request to request and is no part of the prompt.
_PASSED_OVER = "x-anthropic-billing-header"
_encode = msgspec.json.Encoder(order="sorted").encode
_LOST = "Invalid `signature` in `thinking` block. The block is bound to a different conversation."


def sign(text: str, payload: dict[str, Any]) -> str:
    """The signature of thinking that answers a request."""
    if not BOUND.search(str(payload.get("model"))):
        return seal(text)
    prefix = _Prefix(payload)
    before = ""
    for message in map(as_dict, as_list(payload.get("messages"))):
        prefix.add(message)
        for _, block in _thinking_of(message):
            before = _signature(block)
    return f"{seal(text)}.{prefix.digest()}.{_short(before)}"


def find_unbound(payload: dict[str, Any]) -> Iterator[str]:
    """The thinking that its model would refuse since it was made in another conversation, each by its place."""
    binding = as_dict(as_dict(payload.get("thinking")).get("block_binding"))
    if binding.get("prefix_mismatch_behavior") == "drop_block" or not BOUND.search(str(payload.get("model"))):
        return
    prefix = _Prefix(payload)
    before = ""
    for place, message in enumerate(map(as_dict, as_list(payload.get("messages")))):
        for number, block in _thinking_of(message):
            signature = _signature(block)
            _, digest, previous = (*signature.split("."), "", "")[:3]
            if digest and (digest != prefix.digest() or (before and previous != _short(before))):
                yield f"messages.{place}.content.{number}: {_LOST}"
            before = signature
        prefix.add(message)


class _Prefix:
    """All that stands before a message."""

    def __init__(self, payload: dict[str, Any]) -> None:
        self._hash = xxh3_64()
        system = [_bare(block) for block in blocks_of(payload.get("system"))]
        self._put([block for block in system if not str(as_dict(block).get("text")).startswith(_PASSED_OVER)])
        self._put(sorted(map(_bare, as_list(payload.get("tools"))), key=lambda tool: str(as_dict(tool).get("name"))))

    def add(self, message: dict[str, Any]) -> None:
        blocks = [_bare(block) for block in blocks_of(message.get("content")) if not _is_thinking(block)]
        self._put([message.get("role"), *blocks])

    def digest(self) -> str:
        return self._hash.hexdigest()

    def _put(self, value: Any) -> None:
        self._hash.update(_encode(value))


def _bare(block: Any) -> Any:
    return {key: value for key, value in block.items() if key != "cache_control"} if isinstance(block, dict) else block


def _is_thinking(block: Any) -> bool:
    return as_dict(block).get("type") in _THINKING


def _thinking_of(message: dict[str, Any]) -> Iterator[tuple[int, dict[str, Any]]]:
    for number, block in enumerate(blocks_of(message.get("content"))):
        if _is_thinking(block):
            yield number, block


def _signature(block: dict[str, Any]) -> str:
    return str(block.get("signature") or block.get("data") or "")


def _short(signature: str) -> str:
    return xxh3_64_hexdigest(signature.encode("utf-8", "replace"))
