"""One entry for whoever sends: a request is prepared for its destination, and its rendered bytes are checked before they leave.

Privacy is closed where all else is open (design 2): what cannot be prepared or checked raises `PrivacyError`, and nothing is
sent.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from msgspec import Struct

from ullage.core.errors import PrivacyError, RequestError
from ullage.core.wire import Conversation, parse_request
from ullage.core.wire.edits import apply

from .classes import CLASSES, Classification, highest
from .cleared import Cleared
from .destination import find_destination
from .judging import judge_text, may_leave
from .report import PrivacyReport
from .rest import cut_rest, sanitize_rest
from .sanitizing import CLEAN, Outcome, passes, sanitize_slice
from .secrets import secret_anchors

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ullage.core.wire import Slice
    from ullage.core.wire.edits import Edit

    from .destination import Destination
    from .policy import PrivacySettings

    Rested = tuple[Outcome, tuple[Edit, ...]]

# About 150 bytes for each clean slice; when one of the bounds is met, all is forgotten and read once more.
_OUTCOMES = 100_000
_EDITED_BYTES = 32 * 1024 * 1024
_RESTS = 64
_CONVERSATIONS = 16


class Prepared(Struct, frozen=True, kw_only=True):
    """A request as its destination may see it; the very conversation that came in, if nothing of it had to be changed.

    Slices keep their numbers: only their bytes differ.
    """

    conversation: Conversation
    report: PrivacyReport


class Screened(Struct, frozen=True, kw_only=True):
    """A text of ours before it is added to a request. `text` is `None` if any of it is blocked: then none of it is added."""

    text: str | None
    classification: Classification
    secrets: int = 0


class PrivacyGuard:
    """Prepares and checks requests by the user's settings. Remembers what it has read; used by one thread only.

    Raises `ImportError` if the library that finds secrets is not there: the daemon does not start without it.
    """

    def __init__(self, settings: PrivacySettings) -> None:
        secret_anchors()
        self._settings = settings
        self._destinations: dict[tuple[str, str], Destination] = {}
        self._memories: dict[Destination, _Memory] = {}

    def destination(self, *, provider: str, root: str) -> Destination:
        """What the provider behind an upstream root may be sent. `provider` is its name as the daemon knows it."""
        key = (provider, root)
        known = self._destinations.get(key)
        if known is None:
            known = self._destinations[key] = find_destination(self._settings, provider=provider, root=root)
        return known

    def prepare(self, conversation: Conversation, destination: Destination) -> Prepared:
        """The request without what its destination may not see. Costs a look-up for each slice that was read before.

        Raises `PrivacyError` if it cannot be made fit to leave.
        """
        try:
            return self._memory(destination).prepare(conversation)
        except PrivacyError:
            raise
        except Exception as error:  # whatever it was, it must not open the door
            raise PrivacyError(
                "The request could not be prepared for its destination, so it was not sent.",
                hint="`ullage serve` says more on standard error.",
                code="privacy_failed",
            ) from error

    def check(self, body: bytes, destination: Destination) -> None:
        """Looks at the bytes that are about to leave; of a body that goes on from one that passed, at the new part.

        Raises `PrivacyError` if they hold a marker of a blocked class or a secret, or cannot be looked at.
        """
        try:
            clear = self._memory(destination).passes(body)
        except Exception as error:  # as above
            raise PrivacyError(
                "The request could not be checked before it left, so it was not sent.",
                hint="`ullage serve` says more on standard error.",
                code="privacy_failed",
            ) from error
        if not clear:
            raise PrivacyError(
                f"The request holds marked text or a secret that may not go to {destination.provider}.",
                hint="Nothing was sent. Take it out, or say in [privacy] what this provider may see.",
            )

    def screen(self, text: str, classification: Classification, destination: Destination) -> Screened:
        """A text of ours, of the class that it is known by; its own markers can only raise that (section 23.1)."""
        base = highest(classification, destination.base)
        judged = judge_text(text, destination, base)
        allowed = not judged.blocked and destination.allows(judged.classification)
        return Screened(
            text=judged.text if allowed and may_leave(judged.text, destination) else None,
            classification=judged.classification,
            secrets=len(judged.secrets),
        )

    def _memory(self, destination: Destination) -> _Memory:
        known = self._memories.get(destination)
        if known is None:
            known = self._memories[destination] = _Memory(destination)
        return known


class _Memory:
    """What was read for one destination."""

    def __init__(self, destination: Destination) -> None:
        self._destination = destination
        self._clean = CLEAN[destination.base]
        self._outcomes: dict[int, Outcome] = {}
        self._edited_bytes = 0
        self._rests: dict[bytes, Rested] = {}
        self._edited: dict[tuple[str, int], Conversation] = {}
        self._cleared = Cleared()

    def passes(self, body: bytes) -> bool:
        start = self._cleared.start(body)
        if start < len(body) and not passes(body, self._destination, start):
            return False
        self._cleared.keep(body)
        return True

    def prepare(self, conversation: Conversation) -> Prepared:
        system = self._system(conversation)
        pieces = (*conversation.system, *conversation.tools, *conversation.messages)
        outcomes = [
            *system,
            *self._read(conversation.tools, conversation),
            *self._read(conversation.messages, conversation),
        ]
        notable = [
            (piece, outcome) for piece, outcome in zip(pieces, outcomes, strict=True) if outcome is not self._clean
        ]
        rest, edits = self._rest(conversation)
        edits += [
            (piece.start, piece.start + len(piece.raw), outcome.raw)
            for piece, outcome in notable
            if outcome.raw is not None
        ]
        return Prepared(
            conversation=self._apply(conversation, edits) if edits else conversation,
            report=self._report(len(outcomes), [outcome for _, outcome in notable], rest),
        )

    def _system(self, conversation: Conversation) -> list[Outcome]:
        """The blocks of a system prompt are read one after the other, so unclear markers in one raise the floor of all."""
        outcomes = self._read(conversation.system, conversation)
        floor = highest(*(outcome.floor for outcome in outcomes if outcome.floor is not None))
        if floor == "normal" or len(outcomes) < 2:
            return outcomes
        return [
            sanitize_slice(piece.raw, conversation.dialect, piece.kind, self._destination, floor=floor)
            for piece in conversation.system
        ]

    def _read(self, pieces: Sequence[Slice], conversation: Conversation) -> list[Outcome]:
        known = self._outcomes
        return [known.get(piece.hash) or self._outcome(piece, conversation) for piece in pieces]

    def _outcome(self, piece: Slice, conversation: Conversation) -> Outcome:
        outcome = sanitize_slice(piece.raw, conversation.dialect, piece.kind, self._destination)
        self._edited_bytes += len(outcome.raw or b"")
        if len(self._outcomes) >= _OUTCOMES or self._edited_bytes > _EDITED_BYTES:
            self._outcomes.clear()
            self._edited_bytes = len(outcome.raw or b"")
        self._outcomes[piece.hash] = outcome
        return outcome

    def _rest(self, conversation: Conversation) -> tuple[Outcome, list[Edit]]:
        rest = cut_rest(conversation)
        known = self._rests.pop(rest.raw, None)
        if known is None:
            known = sanitize_rest(rest.raw, self._destination)
        self._rests[rest.raw] = known
        if len(self._rests) > _RESTS:
            del self._rests[next(iter(self._rests))]
        outcome, edits = known
        return outcome, [(rest.place_in_body(start), rest.place_in_body(end), text) for start, end, text in edits]

    def _apply(self, conversation: Conversation, edits: Sequence[Edit]) -> Conversation:
        """The edited request, cut where it goes on from the last one of its session."""
        key = (conversation.dialect, conversation.messages[0].hash if conversation.messages else 0)
        try:
            edited = parse_request(
                apply(conversation.body, edits),
                conversation.dialect,
                path_model=conversation.model,
                path_stream=conversation.stream,
                previous=self._edited.pop(key, None),
            )
        except RequestError as error:
            raise PrivacyError(
                "The request cannot be read any more once marked text is taken out of it.",
                hint="Take the marked text out of names.",
            ) from error
        self._edited[key] = edited
        if len(self._edited) > _CONVERSATIONS:
            del self._edited[next(iter(self._edited))]
        return edited

    def _report(self, slices: int, notable: Sequence[Outcome], rest: Outcome) -> PrivacyReport:
        counts = Counter(outcome.classification for outcome in notable)
        counts[self._clean.classification] += slices - len(notable)
        return PrivacyReport(
            destination=self._destination,
            selected_classifications={one: counts[one] for one in CLASSES if counts[one]},
            blocked_blocks=rest.blocked + sum(outcome.blocked for outcome in notable),
            secret_redactions=rest.secrets + sum(outcome.secrets for outcome in notable),
        )
