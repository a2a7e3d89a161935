"""Content that a window holds more than once, and content that something later made outdated (accounting specification,
section 20, item 7). Findings hold indexes, names and paths, never text. The work grows with the text, whatever the text is.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Literal, NamedTuple

from msgspec import Struct
from xxhash import xxh3_128_intdigest

from ullage.core.content import Role

from .blocks import Block, cut_pieces, find_blocks_of
from .files import find_touches

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from ullage.core.content import Message

    from .blocks import TextPiece
    from .files import Touch

MIN_TOKENS = 50
"""A finding of fewer tokens is not reported."""

MIN_RUN_CHARS = 200
"""So much text in a row must be the same: single lines recur in any code."""

# So many pieces in a row are looked up together.
_SHINGLE = 3
# A newer read that shows much less than the older one does not stand for it: a client may say "unchanged" instead.
_STANDS_FOR = 0.5
_LOOK_AHEAD = 50
_EXACT_SHARE = 0.999

Reason = Literal["read again", "rewritten", "edited"]
Count = Callable[[Block, str], int]
Place = tuple[int | None, int]
"""Index of a message, and of a part in it."""


class Duplicate(Struct, frozen=True, kw_only=True):
    """A text that repeats earlier ones. `message` and `of_message` are indexes in the message list, `None` for the system prompt.

    `tokens` are those of the repeated part, `share` is that part of the text, `exact` says that all of it is one earlier text.
    `of_message` is where most of it stood first; `role`, `tool` and `path` name what brought each.
    """

    message: int | None
    tokens: int
    share: float
    exact: bool
    of_message: int | None
    role: Role
    of_role: Role
    tool: str | None = None
    path: str | None = None
    of_tool: str | None = None
    of_path: str | None = None


class Outdated(Struct, frozen=True, kw_only=True):
    """Content of a file that is no longer what the file holds. `message` brought it, `by_message` made it outdated.

    "read again": a later read shows the same lines as they are now. "rewritten": the file was written anew. "edited": a later
    edit changed some of it and nothing shows the whole again, so that the rest may still be needed. `first_line` and `last_line`
    are the lines that were read; `None` is the end of the file.
    """

    message: int
    tokens: int
    tool: str
    path: str
    reason: Reason
    by_message: int
    by_tool: str
    first_line: int = 1
    last_line: int | None = None


class Repeats(Struct, frozen=True, kw_only=True):
    """What could be freed; nothing is counted twice.

    `freeable_tokens` would be missed by nobody: duplicates, and what was read again or rewritten. `stale_tokens` are reads whose
    file was edited since. `freeable_share` is of the whole prompt, from 0 to 1, `None` for an empty one.
    """

    duplicates: tuple[Duplicate, ...] = ()
    outdated: tuple[Outdated, ...] = ()
    freeable_tokens: int = 0
    stale_tokens: int = 0
    freeable_share: float | None = None


class _Text(NamedTuple):
    """A block with its pieces, the hashes of them, and the fingerprint of them all."""

    block: Block
    pieces: list[TextPiece]
    keys: frozenset[int]
    print: int

    @property
    def place(self) -> Place:
        return self.block.message, self.block.part


def find_repeats(
    system: Sequence[str], messages: Sequence[Message], *, count: Count, total: int, folder: str | None = None
) -> Repeats:
    """What a request says twice or no longer truly. `count` gives the tokens of a piece of a block, `total` those of the prompt;
    `folder` is where relative paths begin.

    Outdated content comes first, and what it held is then no duplicate of anything.
    """
    texts = [_read(block) for block in find_blocks_of(system, messages)]
    by_place = {text.place: text for text in texts}
    touches = find_touches(messages, folder)
    outdated = [one for one in _find_outdated(touches, by_place, count) if one[1].tokens >= MIN_TOKENS]
    outdated.sort(key=lambda one: one[1].message)
    gone = {place for place, _ in outdated}
    paths: dict[Place, str] = {}
    for touch in touches:
        paths.setdefault((touch.message, touch.part), touch.path)
        paths.setdefault(touch.result, touch.path)
    rest = [text for text in texts if text.place not in gone]
    duplicates = [one for one in _find_duplicates(rest, paths, count) if one.tokens >= MIN_TOKENS]
    stale = sum(one.tokens for _, one in outdated if one.reason == "edited")
    freeable = sum(one.tokens for one in duplicates) + sum(one.tokens for _, one in outdated) - stale
    return Repeats(
        duplicates=tuple(duplicates),
        outdated=tuple(one for _, one in outdated),
        freeable_tokens=freeable,
        stale_tokens=stale,
        freeable_share=round(min(1.0, freeable / total), 4) if total > 0 else None,
    )


def _read(block: Block) -> _Text:
    pieces = cut_pieces(block.text)
    keys = b"".join(piece.key.to_bytes(8, "little") for piece in pieces)
    return _Text(block, pieces, frozenset(piece.key for piece in pieces), xxh3_128_intdigest(keys))


def _find_outdated(
    touches: Sequence[Touch], texts: Mapping[Place, _Text], count: Count
) -> Iterator[tuple[Place, Outdated]]:
    """Each place that holds outdated content, once."""
    paths_in_call: dict[Place, int] = defaultdict(int)
    by_path: dict[str, list[Touch]] = defaultdict(list)
    for touch in touches:
        paths_in_call[touch.message, touch.part] += 1
        by_path[touch.path].append(touch)
    for history in by_path.values():
        for touch, later, reason in _superseded(history, texts):
            place = touch.result if touch.action == "read" else (touch.message, touch.part)
            # A patch of several files stays as long as one of them does.
            if paths_in_call[touch.message, touch.part] > 1 or place not in texts:
                continue
            block = texts[place].block
            yield (
                place,
                Outdated(
                    message=block.message if block.message is not None else touch.message,
                    tokens=count(block, block.text),
                    tool=touch.tool,
                    path=touch.path,
                    reason=reason,
                    by_message=later.message,
                    by_tool=later.tool,
                    first_line=touch.span.first,
                    last_line=touch.span.last,
                ),
            )


def _superseded(history: Sequence[Touch], texts: Mapping[Place, _Text]) -> Iterator[tuple[Touch, Touch, Reason]]:
    """Touches of one file that a later one made outdated, each with it. Goes through the history once, from its end.

    Only so many of the later touches are looked at: a file that is read a thousand times must not be compared a million times.
    """
    written: Touch | None = None
    edits: deque[Touch] = deque(maxlen=_LOOK_AHEAD)
    reads: deque[Touch] = deque(maxlen=_LOOK_AHEAD)
    for touch in reversed(history):
        if touch.action != "read":
            if written is not None:
                yield touch, written, "rewritten"
            if touch.action == "write":
                written = touch
            else:
                edits.appendleft(touch)
            continue
        edited = next((edit for edit in edits if _concerns(edit, touch, texts)), None)
        changed = min((one for one in (written, edited) if one is not None), key=_order, default=None)
        again = next((later for later in reads if _stands_for(later, touch, changed, texts)), None)
        if again is not None:
            yield touch, again, "read again"
        elif written is not None:
            yield touch, written, "rewritten"
        elif edited is not None:
            yield touch, edited, "edited"
        reads.appendleft(touch)


def _concerns(edit: Touch, read: Touch, texts: Mapping[Place, _Text]) -> bool:
    """Whether an edit changed what a read shows: some line of the edit is in it. Short edits are taken to do so."""
    change, seen = texts.get((edit.message, edit.part)), texts.get(read.result)
    if change is None or seen is None:
        return True
    return not change.keys.isdisjoint(seen.keys)


def _stands_for(later: Touch, read: Touch, changed: Touch | None, texts: Mapping[Place, _Text]) -> bool:
    """Whether a later read shows the same lines as they are now. The same text twice is no outdated one but a duplicate."""
    if not later.span.covers(read.span) or later.result_chars < _STANDS_FOR * read.result_chars:
        return False
    if changed is not None and _order(changed) < _order(later):
        return True
    before, after = texts.get(read.result), texts.get(later.result)
    return read.span == later.span and before is not None and after is not None and before.print != after.print


def _order(touch: Touch) -> tuple[int, int]:
    return touch.message, touch.part


def _find_duplicates(texts: Iterable[_Text], paths: Mapping[Place, str], count: Count) -> Iterator[Duplicate]:
    known = _Known()
    for text in texts:
        if not text.block.is_source:
            runs = known.find(text)
            if runs:
                yield _duplicate(text, runs, paths, count)
        known.add(text)


class _Run(NamedTuple):
    """Pieces `start` to `stop` of a text stand in `source` too."""

    start: int
    stop: int
    source: _Text


class _Known:
    """Every run of pieces seen so far, by the first text that held it."""

    def __init__(self) -> None:
        self._whole: dict[int, _Text] = {}
        self._shingles: dict[tuple[int, ...], tuple[_Text, int]] = {}

    def add(self, text: _Text) -> None:
        self._whole.setdefault(text.print, text)
        keys = [piece.key for piece in text.pieces]
        for index in range(len(keys) - _SHINGLE + 1):
            self._shingles.setdefault(tuple(keys[index : index + _SHINGLE]), (text, index))

    def find(self, text: _Text) -> list[_Run]:
        """The runs of a text that were seen before, none overlapping another."""
        if text.print in self._whole:
            return [_Run(0, len(text.pieces), self._whole[text.print])] if text.pieces else []
        runs = []
        index = 0
        keys = [piece.key for piece in text.pieces]
        while index + _SHINGLE <= len(keys):
            source, at = self._shingles.get(tuple(keys[index : index + _SHINGLE]), (None, 0))
            if source is None:
                index += 1
                continue
            length = _common(keys, index, source.pieces, at)
            if text.pieces[index + length - 1].end - text.pieces[index].start >= MIN_RUN_CHARS:
                runs.append(_Run(index, index + length, source))
                index += length
            else:
                index += length - _SHINGLE + 1
        return runs


def _common(keys: Sequence[int], index: int, pieces: Sequence[TextPiece], at: int) -> int:
    """How many pieces in a row are the same from there on."""
    length = 0
    while index + length < len(keys) and at + length < len(pieces) and keys[index + length] == pieces[at + length].key:
        length += 1
    return length


def _duplicate(text: _Text, runs: Sequence[_Run], paths: Mapping[Place, str], count: Count) -> Duplicate:
    copies = [text.block.text[text.pieces[run.start].start : text.pieces[run.stop - 1].end] for run in runs]
    held: dict[Place, int] = defaultdict(int)
    sources = {run.source.place: run.source for run in runs}
    for run, copied in zip(runs, copies, strict=True):
        held[run.source.place] += len(copied)
    main = sources[max(held, key=lambda place: held[place])]
    whole = text.pieces[-1].end - text.pieces[0].start
    share = min(1.0, sum(map(len, copies)) / whole)
    return Duplicate(
        message=text.block.message,
        tokens=count(text.block, "\n".join(copies)),
        share=round(share, 4),
        exact=share >= _EXACT_SHARE and len(sources) == 1,
        of_message=main.block.message,
        role=text.block.role,
        of_role=main.block.role,
        tool=text.block.tool,
        path=paths.get(text.place),
        of_tool=main.block.tool,
        of_path=paths.get(main.place),
    )
