"""Which tool results of a message are large enough to become artifacts, and the texts that may stand for them.

Works on slices of a request, of which `replace_result` of `core.wire` then changes these texts and nothing else.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from msgspec import Struct

from ullage.core.tokens.estimators import utf16_units
from ullage.core.wire import read_message, result_texts

from .artifacts import Artifact, make_artifact, reference_text, should_offload

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ullage.core.content import Message, Part
    from ullage.core.wire import Dialect, Slice

    from .artifacts import ArtifactCaps
    from .outputs import Redact

LOOKUP_TOOLS = ("artifact_read", "artifact_search", "history_read", "history_search")
"""Tools of our own server. What they give is bounded, and a reference to it would only send the model in a circle (R47)."""

# Clients put the server's name before that of a tool: `mcp__ullage__artifact_read`, `ullage_artifact_read`.
_LOOKUP = re.compile(rf"(?:.*[^A-Za-z0-9])?(?:{'|'.join(LOOKUP_TOOLS)})", re.DOTALL)

# Gemini's own code tool, whose result cannot be replaced.
_HOSTED_RESULT = "codeExecutionResult"


class Offer(Struct, frozen=True, kw_only=True, gc=False):
    """A large tool result: the place it has among the message's results, what it is, and the text that may stand for it."""

    ordinal: int
    artifact: Artifact
    text: str


def is_lookup(tool: str) -> bool:
    """Whether a tool is one of our lookups, whatever a client makes of its name."""
    return _LOOKUP.fullmatch(tool) is not None


def find_calls(message: Message) -> tuple[tuple[str, str], ...]:
    """Id and tool of each call that a message makes, for naming what answers them."""
    parts = (part for part in message.parts if part.kind == "tool_call")
    return tuple((part.call_id, part.name) for part in parts if part.call_id and part.name)


def may_offer(piece: Slice, caps: ArtifactCaps) -> bool:
    """Whether a message can hold a result that is too long at all: JSON takes a byte for every character at least."""
    return should_offload(len(piece.raw), caps.inline_chars)


def find_offers(
    piece: Slice, dialect: Dialect, names: Mapping[str, str], caps: ArtifactCaps, redact: Redact
) -> tuple[Offer, ...]:
    """The large tool results of a message. `names` are the tools of the calls before it, by call id.

    Left as they are: results of the provider's own tools, which stand in the model's messages; those of our own lookups; those
    larger than an object may be; those that a reference would not make shorter.
    """
    if not may_offer(piece, caps):
        return ()
    message = read_message(piece, dialect)
    results = [part for part in message.parts if part.kind == "tool_result" and part.wire_type != _HOSTED_RESULT]
    texts = result_texts(piece, dialect)
    if message.role != "tool" or len(results) != len(texts):
        return ()
    found = (
        _offer(ordinal, part, text, names, caps, redact)
        for ordinal, (part, text) in enumerate(zip(results, texts, strict=True))
    )
    return tuple(offer for offer in found if offer is not None)


def _offer(
    ordinal: int, part: Part, text: str | None, names: Mapping[str, str], caps: ArtifactCaps, redact: Redact
) -> Offer | None:
    if text is None or not should_offload(utf16_units(text), caps.inline_chars):
        return None
    tool = part.name or names.get(part.call_id or "")
    if tool is not None and is_lookup(tool):
        return None
    artifact = make_artifact(text, call_id=part.call_id, tool=tool, is_error=part.is_error)
    if artifact.size_bytes > caps.object_bytes:
        return None
    reference = reference_text(artifact, text, caps, redact)
    if utf16_units(reference) >= artifact.chars:
        return None
    return Offer(ordinal=ordinal, artifact=artifact, text=reference)
