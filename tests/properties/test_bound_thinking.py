"""However a conversation is cut and what is put into it, its thinking is never sent behind something else than it was made on.

The judge is the strict fake provider, which knows nothing of what plans requests: it signs each answer for the bytes it was sent.
"""

from __future__ import annotations

import json
from typing import Any

from hypothesis import event, given, settings
from hypothesis import strategies as st

from ullage.core.planning.assembling import lay_out
from ullage.core.planning.bound import GONE, Basis, settle
from ullage.core.planning.facts import facts_of
from ullage.core.planning.layout import list_sent, render_layout
from ullage.core.planning.records import Drop, Placed, Plan
from ullage.core.planning.supplement import Supplement
from ullage.core.wire import canonical_hash, parse_request, read_message
from ullage.core.wire.binding import bare_hash, holds_thinking
from ullage.testing.binding import sign
from ullage.testing.strict import find_refusal

MODEL = "claude-fable-5-1"


class Step:
    """One request: where its tail begins, what stays before it, what is put in, how the answer looks."""

    def __init__(self, draw: st.DrawFn) -> None:
        self.first = draw(st.integers(0, 8))
        self.keeps_first = draw(st.booleans())
        self.added = draw(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 9)), max_size=2))
        self.cut = draw(st.booleans())
        self.thinks, self.calls, self.marks = (draw(st.booleans()) for _ in range(3))


steps = st.lists(st.composite(Step)(), min_size=1, max_size=10)


class Session:
    def __init__(self) -> None:
        self.messages: list[dict[str, Any]] = []
        self.known: dict[int, Basis] = {}
        self.unbound = 0

    def go_on(self, step: Step) -> None:
        self._speak(step)
        conversation = parse_request(json.dumps(self._body()).encode(), "anthropic")
        count = len(conversation.messages)
        openers = [place for place, one in enumerate(self.messages) if isinstance(one["content"], list) and _asks(one)]
        first = max((place for place in openers if place <= step.first * 2), default=0)
        kept = tuple(place for place in range(count) if place >= first or (place == 0 and step.keeps_first))
        evidence = [
            Supplement(
                id=f"s{name}", kind="pin", text=f"Pin {name}.", tokens=1, score=1, source_ids=("s",), reason="test"
            )
            for name in range(3)
        ]
        placed = tuple(
            Placed(supplement_id=f"s{name}", kind="pin", before=openers[where % len(openers)], tokens=1, score=1)
            for name, where in step.added
        )
        cuts = {0: (1,)} if step.cut and first > 0 and step.keeps_first else {}
        layout = lay_out(conversation, make_plan(kept, count, placed), evidence, cuts)
        self._send(conversation, layout)
        self._answer(step, json.loads(self.sent))

    def _send(self, conversation: Any, layout: Any) -> None:
        pieces = conversation.messages
        whole = [canonical_hash(piece, "anthropic") for piece in pieces]
        bare = [bare_hash(piece) if holds_thinking(piece) else own for piece, own in zip(pieces, whole, strict=True)]
        facts = [facts_of(read_message(piece, "anthropic"), "anthropic") for piece in pieces]
        said = [
            (mark, own if own != mark else 0, fact.role == "assistant")
            for own, mark, fact in zip(whole, bare, facts, strict=True)
        ]
        settled = settle(said, list_sent(layout, bare), self.known.get, trusting=True)
        self.known |= dict.fromkeys(settled.lost, GONE)
        assert settled.key is not None
        self.known[settled.key] = settled.basis
        self.unbound += len(settled.unbound)
        self.sent = render_layout(conversation, layout, unbound=settled.unbound)
        refusal = find_refusal("anthropic", json.loads(self.sent)) or ""
        assert "different conversation" not in refusal

    def _body(self) -> dict[str, Any]:
        return {"model": MODEL, "system": "Be brief.", "thinking": {"type": "adaptive"}, "messages": self.messages}

    def _speak(self, step: Step) -> None:
        """The user's part: results of the calls before it, or a question; marks of caches come and go."""
        for message in self.messages:
            for block in message["content"]:
                block.pop("cache_control", None)
        calls = [one for one in self.messages[-1]["content"] if one["type"] == "tool_use"] if self.messages else []
        number = len(self.messages)
        content = [{"type": "tool_result", "tool_use_id": call["id"], "content": f"Result {number}."} for call in calls]
        if not content:
            content = [{"type": "text", "text": f"Rules {number}."}, {"type": "text", "text": f"Question {number}."}]
        if step.marks:
            content[-1]["cache_control"] = {"type": "ephemeral"}
        self.messages.append({"role": "user", "content": content})

    def _answer(self, step: Step, sent: dict[str, Any]) -> None:
        number = len(self.messages)
        content: list[dict[str, Any]] = []
        if step.thinks:
            text = f"Thought {number}."
            content.append({"type": "thinking", "thinking": text, "signature": sign(text, sent)})
        content.append({"type": "text", "text": f"Answer {number}."})
        if step.calls:
            content.append({"type": "tool_use", "id": f"c{number}", "name": "run", "input": {}})
        self.messages.append({"role": "assistant", "content": content})


def _asks(message: dict[str, Any]) -> bool:
    return bool(message["role"] == "user" and message["content"][0]["type"] == "text")


def make_plan(kept: tuple[int, ...], count: int, placed: tuple[Placed, ...]) -> Plan:
    dropped = tuple(Drop(place, "before-tail") for place in range(count) if place not in kept)
    return Plan(
        status="managed",
        kept=kept,
        dropped=dropped,
        replaced=(),
        supplements=placed,
        left_out=(),
        tokens=0,
        fixed_tokens=0,
        limit=0,
        target=0,
        parts=(),
        excluded=(),
        excluded_groups=0,
        excluded_native_tokens=0,
        oversized=0,
    )


@settings(deadline=None, max_examples=150)
@given(steps)
def test_no_thinking_is_sent_behind_something_else_than_it_was_made_on(taken: list[Step]) -> None:
    session = Session()
    for step in taken:
        session.go_on(step)
    event("some thinking was left out" if session.unbound else "all thinking was sent")
