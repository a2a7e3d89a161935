"""Conversations as clients send them, made at random in all four dialects, with what is known of them by the way they were made.

Nothing here uses our own reading of a request: a message knows its exchange because it was made for it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from hypothesis import strategies as st
from msgspec import Struct, field

from ullage.core.wire import Dialect

LISTS: dict[Dialect, str] = {
    "openai-chat": "messages",
    "openai-responses": "input",
    "anthropic": "messages",
    "gemini": "contents",
}


class Spoken(NamedTuple):
    """One message of a made conversation.

    `bonds` are the exchanges, by number, that it holds a part of: what shares one must stay together. `request`: the user opens a
    turn with it. `said`: the user spoke beside results in it. `fixed`: a system message.
    """

    body: dict[str, Any]
    turn: int
    bonds: frozenset[int] = frozenset()
    request: bool = False
    said: bool = False
    fixed: bool = False


class Talk(Struct, frozen=True, kw_only=True):
    """A conversation and its request body."""

    dialect: Dialect
    spoken: tuple[Spoken, ...]
    extra: dict[str, Any] = field(default_factory=dict)

    @property
    def body(self) -> dict[str, Any]:
        """The request, decoded."""
        return {**self.extra, LISTS[self.dialect]: [one.body for one in self.spoken]}

    @property
    def request(self) -> int | None:
        """The last message with which the user opens a turn."""
        return next((i for i in range(len(self.spoken) - 1, -1, -1) if self.spoken[i].request), None)

    @property
    def bonds(self) -> list[frozenset[int]]:
        """Messages that must stay together, exchange by exchange."""
        found: dict[int, set[int]] = {}
        for index, one in enumerate(self.spoken):
            for bond in one.bonds:
                found.setdefault(bond, set()).add(index)
        return [frozenset(members) for members in found.values()]

    @property
    def mandatory(self) -> frozenset[int]:
        """What no plan may leave out (design, section 11), pins aside."""
        kept = {index for index, one in enumerate(self.spoken) if one.fixed}
        others = [index for index, one in enumerate(self.spoken) if not one.fixed]
        if not others:
            return frozenset(kept)
        kept.add(others[-1])
        request = self.request
        if request is not None:
            kept.add(request)
            kept.update(index for index in others if index > request and self.spoken[index].said)
        bonds = {bond for index in kept for bond in self.spoken[index].bonds}
        return frozenset(kept | {index for index, one in enumerate(self.spoken) if bonds & one.bonds})


words = st.integers(0, 60).map(lambda count: " ".join(["word"] * count))


class _Maker:
    """Writes a conversation, message by message."""

    def __init__(self, draw: st.DrawFn, dialect: Dialect) -> None:
        self.draw = draw
        self.dialect = dialect
        self.spoken: list[Spoken] = []
        self.turn = -1
        self.exchange = 0
        self.ids = 0
        self.reuses = draw(st.booleans())

    def say(self, body: dict[str, Any], **facts: Any) -> None:
        self.spoken.append(Spoken(body, self.turn, **facts))

    def flip(self) -> bool:
        return self.draw(st.booleans())

    def call_id(self) -> str:
        self.ids += 1
        return f"run:{self.ids % 3}" if self.reuses else f"call-{self.ids}"

    def make(self) -> Talk:
        if self.flip():
            self.prefix()
        for _ in range(self.draw(st.integers(0, 4))):
            self.make_turn()
        if not self.spoken or self.flip():
            self.request()
            if self.flip():
                self.loop(open_end=True)
        return Talk(dialect=self.dialect, spoken=tuple(self.spoken))

    def prefix(self) -> None:
        if self.dialect == "openai-chat" or self.flip():
            self.system()
        if self.flip():
            self.answer()

    def make_turn(self) -> None:
        self.request()
        self.loop()
        if self.flip():
            self.answer()

    def request(self) -> None:
        for _ in range(self.draw(st.sampled_from([1, 1, 1, 2]))):
            self.turn += 1
            self.say(_user(self.dialect, f"request {self.turn} {self.draw(words)}"), request=True)
        if self.draw(st.integers(0, 5)) == 0:
            self.system()

    def system(self) -> None:
        if self.dialect != "gemini":
            role = "system" if self.dialect == "anthropic" else self.draw(st.sampled_from(["system", "developer"]))
            self.say({"role": role, "content": f"rules {self.draw(words)}"}, fixed=True)

    def answer(self) -> None:
        self.exchange += 1
        bond = frozenset({self.exchange})
        if self.dialect == "openai-responses" and self.flip():
            self.say(_reasoning(self.exchange), bonds=bond)
        self.say(_assistant(self.dialect, f"answer {self.draw(words)}"), bonds=bond)

    def loop(self, *, open_end: bool = False) -> None:
        for _ in range(self.draw(st.integers(0, 5 if open_end else 2))):
            self.run_exchange()
        if open_end and self.flip():
            self.run_exchange(leave_open=True)

    def run_exchange(self, *, leave_open: bool = False) -> None:
        """Parallel calls and their results, in any order and over several messages; some results may not be there yet."""
        self.exchange += 1
        bond = frozenset({self.exchange})
        calls = [
            _Call(self.call_id(), self.draw(st.sampled_from(["read", "run"])))
            for _ in range(self.draw(st.integers(1, 3)))
        ]
        thinks = self.flip()
        for body in _CALLERS[self.dialect](calls, thinks, self.exchange):
            self.say(body, bonds=bond)
        done = calls[: self.draw(st.integers(0, len(calls) - 1))] if leave_open else calls
        if self.dialect != "gemini":
            done = self.draw(st.permutations(done))
        texts = [f"result of {call.name} {self.draw(words)}" for call in done]
        for bodies in self.batches(list(zip(done, texts, strict=True))):
            said = self.dialect in ("anthropic", "gemini") and self.draw(st.integers(0, 4)) == 0
            self.say(_RESULTS[self.dialect](bodies, said), bonds=bond, said=said)

    def batches(self, results: list[tuple[_Call, str]]) -> list[list[tuple[_Call, str]]]:
        """One message for each result where the dialect has it so, else one for all or one for each."""
        if not results:
            return []
        alone = self.dialect.startswith("openai") or self.flip()
        return [[result] for result in results] if alone else [results]


class _Call(NamedTuple):
    id: str
    name: str


Results = list[tuple[_Call, str]]


def _user(dialect: Dialect, text: str) -> dict[str, Any]:
    if dialect == "gemini":
        return {"role": "user", "parts": [{"text": text}]}
    return {"role": "user", "content": text}


def _assistant(dialect: Dialect, text: str) -> dict[str, Any]:
    if dialect == "gemini":
        return {"role": "model", "parts": [{"text": text}]}
    if dialect == "openai-responses":
        return {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]}
    return {"role": "assistant", "content": text}


def _reasoning(number: int) -> dict[str, Any]:
    return {"type": "reasoning", "id": f"rs_{number}", "summary": [], "encrypted_content": "c2VhbGVk" * 8}


def _call_chat(calls: list[_Call], thinks: bool, number: int) -> list[dict[str, Any]]:
    made = [
        {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": f'{{"n": {number}}}'}}
        for call in calls
    ]
    body: dict[str, Any] = {"role": "assistant", "content": None, "tool_calls": made}
    return [{**body, "reasoning_content": "let me think"} if thinks else body]


def _call_responses(calls: list[_Call], thinks: bool, number: int) -> list[dict[str, Any]]:
    items = [
        {"type": "function_call", "call_id": call.id, "name": call.name, "arguments": f'{{"n": {number}}}'}
        for call in calls
    ]
    searched = {"type": "web_search_call", "id": f"ws_{number}", "status": "completed", "action": {"query": "x"}}
    return [_reasoning(number), searched, *items] if thinks else items


def _call_anthropic(calls: list[_Call], thinks: bool, number: int) -> list[dict[str, Any]]:
    blocks: list[dict[str, Any]] = [{"type": "text", "text": "I look."}]
    if thinks:
        blocks = [{"type": "thinking", "thinking": "let me think", "signature": "c2ln" * 10}]
        blocks.append({"type": "server_tool_use", "id": f"srv_{number}", "name": "web_search", "input": {"query": "x"}})
        blocks.append({"type": "web_search_tool_result", "tool_use_id": f"srv_{number}", "content": []})
    blocks += [{"type": "tool_use", "id": call.id, "name": call.name, "input": {"n": number}} for call in calls]
    return [{"role": "assistant", "content": blocks}]


def _call_gemini(calls: list[_Call], thinks: bool, number: int) -> list[dict[str, Any]]:
    parts: list[dict[str, Any]] = [{"text": "let me think", "thought": True}] if thinks else []
    parts += [{"functionCall": {"name": call.name, "args": {"n": number}}} for call in calls]
    return [{"role": "model", "parts": parts}]


def _result_chat(results: Results, said: bool) -> dict[str, Any]:
    (call, text) = results[0]
    return {"role": "tool", "tool_call_id": call.id, "content": text}


def _result_responses(results: Results, said: bool) -> dict[str, Any]:
    (call, text) = results[0]
    return {"type": "function_call_output", "call_id": call.id, "output": text}


def _result_anthropic(results: Results, said: bool) -> dict[str, Any]:
    blocks = [{"type": "tool_result", "tool_use_id": call.id, "content": text} for call, text in results]
    return {"role": "user", "content": [*blocks, *([{"type": "text", "text": "And mind this."}] if said else [])]}


def _result_gemini(results: Results, said: bool) -> dict[str, Any]:
    parts: list[dict[str, Any]] = [
        {"functionResponse": {"name": call.name, "response": {"output": text}}} for call, text in results
    ]
    return {"role": "user", "parts": [*parts, *([{"text": "And mind this."}] if said else [])]}


_CALLERS = {
    "openai-chat": _call_chat,
    "openai-responses": _call_responses,
    "anthropic": _call_anthropic,
    "gemini": _call_gemini,
}
_RESULTS = {
    "openai-chat": _result_chat,
    "openai-responses": _result_responses,
    "anthropic": _result_anthropic,
    "gemini": _result_gemini,
}


@st.composite
def talks(draw: st.DrawFn, dialect: Dialect) -> Talk:
    """Conversations of a dialect, each a history that its provider takes: every call has its result but for those of the last
    message of the assistant."""
    return _Maker(draw, dialect).make()
