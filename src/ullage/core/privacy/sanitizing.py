"""A slice of a request as its destination may see it: texts and names are edited, nothing is dropped (section 23.3)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct

from ullage.core.errors import PrivacyError
from ullage.core.wire.texts import FLAT, Editor, Place, Value, rewrite

from .blanking import blank, thinking_block
from .classes import CLASSES, Classification, highest
from .judging import is_clean, judge_text, may_leave
from .scanning import find_suspects

if TYPE_CHECKING:
    from ullage.core.wire import Dialect, SliceKind

    from .destination import Destination


class Outcome(Struct, frozen=True, kw_only=True):
    """What became of a slice. `raw` is `None` if every byte stays.

    `classification` is the highest class in it, `floor` the class that unclear markers gave to all of it. `blocked` counts the
    values that were withheld for their class, `secrets` the credentials.
    """

    raw: bytes | None = None
    classification: Classification = "normal"
    floor: Classification | None = None
    blocked: int = 0
    secrets: int = 0


CLEAN: dict[Classification, Outcome] = {one: Outcome(classification=one) for one in CLASSES}
"""What becomes of a slice with nothing in it that has to be changed, by its class; nearly all are this."""


def sanitize_slice(
    raw: bytes, dialect: Dialect, kind: SliceKind, destination: Destination, *, floor: Classification = "normal"
) -> Outcome:
    """The slice without what the destination may not see.

    `floor` is the least class of all of it. Unclear markers anywhere in it raise that, also across its texts and for text that is
    classified already. A blocked slice keeps its names, ids and types; its texts name the class in place of what they held.
    Raises `PrivacyError` if that cannot be done.
    """
    base = highest(destination.base, floor)
    if not destination.allows(base):
        return _blanked(raw, dialect, kind, destination, base, None)
    if holds_nothing(raw, destination):
        return CLEAN[base]
    editor, edited = _edit(raw, dialect, destination, base, Place())
    if editor.floor is None and not passes(edited, destination):
        editor, edited = _edit(raw, dialect, destination, base, FLAT)
    if not destination.allows(highest(base, editor.floor or base)) or not passes(edited, destination):
        return _blanked(raw, dialect, kind, destination, editor.classification, editor.floor)
    return Outcome(
        raw=edited if edited != raw else None,
        classification=editor.classification,
        floor=editor.floor,
        blocked=editor.blocked,
        secrets=editor.secrets,
    )


def _edit(
    raw: bytes, dialect: Dialect, destination: Destination, base: Classification, place: Place
) -> tuple[TextEditor, bytes]:
    editor = TextEditor(destination, base, dialect)
    return editor, rewrite(raw, editor, place)


def holds_nothing(raw: bytes, destination: Destination) -> bool:
    """Whether no text of a piece of JSON has to be edited, so long as its class without markers is allowed."""
    return all(
        is_clean(suspect.text, destination, name=suspect.name)
        for suspect in find_suspects(raw, secrets=destination.redact)
    )


def passes(body: bytes, destination: Destination, start: int = 0) -> bool:
    """Whether bytes hold, from `start` on, no marker of a blocked class and no secret: the check of what is about to leave."""
    return all(
        may_leave(suspect.text, destination, name=suspect.name)
        for suspect in find_suspects(body, secrets=destination.redact, start=start)
    )


class TextEditor(Editor):
    """Judges each text and each name, and sums up what it met."""

    def __init__(self, destination: Destination, base: Classification, dialect: Dialect) -> None:
        self._destination = destination
        self._base = base
        self._dialect = dialect
        self.classification = base
        self.floor: Classification | None = None
        self.blocked = 0
        self.secrets = 0

    def whole(self, place: Place, raw: bytes, value: Value) -> bytes | None:
        """A block of thinking that is signed is whole or it is not itself: changed in any part it says only that it was there."""
        if value.kind == "other":
            return self._number(place, raw[value.start : value.end])
        if value.kind != "object" or place.level not in (0, FLAT.level):
            return None
        if value.member(raw, "type") != b'"thinking"' or value.member(raw, "signature") is None:
            return None
        before = raw[value.start : value.end]
        inner = _Inside(self)
        return before if rewrite(before, inner, place) == before else thinking_block(self._dialect)

    def text(self, place: Place, text: str) -> str:
        return self._judge(text, place.key)

    def name(self, place: Place, name: str) -> str:
        return self._judge(name, "")

    def _number(self, place: Place, raw: bytes) -> bytes | None:
        """A number is a secret only by its name."""
        if raw in (b"true", b"false", b"null"):
            return None
        text = raw.decode()
        judged = self._judge(text, place.key)
        return None if judged == text else msgspec.json.encode(judged)

    def _judge(self, text: str, name: str) -> str:
        if not text:
            return text
        judged = judge_text(text, self._destination, self._base, name=name)
        self.classification = highest(self.classification, judged.classification)
        if judged.floor is not None:
            self.floor = highest(judged.floor, self.floor or "normal")
        self.blocked += judged.blocked
        self.secrets += len(judged.secrets)
        return judged.text


class _Inside(Editor):
    """The same editor for what lies in a block that it looks at whole."""

    def __init__(self, editor: TextEditor) -> None:
        self._editor = editor

    def whole(self, place: Place, raw: bytes, value: Value) -> bytes | None:
        return None if value.kind != "other" else self._editor.whole(place, raw, value)

    def text(self, place: Place, text: str) -> str:
        return self._editor.text(place, text)

    def name(self, place: Place, name: str) -> str:
        return self._editor.name(place, name)


def _blanked(
    raw: bytes,
    dialect: Dialect,
    kind: SliceKind,
    destination: Destination,
    classification: Classification,
    floor: Classification | None,
) -> Outcome:
    edited, blocked = blank(raw, dialect, kind, classification)
    if not passes(edited, destination):
        raise PrivacyError(
            f"A {kind} of the request holds {classification} text where it cannot be taken out.",
            hint="Take the marked text out of names, ids and types.",
        )
    return Outcome(raw=edited, classification=classification, floor=floor, blocked=blocked)
