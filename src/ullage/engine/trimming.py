"""Large tool results on their way out: offered to a plan as references, kept on disk once it takes one.

The reference of a result has the same bytes in every request, so that the provider's cache of what follows stays good. What
cannot be kept must not be referred to: `keep` says so, and the plan is made again without it (planner specification, 20.5).
"""

from __future__ import annotations

import functools
import logging
from typing import TYPE_CHECKING, NamedTuple

from ullage.core.errors import StoreError
from ullage.core.evidence.artifacts import CHARS_PER_TOKEN, FRAME_CHARS, adapt_caps, to_bytes
from ullage.core.evidence.offers import find_calls, find_offers, may_offer
from ullage.core.planning.assembling import Reference
from ullage.core.planning.request import Trim
from ullage.core.wire import read_message, result_texts
from ullage.settings.keeping import make_artifact_caps
from ullage.sources.artifacts import ArtifactFiles, artifact_folder
from ullage.stores import root_finder
from ullage.stores.base import ArtifactRecord
from ullage.stores.places import project_digest

from .facts import TwoGenerations
from .quoting import Place, Weighed, share_room, shortest_caps, weigh_offer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

    from ullage.core.accounting import Meter
    from ullage.core.evidence.artifacts import ArtifactCaps
    from ullage.core.evidence.outputs import Redact
    from ullage.core.planning.assembling import RequestFacts
    from ullage.core.planning.facts import SliceFacts
    from ullage.core.planning.records import Replacement
    from ullage.core.wire import Conversation, Slice
    from ullage.settings import Settings
    from ullage.stores import Store

_log = logging.getLogger("ullage.engine")

# References of 6 kB at most by default: some 24 MB when both generations are full.
_OFFERS = 2_000
# Long references of 400 kB at most: some 25 MB.
_LONG = 32
# What comes after a result that is quoted at length has a quarter of the room, as in planner specification, section 20.5.
_COMING_SHARE = 4
_KEPT = 20_000
_PROJECTS = 1_000
KEEP_AGAIN_MS = 6 * 60 * 60 * 1000
"""How often the use of an artifact is noted: its record and its file stay for as long as they are used."""


class Offered(NamedTuple):
    """What may be trimmed in a conversation: for the plan, and for keeping what it takes. `long` are the messages whose results
    are quoted at length."""

    references: tuple[Reference, ...] = ()
    weighed: Mapping[Place, Weighed] = {}
    long: frozenset[int] = frozenset()


class Owner(NamedTuple):
    """Whose request it is."""

    session: str
    project: str | None


class Trimmer:
    """Makes references and keeps what they stand for, below `data_dir`.

    `find_root` says to which project's folder a path belongs (`stores.root_finder`), `redact` clears what is quoted. `adaptive`
    lets the references of a request share what room it has left. Used by one thread only.
    """

    def __init__(
        self,
        store: Store,
        *,
        data_dir: Path,
        find_root: Callable[[str | None], str | None],
        caps: ArtifactCaps,
        redact: Redact,
        adaptive: bool = False,
    ) -> None:
        self._store = store
        self._data_dir = data_dir
        self._find_root = functools.lru_cache(_PROJECTS)(find_root)
        self._caps = caps
        self._redact = redact
        self._adaptive = adaptive
        self._known: TwoGenerations[tuple[int, str, ArtifactCaps], tuple[Weighed, ...]] = TwoGenerations(_OFFERS)
        self._kept: TwoGenerations[tuple[Owner, str], int] = TwoGenerations(_KEPT)
        self._long: TwoGenerations[tuple[str, int, str], tuple[Weighed, ...]] = TwoGenerations(_LONG)

    def offer(
        self,
        conversation: Conversation,
        facts: RequestFacts,
        meter: Meter,
        *,
        input_tokens: int,
        excluded: Iterable[Place] = (),
    ) -> Offered:
        """A reference for every large tool result, but for those in `excluded`; `input_tokens` may be sent in all. A result that
        was seen before costs a look-up."""
        caps = _share(self._caps, facts, input_tokens) if self._adaptive else self._caps
        weighed = {
            (index, one.offer.ordinal): one
            for index, piece in enumerate(conversation.messages)
            if facts.facts[index].results and may_offer(piece, caps)
            for one in self._find(conversation, facts.facts, index, meter, caps)
        }
        return _offered(weighed, excluded)

    def recall(
        self,
        offered: Offered,
        conversation: Conversation,
        facts: RequestFacts,
        meter: Meter,
        *,
        session: str,
        excluded: Iterable[Place] = (),
    ) -> Offered:
        """The offers with those that a session has quoted at length in this turn of the user: they keep their bytes."""
        if not len(self._long):
            return offered
        long: dict[Place, Weighed] = {}
        for index in range(_opening(facts.facts) + 1, len(facts.facts)):
            known = self._long.find((session, conversation.messages[index].hash, meter.key))
            long |= {(index, one.offer.ordinal): one for one in known or ()}
        return _with_long(offered, long, excluded) if long else offered

    def quote_at_length(
        self,
        offered: Offered,
        conversation: Conversation,
        facts: RequestFacts,
        meter: Meter,
        *,
        session: str,
        indices: Iterable[int],
        spare: int,
        excluded: Iterable[Place] = (),
    ) -> Offered:
        """The offers with other ones for the messages that must be sent and cannot be sent whole: their results are quoted as far
        as there is room.

        `spare` is how many tokens that room is larger than it would take to send them whole (below 0 it is smaller). A quarter of
        it stays free for what the turn goes on with, or else the next request could not send the same bytes.
        """
        caps, banned = shortest_caps(self._caps), frozenset(excluded)
        squeezed = frozenset(indices)
        shortest: dict[Place, Weighed] = {}
        texts: dict[Place, str] = {}
        for index in sorted(squeezed):
            piece = conversation.messages[index]
            if facts.facts[index].results and may_offer(piece, caps):
                found = self._find(conversation, facts.facts, index, meter, caps)
                written = result_texts(piece, conversation.dialect)
                for one in found:
                    if (index, one.offer.ordinal) not in banned:
                        shortest[index, one.offer.ordinal] = one
                        texts[index, one.offer.ordinal] = written[one.offer.ordinal] or ""
        room = spare + sum(one.tokens_before for one in shortest.values())
        made = share_room(shortest, texts, meter, self._redact, room - room // _COMING_SHARE)
        for index in sorted({index for index, _ in made}):
            key = (session, conversation.messages[index].hash, meter.key)
            self._long.keep(key, tuple(one for (number, _), one in made.items() if number == index))
        left = {place: one for place, one in offered.weighed.items() if place[0] not in squeezed}
        return _with_long(offered._replace(weighed=left), made, excluded)

    def quote_less(self, conversation: Conversation, meter: Meter, *, session: str, indices: Iterable[int]) -> None:
        """Quotes the results of these messages as usual from now on."""
        for index in indices:
            self._long.keep((session, conversation.messages[index].hash, meter.key), ())

    def keep(
        self, offered: Offered, conversation: Conversation, taken: Iterable[Replacement], owner: Owner, now_ms: int
    ) -> frozenset[Place]:
        """Keeps what a plan has replaced; the places whose results could not be kept, so that they are sent as they are."""
        places = ((one.index, one.ordinal) for one in taken)
        return frozenset(
            place
            for place in places
            if not self._is_kept(offered.weighed[place], conversation.messages[place[0]], conversation, owner, now_ms)
        )

    def _find(
        self, conversation: Conversation, facts: Sequence[SliceFacts], index: int, meter: Meter, caps: ArtifactCaps
    ) -> tuple[Weighed, ...]:
        piece = conversation.messages[index]
        key = (piece.hash, meter.key, caps)
        known = self._known.find(key)
        if known is None:
            names = _name_calls(conversation, facts, index)
            offers = find_offers(piece, conversation.dialect, names, caps, self._redact)
            texts = result_texts(piece, conversation.dialect)
            found = (weigh_offer(offer, texts[offer.ordinal] or "", meter) for offer in offers)
            known = tuple(one for one in found if one is not None)
            self._known.keep(key, known)
        return known

    def _is_kept(self, weighed: Weighed, piece: Slice, conversation: Conversation, owner: Owner, now_ms: int) -> bool:
        artifact = weighed.offer.artifact
        noted_ms = self._kept.find((owner, artifact.id))
        if noted_ms is not None and now_ms - noted_ms < KEEP_AGAIN_MS:
            return True
        text = result_texts(piece, conversation.dialect)[weighed.offer.ordinal]
        assert text is not None, "it was offered for its text"
        root = self._find_root(owner.project)
        try:
            open_artifacts(self._data_dir, root).put(to_bytes(text))
        except StoreError as error:
            _log.warning("%s A tool result is sent in full. %s", error.message, error.hint)
            return False
        self._store.put_artifact(
            ArtifactRecord(
                id=artifact.id,
                session=owner.session,
                project=root,
                used_ms=now_ms,
                sha256=artifact.sha256,
                size_bytes=artifact.size_bytes,
                chars=artifact.chars,
                tool=artifact.tool,
                call_id=artifact.call_id,
                is_error=artifact.is_error,
                tokens_before=weighed.tokens_before,
                tokens_after=weighed.tokens_after,
            )
        )
        self._kept.keep((owner, artifact.id), now_ms)
        return True


def open_artifacts(data_dir: Path, root: str | None) -> ArtifactFiles:
    """The artifacts of a project, or of the user."""
    return ArtifactFiles(artifact_folder(data_dir, project_digest(root) if root is not None else None))


def _offered(
    weighed: Mapping[Place, Weighed], excluded: Iterable[Place], long: frozenset[int] = frozenset()
) -> Offered:
    banned = frozenset(excluded)
    left = {place: weighed[place] for place in sorted(weighed) if place not in banned}
    return Offered(tuple(_reference(index, one) for (index, _), one in left.items()), left, long)


def _with_long(offered: Offered, long: Mapping[Place, Weighed], excluded: Iterable[Place]) -> Offered:
    return _offered({**offered.weighed, **long}, excluded, offered.long.union(index for index, _ in long))


def _opening(facts: Sequence[SliceFacts]) -> int:
    """The message that opens the current turn; -1 if none does."""
    return next((index for index in range(len(facts) - 1, -1, -1) if facts[index].opens_turn), -1)


def _share(caps: ArtifactCaps, facts: RequestFacts, input_tokens: int) -> ArtifactCaps:
    """The caps for a request: what it has left beside its other messages, shared among the results that could be shorter."""
    results = [result for message in facts.facts for result in message.results if result.text_chars > FRAME_CHARS]
    of_results = sum(result.text_chars // CHARS_PER_TOKEN for result in results)
    others = max(0, sum(facts.tokens) - of_results)
    return adapt_caps(
        caps, input_tokens=input_tokens, occupied_tokens=facts.fixed_tokens + others, candidates=len(results)
    )


def _reference(index: int, one: Weighed) -> Reference:
    trim = Trim(
        index=index,
        ordinal=one.offer.ordinal,
        call_id=one.offer.artifact.call_id,
        tokens_before=one.tokens_before,
        tokens_after=one.tokens_after,
        artifact=one.offer.artifact.id,
    )
    return Reference(trim=trim, text=one.offer.text)


def _name_calls(conversation: Conversation, facts: Sequence[SliceFacts], index: int) -> dict[str, str]:
    """The tools of the calls that the results of a message answer: each the latest of that id before it (regression R8)."""
    wanted = {result.call_id for result in facts[index].results if result.call_id and not result.tool}
    names: dict[str, str] = {}
    for before in range(index - 1, -1, -1):
        if wanted <= names.keys():
            break
        if not wanted.isdisjoint(facts[before].calls):
            for call_id, tool in find_calls(read_message(conversation.messages[before], conversation.dialect)):
                names.setdefault(call_id, tool)
    return names


def make_trimmer(store: Store, settings: Settings, data_dir: Path) -> Trimmer | None:
    """One for these settings; `None` where long results are to stay."""
    if not settings.artifacts.enabled:
        return None
    return Trimmer(
        store,
        data_dir=data_dir,
        find_root=root_finder(settings.store.scope),
        caps=make_artifact_caps(settings),
        redact=_redacted,
        adaptive=settings.artifacts.adaptive,
    )


def _redacted(text: str) -> str:
    """A text that is quoted, without credentials; the library is loaded with the first one."""
    from ullage.core.privacy.secrets import redact

    return redact(text)[0]
