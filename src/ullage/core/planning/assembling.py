"""From a request to what a plan is made from, and from a plan to the bytes that are sent: one place for every door.

Text passes through here and is kept nowhere in the room: a plan holds numbers and names, and what is rendered comes from the
request and from the evidence that was offered beside it.
"""

from __future__ import annotations

import re
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal

from msgspec import Struct, structs
from xxhash import xxh3_64_intdigest

from ullage.core.accounting import assemble, measure_message, measure_system, measure_tool, read_options
from ullage.core.content import Message, Part
from ullage.core.errors import CallError
from ullage.core.tokens.json_text import compact_json
from ullage.core.wire import read_message, read_system, read_tool, replace_result, write_user_message
from ullage.core.wire.blocks import without_blocks
from ullage.core.wire.layout import LAYOUTS

from .budget import Budget
from .facts import SliceFacts, facts_of
from .layout import Layout, render_layout
from .request import PlanInput, Trim
from .supplement import Supplement
from .system_places import place_system

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from ullage.core.accounting import Measure, Meter
    from ullage.core.wire import Conversation

    from .categories import Adaptive
    from .records import Plan
    from .request import Caps, Placement

Scope = Literal["request", "messages"]
"""What counts against a limit: all that is sent, or the messages other than system prompts."""

SCOPES: tuple[Scope, ...] = ("request", "messages")


class Reference(Struct, frozen=True, kw_only=True):
    """What may stand for a large tool result, and its text."""

    trim: Trim
    text: str


Evidence = Supplement | Reference
"""What a request may be sent with that its client did not send."""


class RequestFacts(Struct, frozen=True, kw_only=True):
    """A request as far as plans depend on it: facts and tokens of each message, and the tokens of all else that is sent (system
    prompt, tools, and what stands around them), by one estimator."""

    facts: tuple[SliceFacts, ...]
    tokens: tuple[int, ...]
    fixed_tokens: int


def weigh(measure: Measure) -> int:
    """All tokens of a slice, frames and sealed reasoning included: what limits and plans go by."""
    return measure.frame + sum(entry.tokens for entry in measure.entries) + measure.sealed_tokens


def read_facts(conversation: Conversation, meter: Meter) -> RequestFacts:
    """Reads and weighs every slice of a request; an engine that knows most of them already asks its own memory instead.

    The sum is never below what accounting makes of the request. It may be above where a provider leaves out older thinking.
    """
    dialect = conversation.dialect
    messages = [read_message(piece, dialect) for piece in conversation.messages]
    measures = [measure_message(message, meter) for message in messages]
    facts = tuple(facts_of(message, dialect) for message in messages)
    account = partial(
        assemble,
        meter,
        system=[measure_system(read_system(piece, dialect), meter) for piece in conversation.system],
        tools=[measure_tool(read_tool(piece, dialect), meter) for piece in conversation.tools],
        options=read_options(conversation),
    )
    # What comes once depends a little on what the messages are: on system prompts among them, on calls of deferred tools.
    prompts = [measure for measure, fact in zip(measures, facts, strict=True) if fact.system]
    beside = (account(messages=some).total.tokens - sum(map(weigh, some)) for some in (prompts, measures))
    return RequestFacts(facts=facts, tokens=tuple(map(weigh, measures)), fixed_tokens=max(0, *beside))


def count_within(facts: RequestFacts, scope: Scope) -> RequestFacts:
    """The same request with the tokens that count against a limit of that scope: of messages alone, system messages in the list
    and all that lies outside of it count nothing."""
    if scope == "request":
        return facts
    tokens = (0 if fact.system else tokens for fact, tokens in zip(facts.facts, facts.tokens, strict=True))
    return structs.replace(facts, tokens=tuple(tokens), fixed_tokens=0)


def limit_budget(tokens: int) -> Budget:
    """The budget of a limit that somebody names outright, in tokens of the plan's estimator: all of it may be filled. Zero is
    legal, and lets nothing pass."""
    return Budget(
        context_window=tokens,
        output_reserve=0,
        safety_margin=0,
        model_input_hard=tokens,
        nominal_hard=tokens,
        nominal_soft=tokens,
        nominal_preferred=tokens,
        ratio=1.0,
        offset=0.0,
        hard=tokens,
        soft=tokens,
        preferred=tokens,
    )


def resolve_caps(caps: Caps, adaptive: Adaptive | None) -> Caps:
    """The caps of a target: those of the settings, and where its window is known its own for tail, history and project."""
    if adaptive is None:
        return caps
    return structs.replace(
        caps,
        recent_tail=adaptive.recent_tail.resolved,
        history=adaptive.history.resolved,
        project=adaptive.project.resolved,
    )


def make_input(
    facts: RequestFacts,
    *,
    budget: Budget,
    caps: Caps,
    evidence: Iterable[Evidence] = (),
    pinned: frozenset[int] = frozenset(),
    alone: frozenset[int] = frozenset(),
    labelled: frozenset[int] = frozenset(),
    placement: Placement = "latest-user",
    rescue: bool = True,
    tail: int | None = None,
) -> PlanInput:
    """What a plan is made from. `evidence` are supplements, and what may stand for large tool results; the rest is as in
    `PlanInput`."""
    offered = list(evidence)
    return PlanInput(
        facts=facts.facts,
        tokens=facts.tokens,
        fixed_tokens=facts.fixed_tokens,
        budget=budget,
        caps=caps,
        pinned=pinned,
        alone=alone,
        labelled=labelled,
        supplements=tuple(one for one in offered if isinstance(one, Supplement)),
        placement=placement,
        rescue=rescue,
        tail=tail,
        trims=tuple(one.trim for one in offered if isinstance(one, Reference)),
    )


def find_pinned(conversation: Conversation, pointers: Iterable[str]) -> frozenset[int]:
    """The messages that JSON pointers into the request name, by their numbers in its list: `/messages/3`, or anything inside it.

    Raises `CallError` for a pointer to something else.
    """
    return frozenset(_pointed(conversation, pointer) for pointer in pointers)


def _pointed(conversation: Conversation, pointer: str) -> int:
    layout = LAYOUTS[conversation.dialect]
    wrapper = f"(?:/{layout.wrapper})?" if layout.wrapper else ""
    found = re.match(rf"{wrapper}/(?:{'|'.join(layout.messages)})(?:/(0|[1-9][0-9]*)(?:/.*)?)?\Z", pointer, re.DOTALL)
    bare = _holds_bare_text(conversation)
    if found is None or (found[1] is None) != bare:
        raise CallError(
            f"{pointer!r} points to no message of the request.", hint=f"Give a pointer as /{layout.messages[0]}/0."
        )
    index = int(found[1] or 0)
    if index >= len(conversation.messages):
        raise CallError(f"{pointer!r} points past the last message: the request has {len(conversation.messages)}.")
    return index


def _holds_bare_text(conversation: Conversation) -> bool:
    """Whether the one message came as a text in place of a list, as Responses allow it."""
    return len(conversation.messages) == 1 and conversation.messages[0].raw.startswith(b'"')


def render_plan(
    conversation: Conversation,
    plan: Plan,
    *,
    evidence: Sequence[Evidence] = (),
    model: str | None = None,
) -> bytes:
    """The body that a plan sends: the client's own bytes for all that it keeps.

    `evidence` is what was offered to the plan. Raises `CallError` if something that it takes is not among that.
    """
    return render_layout(conversation, lay_out(conversation, plan, evidence), model=model)


def lay_out(
    conversation: Conversation,
    plan: Plan,
    evidence: Sequence[Evidence] = (),
    cuts: Mapping[int, Collection[int]] = MappingProxyType({}),
) -> Layout:
    """The messages that a plan sends, without the blocks that `cuts` names by the numbers of their messages; the rest is as in
    `render_plan`."""
    texts = {one.id: one.text for one in evidence if isinstance(one, Supplement)}
    kept, moved = place_system(conversation, plan.kept) if plan.dropped else (plan.kept, {})
    inserted: dict[int, list[int | bytes]] = {index: list(messages) for index, messages in moved.items()}
    for placed in plan.supplements:
        message = write_user_message(_text_of(texts, placed.supplement_id, "supplement"), conversation.dialect)
        inserted.setdefault(placed.before, []).append(message)
    replaced, changes = _replaced(conversation, plan, evidence)
    for index, numbers in cuts.items():
        replaced[index] = without_blocks(conversation.messages[index], conversation.dialect, numbers)
        changes[index] = xxh3_64_intdigest(f"without {sorted(numbers)}".encode())
    return Layout(kept=kept, inserted=inserted, replaced=replaced, changes=changes)


def _replaced(
    conversation: Conversation, plan: Plan, evidence: Sequence[Evidence]
) -> tuple[dict[int, bytes], dict[int, int]]:
    texts = {one.trim.artifact: one.text for one in evidence if isinstance(one, Reference)}
    replaced: dict[int, bytes] = {}
    changes: dict[int, int] = {}
    for one in plan.replaced:
        piece = conversation.messages[one.index]
        if one.index in replaced:
            piece = structs.replace(piece, raw=replaced[one.index])
        text = _text_of(texts, one.artifact, "reference")
        replaced[one.index] = replace_result(piece, conversation.dialect, one.ordinal, text)
        change = f"{changes.get(one.index, 0)} {one.ordinal} {text}"
        changes[one.index] = xxh3_64_intdigest(change.encode("utf-8", "surrogatepass"))
    return replaced, changes


def _text_of(texts: Mapping[str, str], name: str, noun: str) -> str:
    text = texts.get(name)
    if text is None:
        raise CallError(f"The plan takes the {noun} {name!r}, whose text is not given.")
    return text


def weigh_text(text: str, meter: Meter) -> int:
    """Tokens of a message of the user that holds this text alone: what a supplement costs."""
    return weigh(measure_message(Message(role="user", parts=(Part(kind="text", text=text),)), meter))


def weigh_result(text: str, tool: str | None, meter: Meter) -> int:
    """Tokens of a tool result by its text: what a trim saves, and what it leaves. Gemini's results are objects, in which a text
    is one of JSON."""
    sent = compact_json(text) if meter.dialect == "gemini" else text
    return meter.rule.result(sent, tool).tokens
