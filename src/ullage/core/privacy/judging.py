"""One text as its destination may see it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from ullage.core.wire.jsontext import DATA_MIN_CHARS, looks_sealed

from .classes import Classification, highest
from .markers import find_bare_markers, find_markers, read_markers
from .placeholders import SECRET, is_placeholder, withheld
from .rules import is_secret_name
from .scanning import readings
from .secrets import find_secrets, redact

if TYPE_CHECKING:
    from .destination import Destination

# Where the dialects put what only machines read. Letters of a token turn up there by chance.
_MACHINE_NAMES = frozenset(
    {
        "b64_json",
        "data",
        "encrypted_content",
        "encrypted_index",
        "file_data",
        "image_url",
        "result",
        "signature",
        "thoughtSignature",
        "thought_signature",
        "url",
    }
)
_VALUE_MIN_CHARS = 4


class Judged(Struct, frozen=True):
    """A text after the rules of its destination.

    `classification` is the highest class that was in it, `floor` the one that unclear markers give to all around it. `blocked`
    are the pieces that were withheld for their class, `secrets` the kinds of credentials that were.
    """

    text: str
    classification: Classification
    floor: Classification | None = None
    blocked: int = 0
    secrets: tuple[str, ...] = ()


def judge_text(text: str, destination: Destination, base: Classification, *, name: str = "") -> Judged:
    """The text with what is blocked replaced, markers taken out and secrets withheld (sections 23.1 and 23.3).

    `base` is its class without markers, which those can only raise. `name` is that of the member whose value it is.
    """
    text = _plainest(text, destination)
    reading = read_markers(text)
    pieces: list[str] = []
    blocked = 0
    for segment in reading.segments:
        classification = highest(base, segment.classification)
        if destination.allows(classification) or (not segment.text and segment.classification == "normal"):
            pieces.append(segment.text)
        else:
            pieces.append(withheld(classification))
            blocked += 1
    judged, kinds = _without_secrets("".join(pieces), name) if destination.redact else ("".join(pieces), [])
    return Judged(
        text=judged,
        classification=highest(base, *(segment.classification for segment in reading.segments)),
        floor=reading.floor,
        blocked=blocked,
        secrets=tuple(kinds),
    )


def is_clean(text: str, destination: Destination, *, name: str = "") -> bool:
    """Whether nothing of a text has to be changed, so long as its class without markers is allowed."""
    return not any(find_markers(reading) or _has_secrets(reading, destination, name) for reading in readings(text))


def may_leave(text: str, destination: Destination, *, name: str = "") -> bool:
    """Whether a text holds nothing that the destination may not see: no marker of a class that is blocked, no secret."""
    return not any(
        any(not destination.allows(marker.classification) for marker in find_bare_markers(reading))
        or _has_secrets(reading, destination, name)
        for reading in readings(text)
    )


def _plainest(text: str, destination: Destination) -> str:
    """The text with its escapes read, if only so it shows what it holds."""
    first, *others = readings(text)
    if others and not is_clean(text, destination) and _is_clean_as_it_is(first, destination):
        return others[0]
    return first


def _is_clean_as_it_is(text: str, destination: Destination) -> bool:
    return not find_markers(text) and not _has_secrets(text, destination, "")


def _has_secrets(text: str, destination: Destination, name: str) -> bool:
    return destination.redact and (_is_secret_value(text, name) or bool(_secrets_of(text, name)))


def _without_secrets(text: str, name: str) -> tuple[str, list[str]]:
    if _is_secret_value(text, name):
        return SECRET, ["assignment"]
    return redact(text) if _secrets_of(text, name) else (text, [])


def _secrets_of(text: str, name: str) -> bool:
    found = find_secrets(text)
    if found and name in _MACHINE_NAMES and looks_sealed(text, min_chars=DATA_MIN_CHARS):
        return found[0].start == 0
    return bool(found)


def _is_secret_value(text: str, name: str) -> bool:
    return len(text) >= _VALUE_MIN_CHARS and is_secret_name(name) and not is_placeholder(text)
