"""Small conversations in every dialect, planned by the pure planner, and sent through a gateway to a strict provider."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any, NamedTuple

import aiohttp

from ullage.core.accounting import make_meter
from ullage.core.planning import Caps, Plan, plan, plan_live
from ullage.core.planning.assembling import (
    Evidence,
    RequestFacts,
    find_pinned,
    limit_budget,
    make_input,
    read_facts,
    render_plan,
)
from ullage.core.planning.shortening import offer_excerpts
from ullage.core.wire import Conversation, Dialect, parse_request
from ullage.testing import BuiltRequest, FakeProvider, make_request
from ullage.testing.dialects.events import seal

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from ullage.core.accounting import Meter
    from ullage.daemon import Daemon
    from ullage.stores import CallRecord

LISTS: dict[Dialect, str] = {
    "openai-chat": "messages",
    "openai-responses": "input",
    "anthropic": "messages",
    "gemini": "contents",
}
ROOMY = Caps(recent_tail=1_000_000, pinned=1_000_000, memory=8_000, history=16_000, project=20_000, summary=12_000)
"""Nothing but the limit holds."""


def words(count: int, word: str = "word") -> str:
    """A text of so many words, about a token each."""
    return " ".join([word] * count)


class Story:
    """A conversation, written message by message. What is written is told by its places in the request's list."""

    def __init__(self, dialect: Dialect, **extra: Any) -> None:
        self.dialect: Dialect = dialect
        self.messages: list[dict[str, Any]] = []
        self.extra = extra
        self._exchanges = 0

    def user(self, text: str) -> int:
        body: dict[str, Any] = {"role": "user", "parts": [{"text": text}]}
        return self.add(body if self.dialect == "gemini" else {"role": "user", "content": text})

    def assistant(self, text: str) -> int:
        if self.dialect == "gemini":
            return self.add({"role": "model", "parts": [{"text": text}]})
        if self.dialect == "openai-responses":
            content = [{"type": "output_text", "text": text}]
            return self.add({"type": "message", "role": "assistant", "content": content})
        return self.add({"role": "assistant", "content": text})

    def turn(self, asked: str, answered: str) -> list[int]:
        """A question and its answer."""
        return [self.user(asked), self.assistant(answered)]

    def exchange(self, *results: str, ids: Sequence[str] = (), tool: str = "read", thinks: bool = False) -> list[int]:
        """Parallel calls of a tool, one for each result, with the results."""
        ids = ids or self.new_ids(len(results))
        return [
            *self.call(*ids, tool=tool, thinks=thinks),
            *self.answer(dict(zip(ids, results, strict=True)), tool=tool),
        ]

    def new_ids(self, count: int) -> list[str]:
        self._exchanges += 1
        return [f"call-{self._exchanges}-{number}" for number in range(count)]

    def call(self, *ids: str, tool: str = "read", thinks: bool = False) -> list[int]:
        """Parallel calls of a tool."""
        return [self.add(body) for body in _CALLERS[self.dialect](ids, tool, thinks, len(self.messages))]

    def answer(self, results: Mapping[str, str], *, tool: str = "read") -> list[int]:
        """Results by the ids of their calls."""
        return [self.add(body) for body in _ANSWERERS[self.dialect](results, tool)]

    def add(self, message: dict[str, Any]) -> int:
        self.messages.append(message)
        return len(self.messages) - 1

    @property
    def body(self) -> dict[str, Any]:
        """The request, decoded."""
        needed = {"max_tokens": 100} if self.dialect == "anthropic" else {}
        model = {} if self.dialect == "gemini" else {"model": "any-model"}
        return {**model, **needed, **self.extra, LISTS[self.dialect]: self.messages}

    def request(self) -> BuiltRequest:
        """The request as a client sends it."""
        made = make_request(self.dialect, model="any-model")
        return BuiltRequest(
            dialect=self.dialect, path=made.path, headers=made.headers, body=json.dumps(self.body).encode()
        )


def _thought(place: int) -> str:
    return f"I look at place {place}."


def _call_chat(ids: Sequence[str], tool: str, thinks: bool, place: int) -> list[dict[str, Any]]:
    calls = [{"id": one, "type": "function", "function": {"name": tool, "arguments": '{"n": 1}'}} for one in ids]
    body: dict[str, Any] = {"role": "assistant", "content": None, "tool_calls": calls}
    return [{**body, "reasoning_content": _thought(place)} if thinks else body]


def _call_responses(ids: Sequence[str], tool: str, thinks: bool, place: int) -> list[dict[str, Any]]:
    calls = [{"type": "function_call", "call_id": one, "name": tool, "arguments": '{"n": 1}'} for one in ids]
    thought = {"type": "reasoning", "id": f"rs_{place}", "summary": [], "encrypted_content": seal(_thought(place))}
    return [thought, *calls] if thinks else calls


def _call_anthropic(ids: Sequence[str], tool: str, thinks: bool, place: int) -> list[dict[str, Any]]:
    calls = [{"type": "tool_use", "id": one, "name": tool, "input": {"n": 1}} for one in ids]
    thought = {"type": "thinking", "thinking": _thought(place), "signature": seal(_thought(place))}
    return [{"role": "assistant", "content": [thought, *calls] if thinks else calls}]


def _call_gemini(ids: Sequence[str], tool: str, thinks: bool, place: int) -> list[dict[str, Any]]:
    parts: list[dict[str, Any]] = [{"functionCall": {"name": tool, "args": {"n": 1}}} for _ in ids]
    return [{"role": "model", "parts": [{"text": _thought(place), "thought": True}, *parts] if thinks else parts}]


def _answer_chat(results: Mapping[str, str], tool: str) -> list[dict[str, Any]]:
    return [{"role": "tool", "tool_call_id": one, "content": text} for one, text in results.items()]


def _answer_responses(results: Mapping[str, str], tool: str) -> list[dict[str, Any]]:
    return [{"type": "function_call_output", "call_id": one, "output": text} for one, text in results.items()]


def _answer_anthropic(results: Mapping[str, str], tool: str) -> list[dict[str, Any]]:
    blocks = [{"type": "tool_result", "tool_use_id": one, "content": text} for one, text in results.items()]
    return [{"role": "user", "content": blocks}]


def _answer_gemini(results: Mapping[str, str], tool: str) -> list[dict[str, Any]]:
    parts = [{"functionResponse": {"name": tool, "response": {"output": text}}} for text in results.values()]
    return [{"role": "user", "parts": parts}]


_CALLERS = {
    "openai-chat": _call_chat,
    "openai-responses": _call_responses,
    "anthropic": _call_anthropic,
    "gemini": _call_gemini,
}
_ANSWERERS = {
    "openai-chat": _answer_chat,
    "openai-responses": _answer_responses,
    "anthropic": _answer_anthropic,
    "gemini": _answer_gemini,
}


class Planned(NamedTuple):
    """A plan and what it sends."""

    plan: Plan
    sent: dict[str, Any]
    messages: list[dict[str, Any]]

    @property
    def kept(self) -> set[int]:
        return set(self.plan.kept)


class Planner:
    """Plans one story within any limit. Tokens are those of `o200k-base-v1`."""

    def __init__(self, story: Story, *, caps: Caps = ROOMY, pins: Iterable[int] = (), excerpts: bool = False) -> None:
        self.story = story
        self.conversation: Conversation = parse_request(json.dumps(story.body).encode(), story.dialect)
        self.meter: Meter = meter_of(story.dialect)
        self.facts: RequestFacts = read_facts(self.conversation, self.meter)
        self._caps = caps
        self._pinned = find_pinned(self.conversation, [f"/{LISTS[story.dialect]}/{pin}" for pin in pins])
        self._excerpts = excerpts

    @property
    def tokens(self) -> int:
        """Of the whole request."""
        return self.facts.fixed_tokens + sum(self.facts.tokens)

    @property
    def limits(self) -> range:
        """Limits from nothing to a little more than everything, some 80 of them."""
        return range(0, self.tokens + 20, max(1, self.tokens // 80))

    def size(self, *indices: int) -> int:
        """Tokens of a request with these messages alone."""
        return self.facts.fixed_tokens + sum(self.facts.tokens[index] for index in indices)

    def within(self, limit: int, *, live: bool = True, evidence: Sequence[Evidence] = ()) -> Planned:
        """The plan within a limit: the one that a live request is sent by, or the one that `ullage plan` tells."""
        offered = [*evidence]
        if self._excerpts:
            offered += offer_excerpts(self.conversation, self.facts, self.meter, limit)
        given = make_input(
            self.facts, budget=limit_budget(limit), caps=self._caps, evidence=offered, pinned=self._pinned
        )
        made = plan_live(given) if live else plan(given)
        sent = json.loads(render_plan(self.conversation, made, evidence=offered))
        return Planned(made, sent, sent[LISTS[self.story.dialect]])


def meter_of(dialect: Dialect) -> Meter:
    return make_meter(dialect=dialect, provider="example", model="any-model", client=None, estimator="o200k-base-v1")


class Reply(NamedTuple):
    """What came of a request: the answer's status and headers, and what the provider was sent."""

    status: int
    headers: Mapping[str, str]
    raw: bytes
    sent: dict[str, Any]
    messages: list[dict[str, Any]]

    @property
    def plan(self) -> str:
        """The status of the plan."""
        return self.headers["x-ullage-plan"]


class Gate:
    """A gateway in managed mode, with a provider behind it that is as strict as real ones."""

    def __init__(self, daemon: Daemon, fake: FakeProvider, client: aiohttp.ClientSession) -> None:
        self.daemon = daemon
        self.fake = fake
        self._client = client

    async def send(self, story: Story, **headers: str) -> Reply:
        """Sends a story; a header `x_ullage_session` is `x-ullage-session`."""
        request = story.request()
        more = {name.replace("_", "-"): value for name, value in headers.items()}
        url = self.daemon.url + request.path
        async with self._client.post(url, data=request.body, headers={**request.headers, **more}) as response:
            await response.read()
        raw = self.fake.requests[-1].body
        sent = json.loads(raw)
        return Reply(response.status, response.headers, raw, sent, sent[LISTS[story.dialect]])

    async def keep(self, route: str, **change: Any) -> dict[str, Any]:
        """Changes what is kept, `pins` or `memory`; gives the item."""
        headers = {"authorization": f"Bearer {self.daemon.token_file.read_text()}"}
        url = f"{self.daemon.url}/ullage/v1/{route}"
        async with self._client.post(url, headers=headers, data=json.dumps({"action": "add", **change})) as response:
            told: dict[str, Any] = await response.json()
        assert response.status == 200, told
        return next(one for one in told.values() if isinstance(one, dict))

    async def record(self, reply: Reply) -> CallRecord:
        """What the gateway wrote down of it."""
        assert await asyncio.to_thread(self.daemon.engine.flush)
        assert self.daemon.store.flush()
        found = self.daemon.store.find_call(reply.headers["x-ullage-request"])
        assert found is not None
        return found


def settings(tokens: int, **more: Any) -> dict[str, Any]:
    """Sections of settings by which a plan fills about `tokens`, and never more than 9/7 of it."""
    override = {"context_window": tokens * 10 // 7, "max_output_tokens": 10, "safety_margin_tokens": 0}
    return {"mode": "managed", "models": {"refresh": False, "overrides": {"*": override}}, **more}
