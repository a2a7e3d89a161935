"""The turn that a request belongs to: what the user asked for, and whether this is the next step of it (sections 2.3, 3.2).

Pins at the beginning of a prompt are the router's, not the model's. A client sends the whole conversation every time, so they
are taken out of it every time, by rules that look at the messages alone: the bytes that are sent stay the same.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from msgspec import Struct

from ullage.core.wire import read_message
from ullage.core.wire.spoken import replace_spoken, spoken_texts

from .evidence import read_evidence
from .prefix import NO_PREFIX, parse_prefix

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ullage.core.planning import SliceFacts
    from ullage.core.wire import Conversation, Slice

    from .task import Evidence

_HOST_BLOCK = (
    r"\s*<(?P<tag>system-reminder|environment_context|environment_details|user_instructions|INSTRUCTIONS|ide_selection|ide_opened_file"
    r"|command-name|command-message|command-args|local-command-stdout|local-command-caveat|turn_aborted)\b[^>]*>"
    r".*?</(?P=tag)>\s*"
)
"""What coding agents put into the user's messages beside the user's words."""
_HOST_BLOCKS = re.compile(_HOST_BLOCK, re.DOTALL)
_HOST_HEADS = ("# AGENTS.md instructions", "<user_instructions>", "<environment_context>")
_BUMP = b"@again-"
_FAR_BACK = 64
"""Messages that are looked through for words of the user, where the newest ones hold none."""


class Turn(Struct, frozen=True, kw_only=True):
    """What the newest words of the user ask for.

    `index` is the message that they stand in, `None` where the user said nothing. `text` is what they say, pins included, without
    what a client put around it; `images` counts the pictures of the whole request: a model that reads none refuses them
    all. `first` says that nothing was answered before them. `going_on`: something was answered since, so the request is a further
    step of the same task. `loop`: it answers calls of the model.
    """

    index: int | None
    text: str
    images: int
    first: bool
    going_on: bool
    loop: bool


def read_turn(conversation: Conversation, facts: Sequence[SliceFacts]) -> Turn:
    """The newest turn of a request; `facts` are those of its messages."""
    index = _newest_words(conversation, facts)
    since = [fact for fact in facts[index if index is not None else 0 :] if not fact.system]
    answered = any(fact.role == "assistant" for fact in since)
    return Turn(
        index=index,
        text=own_words(conversation.messages[index], conversation) if index is not None else "",
        images=sum(fact.media for fact in facts),
        first=not any(fact.role == "assistant" for fact in facts[: index or 0]),
        going_on=answered,
        loop=answered and bool(since) and since[-1].role == "tool",
    )


def own_words(piece: Slice, conversation: Conversation) -> str:
    """What the user says in a message, without what the client put there."""
    texts = (_without_host(text) for text in spoken_texts(piece, conversation.dialect))
    return "\n".join(text for text in texts if text)


def may_step(piece: Slice) -> bool:
    """Whether a message may ask for a step up or down: surely not where it is false."""
    return _BUMP in piece.raw


def find_pins(
    conversation: Conversation, facts: Sequence[SliceFacts], steps: Iterable[int] | None = None
) -> dict[int, bytes]:
    """The messages that begin with a pin, by their numbers, without it: that of the first turn, and every step up or down.

    One that is nothing but its pin stays as it is (section 3.2). `steps` are the messages that `may_step`, where that is known.
    """
    answered = next((index for index, fact in enumerate(facts) if fact.role == "assistant"), len(facts))
    first = _newest_words(conversation, facts[:answered])
    if steps is None:
        steps = (index for index, piece in enumerate(conversation.messages) if may_step(piece))
    found: dict[int, bytes] = {}
    for index in sorted({*steps, *([first] if first is not None else [])}):
        if index == first or facts[index].opens_turn:
            stripped = _strip(conversation.messages[index], conversation, first_turn=index == first)
            if stripped is not None:
                found[index] = stripped
    return found


def gather_evidence(conversation: Conversation, facts: Sequence[SliceFacts], turn: Turn) -> Evidence:
    """What the task before this one was like, by its calls (section 4.5)."""
    end = turn.index if turn.index is not None else 0
    start = next((index for index in range(end - 1, -1, -1) if facts[index].opens_turn), 0)
    worked = (index for index in range(start, end) if facts[index].calls or facts[index].answers)
    return read_evidence(read_message(conversation.messages[index], conversation.dialect) for index in worked)


def _newest_words(conversation: Conversation, facts: Sequence[SliceFacts]) -> int | None:
    """The newest message with words of the user; where a client put words of its own into all of them, the newest."""
    newest: int | None = None
    for index in range(len(facts) - 1, -1, -1):
        if not facts[index].opens_turn:
            continue
        if own_words(conversation.messages[index], conversation) or facts[index].media:
            return index
        newest = index if newest is None else newest
        if newest - index > _FAR_BACK:
            break
    return newest


def _without_host(text: str) -> str:
    """A text without the blocks of a client before and behind it."""
    if text.lstrip().startswith(_HOST_HEADS):
        return ""
    return _HOST_BLOCKS.sub("", text).strip() if "<" in text else text


def _strip(piece: Slice, conversation: Conversation, *, first_turn: bool) -> bytes | None:
    prefix, _ = parse_prefix(own_words(piece, conversation), first_turn=first_turn)
    if prefix == NO_PREFIX:
        return None
    stripped: dict[int, str] = {}
    for number, text in enumerate(spoken_texts(piece, conversation.dialect)):
        begins = _end_of_host(text)
        _, rest = parse_prefix(text[begins:], first_turn=first_turn)
        if rest != text[begins:]:
            stripped[number] = text[:begins] + rest
    return replace_spoken(piece, conversation.dialect, stripped) if stripped else None


def _end_of_host(text: str) -> int:
    """Where the words of the user begin in a text."""
    end = 0
    while match := _HOST_BLOCKS.match(text, end):
        end = match.end()
    return end
