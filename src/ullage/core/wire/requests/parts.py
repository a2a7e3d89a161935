"""Building blocks that the readers of all dialects share: each makes one `Part` and never raises."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ullage.core.content import Media, Message, Part, PartKind, Role
from ullage.core.wire import media
from ullage.core.wire.jsontext import as_text, compact, without_sealed

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

BlockReader = Callable[[dict[str, Any]], Part]
"""Makes a part of one block. One of unknown type may be no object at all."""

_ROLES: dict[str, Role] = {
    "system": "system",
    "developer": "developer",
    "user": "user",
    "assistant": "assistant",
    "model": "assistant",
    "tool": "tool",
    "function": "tool",
}
_MEDIA_PARTS: dict[str, PartKind] = {
    "image": "image",
    "document": "document",
    "audio": "audio",
    "video": "video",
}


def role_of(value: Any, default: Role = "user") -> Role:
    """The role by its wire name; an unknown name reads as the default."""
    return _ROLES.get(value, default) if isinstance(value, str) else default


def name_of(value: Any) -> str | None:
    """A non-empty string, else `None`."""
    return value if isinstance(value, str) and value else None


def text_part(text: Any, wire_type: str = "text") -> Part:
    """Prose that the model reads."""
    return Part(kind="text", text=as_text(text), wire_type=wire_type)


def typed_text_part(block: dict[str, Any]) -> Part:
    """A block of a type that holds text; without any it is kept as unknown."""
    return text_part(block["text"], type_of(block)) if "text" in block else other_part(block)


def content_parts(content: Any, readers: Mapping[str, BlockReader], other: BlockReader) -> list[Part]:
    """The parts of a content: a text alone, or blocks, each read by its type. `other` reads blocks of a type without a reader."""
    if isinstance(content, str):
        return [text_part(content)]
    return [_block_part(block, readers, other) for block in as_list(content)]


def _block_part(block: Any, readers: Mapping[str, BlockReader], other: BlockReader) -> Part:
    if isinstance(block, str):
        return text_part(block)
    return readers.get(type_of(block), other)(block)


def thinking_part(text: Any, *, sealed: Any = None, wire_type: str) -> Part:
    """Readable thinking and the length of what seals it: a signature or an encrypted copy lets the provider replay it."""
    chars = sealed_length(sealed)
    return Part(
        kind="thinking",
        text=as_text(text),
        carries_reasoning=chars > 0,
        sealed_chars=chars,
        wire_type=wire_type,
    )


def call_part(name: Any, arguments: Any, *, call_id: Any = None, sealed: Any = None, wire_type: str) -> Part:
    """A tool call; arguments that came as an object read as minified JSON."""
    chars = sealed_length(sealed)
    return Part(
        kind="tool_call",
        name=name_of(name),
        text=as_text(arguments),
        call_id=name_of(call_id),
        carries_reasoning=chars > 0,
        sealed_chars=chars,
        wire_type=wire_type,
    )


def result_part(
    parts: Sequence[Part],
    *,
    call_id: Any = None,
    name: Any = None,
    is_error: bool = False,
    wire_type: str,
) -> Part:
    """A tool result: one text alone is its `text`, anything else stays as nested parts."""
    alone = len(parts) == 1 and parts[0].kind == "text"
    return Part(
        kind="tool_result",
        text=parts[0].text if alone else "",
        parts=() if alone else tuple(parts),
        call_id=name_of(call_id),
        name=name_of(name),
        is_error=is_error,
        wire_type=wire_type,
    )


def media_part(media: Media, *, text: str = "", name: Any = None, wire_type: str) -> Part:
    """A picture, document, sound or film; `text` is what of it the model reads as text (a title, a plain document)."""
    return Part(kind=_MEDIA_PARTS[media.kind], media=media, text=text, name=name_of(name), wire_type=wire_type)


def sound_part(sound: dict[str, Any]) -> Part:
    """A sound as OpenAI's dialects send it: base64 with its format."""
    form = name_of(sound.get("format"))
    found = media.from_base64("audio", sound.get("data"), mime=f"audio/{form}" if form else None)
    return media_part(found, wire_type="input_audio")


def other_part(value: Any, wire_type: Any = None) -> Part:
    """Anything unknown: its JSON without sealed data."""
    kept, sealed = without_sealed(value)
    return Part(kind="other", text=as_text(kept), sealed_chars=sealed, wire_type=name_of(wire_type) or type_of(value))


def plain_json(value: Any) -> str:
    """Minified JSON without base64 and encrypted texts; a string as it is."""
    kept, _ = without_sealed(value)
    return as_text(kept)


def other_message(value: Any) -> Message:
    """A message that is no object: text of the user if it is text, else kept as unknown."""
    part = text_part(value) if isinstance(value, str) else other_part(value)
    return Message(role="user", parts=(part,))


def type_of(value: Any) -> str:
    """The wire name of a block; empty if it has none."""
    kind = value.get("type") if isinstance(value, dict) else None
    return kind if isinstance(kind, str) else ""


def sealed_length(value: Any) -> int:
    """Characters of a signature or an encrypted text, 0 for none."""
    return len(value) if isinstance(value, str) else 0


def as_list(value: Any) -> list[Any]:
    """A list as it is, nothing for `None`, anything else as a list of one."""
    if isinstance(value, list):
        return value
    return [] if value is None else [value]


def as_dict(value: Any) -> dict[str, Any]:
    """An object as it is, anything else as an empty one."""
    return value if isinstance(value, dict) else {}


def system_text(texts: Sequence[str]) -> str:
    """Several blocks of one system value, as one text."""
    return "\n".join(text for text in texts if text)


__all__ = [
    "BlockReader",
    "as_dict",
    "as_list",
    "as_text",
    "call_part",
    "compact",
    "content_parts",
    "media_part",
    "name_of",
    "other_message",
    "other_part",
    "plain_json",
    "result_part",
    "role_of",
    "sealed_length",
    "sound_part",
    "system_text",
    "text_part",
    "thinking_part",
    "type_of",
    "typed_text_part",
]
