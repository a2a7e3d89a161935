"""Results that must be shortened although they are the newest: quoted as far as there is room, in tokens of the active meter.

What the model has just read is what it works on. A reference of the usual size would throw most of it away beside an empty
half of the window.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from msgspec import structs

from ullage.core.evidence.artifacts import ArtifactCaps, adapt_caps, long_reference_text
from ullage.core.planning.assembling import weigh_result
from ullage.core.tokens.estimators import utf16_units

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ullage.core.accounting import Meter
    from ullage.core.evidence.offers import Offer
    from ullage.core.evidence.outputs import Redact

Place = tuple[int, int]
"""A tool result: the number of its message, and its own among the results there."""

MOST_QUOTED_CHARS = 400_000
"""However large a window is, no reference quotes more: some 100,000 tokens, which take a tenth of a second to count."""

# Tokens go nearly with characters, so that a few corrections of the first guess come near enough to the room.
_ATTEMPTS = 5
_NEAR = 0.95
_CAREFUL = 0.99


class Weighed(NamedTuple):
    """An offer with the tokens of the result's text and of the reference."""

    offer: Offer
    tokens_before: int
    tokens_after: int


def weigh_offer(offer: Offer, text: str, meter: Meter) -> Weighed | None:
    """The offer with its tokens; `None` if it would save none."""
    tool = offer.artifact.tool
    before, after = weigh_result(text, tool, meter), weigh_result(offer.text, tool, meter)
    return Weighed(offer, before, after) if after < before else None


def shortest_caps(caps: ArtifactCaps) -> ArtifactCaps:
    """Those under which every result that could be shorter is a reference without any quote."""
    return adapt_caps(caps, input_tokens=0, occupied_tokens=0, candidates=1)


def share_room(
    shortest: Mapping[Place, Weighed], texts: Mapping[Place, str], meter: Meter, redact: Redact, room: int
) -> dict[Place, Weighed]:
    """References for results that do not fit `room` tokens together: each may have an equal share, and what smaller ones leave
    of theirs. A result that fits its share stays whole, and has none."""
    made: dict[Place, Weighed] = {}
    order = sorted(shortest, key=lambda place: (shortest[place].tokens_before, place))
    for number, place in enumerate(order):
        share = room // (len(order) - number)
        one = shortest[place]
        if one.tokens_before > share:
            made[place] = one = quote_within(one, texts[place], meter, redact, share)
            room -= one.tokens_after
        else:
            room -= one.tokens_before
    return made


def quote_within(one: Weighed, text: str, meter: Meter, redact: Redact, room: int) -> Weighed:
    """A reference with as much of the text as fits `room` tokens; the one that is given, if no more fits."""
    artifact = one.offer.artifact
    most = min(artifact.chars - 1, MOST_QUOTED_CHARS)
    chars = min(most, artifact.chars * max(room, 0) // one.tokens_before)
    best = one
    for _ in range(_ATTEMPTS):
        quoted = long_reference_text(artifact, text, chars, redact)
        tokens = weigh_result(quoted, artifact.tool, meter)
        if best.tokens_after < tokens <= room and utf16_units(quoted) < artifact.chars:
            best = one._replace(offer=structs.replace(one.offer, text=quoted), tokens_after=tokens)
        if chars == 0 or room * _NEAR <= tokens <= room or (tokens <= room and chars == most):
            break
        chars = min(most, int(chars * _CAREFUL * max(room, 0) / tokens))
    return best
