"""What a request holds beside its slices: options, metadata, names, and members that a repeated name hides."""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING

from msgspec import Struct

from ullage.core.errors import PrivacyError
from ullage.core.wire.edits import apply
from ullage.core.wire.jsontext import BOM
from ullage.core.wire.texts import FLAT, Place, find_edits

from .placeholders import withheld
from .sanitizing import CLEAN, Outcome, TextEditor, holds_nothing, passes

if TYPE_CHECKING:
    from ullage.core.wire import Conversation, Slice
    from ullage.core.wire.edits import Edit

    from .classes import Classification
    from .destination import Destination

# Names under which a request carries text of the user's beside the conversation (section 23.3); all else there is options.
_TEXTS = frozenset({"context", "labels", "metadata", "prediction", "prompt", "user"})
_STAND_IN = b"0"


class Rest(Struct, frozen=True):
    """The request with its slices cut out, as JSON. `places` are where its pieces stand: in it, and in the body."""

    raw: bytes
    places: tuple[tuple[int, int], ...]

    def place_in_body(self, position: int) -> int:
        """Where a position of `raw` stands in the body; it is in no slice."""
        here, there = self.places[bisect_right(self.places, (position, 1 << 62)) - 1]
        return there + position - here


def cut_rest(conversation: Conversation) -> Rest:
    """The request without its slices; the messages are cut out in one piece, since nothing but commas stands between them."""
    body = conversation.body
    spans = [(piece.start, piece.start + len(piece.raw)) for piece in (*conversation.system, *conversation.tools)]
    if conversation.messages:
        spans.append((conversation.messages[0].start, _end(conversation.messages[-1])))
    position = len(BOM) if body.startswith(BOM) else 0
    pieces: list[bytes] = []
    places: list[tuple[int, int]] = []
    length = 0
    for start, end in [*sorted(spans), (len(body), len(body))]:
        places.append((length, position))
        pieces += [body[position:start], _STAND_IN]
        length += start - position + len(_STAND_IN)
        position = end
    return Rest(b"".join(pieces[:-1]), tuple(places))


def sanitize_rest(raw: bytes, destination: Destination) -> tuple[Outcome, tuple[Edit, ...]]:
    """What becomes of the rest, and the edits of it that its destination asks for.

    Raises `PrivacyError` for unclear markers of a blocked class in it: nobody can tell what they are meant for.
    """
    blocked = not destination.allows(destination.base)
    if not blocked and holds_nothing(raw, destination):
        return CLEAN[destination.base], ()
    for place in (Place(), FLAT):
        editor = _OptionsEditor(destination) if blocked else TextEditor(destination, destination.base, "openai-chat")
        edits = find_edits(raw, editor, place)
        clear = editor.floor is None or destination.allows(editor.floor)
        if clear and passes(apply(raw, edits), destination):
            outcome = Outcome(classification=editor.classification, blocked=editor.blocked, secrets=editor.secrets)
            return outcome, tuple(edits)
    raise PrivacyError(
        "The options of the request hold text that may not leave and cannot be taken out.",
        hint="Take the marked text out of everything beside messages, system prompt and tools.",
    )


class _OptionsEditor(TextEditor):
    """For a destination that may see no text at all: options stay, texts of the user's go."""

    def __init__(self, destination: Destination) -> None:
        super().__init__(destination, "normal", "openai-chat")
        self._withheld = withheld(destination.base)
        self.classification: Classification = destination.base

    def text(self, place: Place, text: str) -> str:
        if not text or _TEXTS.isdisjoint(place.path):
            return super().text(place, text)
        self.blocked += 1
        return self._withheld


def _end(piece: Slice) -> int:
    return piece.start + len(piece.raw)
