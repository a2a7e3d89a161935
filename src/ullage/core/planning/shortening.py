"""Long tool results cut to excerpts: what may be sent before a turn is left out, where no store holds the whole text.

An excerpt is a beginning and an end with a line between them that says how much is missing. How long it may be depends on the
limit: the room beside all other messages is shared among the long results, as planner specification, section 20.5, shares it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ullage.core.evidence.excerpts import head, tail
from ullage.core.tokens.estimators import utf16_units
from ullage.core.tokens.surrogates import replace_lone_surrogates
from ullage.core.wire import read_message, result_texts

from .assembling import Reference, weigh_result
from .request import Trim

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ullage.core.accounting import Meter
    from ullage.core.content import Part
    from ullage.core.wire import Conversation

    from .assembling import RequestFacts

LONG_CHARS = 800
"""Code points above which a result may be shortened. Below, the line that says so would eat much of what is saved."""

LEAST_TOKENS = 64
"""What every excerpt may have, however little room is left: enough to tell what the result was."""


class _Result(NamedTuple):
    message: int
    ordinal: int
    call_id: str | None
    tool: str | None
    text: str
    tokens: int


def offer_excerpts(conversation: Conversation, facts: RequestFacts, meter: Meter, limit: int) -> tuple[Reference, ...]:
    """An excerpt for each long tool result of a request, all together within `limit` tokens if the other messages are."""
    results = list(_long_results(conversation, facts, meter))
    if not results:
        return ()
    others = facts.fixed_tokens + sum(facts.tokens) - sum(result.tokens for result in results)
    share = max(LEAST_TOKENS, (limit - others) // len(results))
    offered = (_reference(result, meter, share) for result in results if result.tokens > share)
    return tuple(reference for reference in offered if reference is not None)


def excerpt(text: str, chars: int) -> str:
    """About so many characters (UTF-16 units) from both ends of a text, and a line that tells how many code points are missing.

    It is never cut inside what is read as one character.
    """
    text = replace_lone_surrogates(text)
    if utf16_units(text) <= chars:
        return text
    first = head(text, chars // 2)
    last = tail(text[len(first) :], chars - chars // 2)
    missing = len(text) - len(first) - len(last)
    return f"{first}\n[… {missing} characters of this result are omitted …]\n{last}"


def _long_results(conversation: Conversation, facts: RequestFacts, meter: Meter) -> Iterator[_Result]:
    for index, fact in enumerate(facts.facts):
        if not any(result.text_chars > LONG_CHARS for result in fact.results):
            continue
        piece = conversation.messages[index]
        parts = [part for part in read_message(piece, conversation.dialect).parts if part.kind == "tool_result"]
        replaced = result_texts(piece, conversation.dialect)
        for part, result in zip(parts, fact.results, strict=True):
            text = replaced[result.ordinal] if result.ordinal is not None else None
            if text is not None and len(text) > LONG_CHARS:
                texts = _texts(part) if part.parts else [text]
                tokens = sum(weigh_result(one, part.name, meter) for one in texts)
                yield _Result(index, result.ordinal or 0, result.call_id, part.name, text, tokens)


def _texts(result: Part) -> list[str]:
    return [part.text for part in result.parts if part.kind == "text"]


def _reference(result: _Result, meter: Meter, share: int) -> Reference | None:
    """The longest excerpt of no more than `share` tokens that a few attempts find; `None` if nothing is saved."""
    chars = utf16_units(result.text) * share // result.tokens
    text = excerpt(result.text, chars)
    tokens = weigh_result(text, result.tool, meter)
    while tokens > share and chars:
        chars = min(chars - 1, chars * share * 9 // (tokens * 10))
        text = excerpt(result.text, chars)
        tokens = weigh_result(text, result.tool, meter)
    if tokens >= result.tokens:
        return None
    trim = Trim(
        index=result.message,
        ordinal=result.ordinal,
        call_id=result.call_id,
        tokens_before=result.tokens,
        tokens_after=tokens,
        artifact=f"excerpt:{result.message}/{result.ordinal}",
    )
    return Reference(trim=trim, text=text)
