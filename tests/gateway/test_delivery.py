"""The loop of attempts as a machine, without sockets: whatever targets answer, it does what a short model does."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple, cast

from hypothesis import given
from hypothesis import strategies as st

from ullage.core.errors import RoutingError, UpstreamError
from ullage.engine import Endpoint, Engine, Exchange
from ullage.engine.departure import Departure
from ullage.engine.exchange import GivenUp
from ullage.engine.route_telling import RouteTold
from ullage.engine.targets import Destination
from ullage.gateway.attempts import Delivery, Routed
from ullage.gateway.sending import Outgoing
from ullage.settings.routing import FailoverSettings
from ullage.upstream import Headers, UpstreamClient

Piece = Literal["start", "ping", "thinking", "text", "call", "error", "end"]
Close = Literal["closes", "breaks"]

_STOP = b'event: message_delta\ndata: {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":3}}\n\n'
EVENTS: dict[Piece, bytes] = {
    "start": b'event: message_start\ndata: {"type":"message_start","message":{"id":"m","role":"assistant","model":"x"}}\n\n',
    "ping": b'event: ping\ndata: {"type":"ping"}\n\n',
    "thinking": b'event: content_block_delta\ndata: {"type":"content_block_delta","index":0,'
    b'"delta":{"type":"thinking_delta","thinking":"%d thinks"}}\n\n',
    "text": b'event: content_block_delta\ndata: {"type":"content_block_delta","index":0,'
    b'"delta":{"type":"text_delta","text":"%d says"}}\n\n',
    "call": b'event: content_block_start\ndata: {"type":"content_block_start","index":0,'
    b'"content_block":{"type":"tool_use","id":"%d","name":"bash","input":{}}}\n\n',
    "error": b'event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}\n\n',
    "end": _STOP + b'event: message_stop\ndata: {"type":"message_stop"}\n\n',
}


class Script(NamedTuple):
    """What one target does: it refuses the connection (`status` 0), tells an error, or answers with a stream."""

    status: int
    pieces: tuple[Piece, ...] = ()
    close: Close = "closes"


class Ending(NamedTuple):
    """What a client gets: the answer of a target, whole or broken off, a target's error, or ours; after so many calls."""

    kind: Literal["whole", "broken", "theirs", "ours"]
    target: int
    calls: int


def model(scripts: Sequence[Script], most: int) -> Ending:
    """Routing specification, section 19."""
    for number, script in enumerate(scripts[:most]):
        last = number == min(most, len(scripts)) - 1
        if script.status >= 400:
            if last or script.status not in (429, 503):
                return Ending("theirs", number, number + 1)
            continue
        told = [piece for piece in script.pieces if piece in ("text", "call", "error")]
        whole = "end" in script.pieces and "error" not in told and script.close == "closes"
        is_passed_on = bool(script.pieces) if most == 1 else bool(told) and told[0] != "error"
        if script.status and (is_passed_on or (whole and not told)):
            return Ending("whole" if whole else "broken", number, number + 1)
        if last:
            return Ending("ours", number, number + 1)
    raise AssertionError("somebody is last")


class Response:
    """An answer from memory."""

    def __init__(self, number: int, script: Script) -> None:
        self.status = script.status
        self.over: list[str] = []
        kind = b"application/json" if script.status >= 400 else b"text/event-stream"
        self.headers: Headers = [(b"Content-Type", kind)]
        self._pieces = [piece.replace(b"%d", b"%d" % number) for piece in (EVENTS[name] for name in script.pieces)]
        if script.status >= 400:
            self._pieces = [b'{"type":"error","error":{"type":"api_error","message":"%d fails"}}' % number]
        self._close = script.close

    async def read(self) -> bytes:
        await asyncio.sleep(0)
        if self._pieces:
            return self._pieces.pop(0)
        if self._close == "breaks":
            raise UpstreamError("it broke", code="upstream_closed")
        return b""

    def release(self) -> None:
        self.over.append("released")

    def abort(self) -> None:
        self.over.append("aborted")


class Upstream:
    """Answers by the host that is asked."""

    def __init__(self, scripts: Sequence[Script]) -> None:
        self._scripts = scripts
        self.responses: list[Response] = []
        self.asked: list[int] = []

    async def open(self, method: str, url: str, headers: Headers, body: bytes) -> Response:
        number = int(url.removeprefix("http://").partition("/")[0])
        self.asked.append(number)
        script = self._scripts[number]
        if not script.status:
            raise UpstreamError("refused", code="upstream_refused")
        self.responses.append(Response(number, script))
        return self.responses[-1]


class Choosing:
    """Stands in for the engine: the targets in their order."""

    def __init__(self, count: int) -> None:
        self._count = count
        self.given_up: list[GivenUp] = []

    async def depart_again(self, exchange: Exchange, given_up: GivenUp) -> Departure:
        await asyncio.sleep(0)
        self.given_up.append(given_up)
        number = len(self.given_up)
        if number >= self._count:
            return Departure(body=b"", refusal=RoutingError("nobody is left", code="incompatible"))
        return departure(number)


def departure(number: int) -> Departure:
    target = f"t/{number}"
    return Departure(
        body=b"{}",
        plain=True,
        session="s",
        target=target,
        destination=Destination(
            target=target, provider="t", model=str(number), dialect="anthropic", root=f"http://{number}"
        ),
        route=RouteTold(target=target, thinking="", line="", why=""),
    )


class Outcome(NamedTuple):
    messages: list[dict[str, Any]]
    exchange: Exchange
    upstream: Upstream
    choosing: Choosing


async def deliver(scripts: Sequence[Script], most: int) -> Outcome:
    exchange = Exchange(
        id="x",
        endpoint=Endpoint(dialect="anthropic", purpose="generate", path="/v1/messages"),
        headers={},
        body=b"{}",
        root="http://0",
        provider="t",
        created_ms=1_000,
        clock=itertools.count().__next__,
        hand_over=lambda _exchange, _piece: None,
        routable=True,
    )
    upstream, choosing = Upstream(scripts), Choosing(len(scripts))
    messages: list[dict[str, Any]] = []

    async def send(message: dict[str, Any]) -> None:
        await asyncio.sleep(0)
        messages.append(message)

    delivery = Delivery(cast("Engine", choosing), cast("UpstreamClient", upstream), FailoverSettings(max_attempts=most))
    outgoing = Outgoing("POST", "http://0/v1/messages", [], b"{}", "anthropic")
    routed = Routed(outgoing, exchange.endpoint, exchange, "", departure(0), asyncio.get_running_loop().time())
    await delivery.deliver(routed, send)
    return Outcome(messages, exchange, upstream, choosing)


pieces: st.SearchStrategy[Piece] = st.sampled_from(["start", "ping", "thinking", "text", "call", "error", "end"])
closes: st.SearchStrategy[Close] = st.sampled_from(["closes", "closes", "breaks"])
answers = st.builds(Script, st.just(200), st.lists(pieces, max_size=5).map(tuple), closes)
failing = st.sampled_from([Script(0), Script(400), Script(401), Script(429), Script(503)])
scripts = st.lists(st.one_of(failing, answers), min_size=1, max_size=4)


@given(scripts, st.integers(1, 4))
def test_it_does_what_a_short_model_does(given_scripts: list[Script], most: int) -> None:
    expected = model(given_scripts, most)
    found = asyncio.run(deliver(given_scripts, most))
    starts = [one for one in found.messages if one["type"] == "http.response.start"]
    body = b"".join(one.get("body", b"") for one in found.messages)
    assert len(starts) == 1, "one answer"
    status, headers = starts[0]["status"], dict(starts[0]["headers"])
    assert found.upstream.asked == list(range(expected.calls)), "one after the other, none twice"
    assert headers[b"x-ullage-target"] == b"t/%d" % expected.target
    assert headers[b"x-ullage-attempts"] == b"%d" % expected.calls
    ended = found.messages[-1].get("more_body") is False
    heard = {number for number in range(4) if b"%d says" % number in body or b"%d thinks" % number in body}
    assert heard <= {expected.target}, "nobody else is heard"
    if expected.kind == "whole":
        assert (status, ended, found.exchange.outcome) == (200, True, "whole")
    elif expected.kind == "broken":
        assert status == 200
        assert not ended or b"event: error" in body or b"message_stop" not in body
    elif expected.kind == "theirs":
        assert (status, json.loads(body)["error"]["message"]) == (
            given_scripts[expected.target].status,
            f"{expected.target} fails",
        )
    else:
        assert (status >= 500, json.loads(body)["error"]["type"]) == (True, "ullage_error")
        assert found.exchange.failure is not None
    assert all(response.over for response in found.upstream.responses), "nothing is left open"


@given(scripts)
def test_every_attempt_but_the_last_is_told_to_have_failed(given_scripts: list[Script]) -> None:
    found = asyncio.run(deliver(given_scripts, 3))
    told = [one.target for one in found.choosing.given_up]
    assert told == [f"t/{number}" for number in range(len(told))]
    assert len(found.upstream.asked) - len(told) in (0, 1)
    assert found.exchange.asked == (len(found.upstream.asked) > len(told))
