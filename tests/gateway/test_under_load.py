"""What users report of gateways under load (faults specification, section 1): waits behind others, and memory that only grows."""

from __future__ import annotations

import asyncio
import gc
import json
import sqlite3
import sys
from collections import Counter, deque
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from types import FrameType
from typing import Any

import aiohttp
import msgspec
import pytest
from msgspec.structs import replace

from tests.gateway.routes import know_targets, run_routed
from ullage.core.wire import DIALECTS
from ullage.daemon import Daemon
from ullage.engine.exchange import Exchange
from ullage.engine.observation import Observation
from ullage.gateway.attempts import Routed
from ullage.gateway.body import RequestBody
from ullage.gateway.hearing import Heard
from ullage.testing import BuiltRequest, FakeProvider, Fault, Rule, make_request
from ullage.testing.gateway import run_gateway

AT_ONCE = 101
"""More than a client's library allows by itself: a pool of connections that nobody sized is one of 100."""


@pytest.fixture
async def client() -> AsyncIterator[aiohttp.ClientSession]:
    """As many connections as there are requests."""
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:
        yield session


async def post(client: aiohttp.ClientSession, gateway: Daemon, request: BuiltRequest, **named: Any) -> int:
    url = gateway.url + request.path
    async with client.post(url, data=request.body, headers=request.headers, **named) as response:
        await response.read()
        return response.status


def plain(fake: FakeProvider, tmp_path: Path, **sections: Any) -> Any:
    return run_gateway(dict.fromkeys(DIALECTS, fake.url), tmp_path, **sections)


def managed(fake: FakeProvider, tmp_path: Path, **sections: Any) -> Any:
    return plain(fake, tmp_path, mode="managed", **sections)


WAYS: dict[str, tuple[Callable[..., Any], str]] = {
    "passed on": (plain, "m"),
    "planned": (managed, "m"),
    "routed": (run_routed, "auto"),
}
"""How a request goes through, and the model that it names for that."""


@pytest.mark.parametrize("way", WAYS)
async def test_no_request_waits_for_the_answers_of_the_others__litellm_13546(
    way: str, tmp_path: Path, client: aiohttp.ClientSession
) -> None:
    """Above fifteen a second each waited for ten seconds: all are with the provider while none is answered."""
    run, model = WAYS[way]
    silent = Rule(times=AT_ONCE, fault=Fault(delay_ms=60_000))
    async with FakeProvider([silent]) as fake, run(fake, tmp_path) as gateway:
        if model == "auto":
            know_targets(gateway)
        request = make_request("anthropic", model=model, turns=("Hello.",))
        waiting = [asyncio.create_task(post(client, gateway, request)) for _ in range(AT_ONCE)]
        try:
            async with asyncio.timeout(30):
                while len(fake.requests) < AT_ONCE:
                    await asyncio.sleep(0.005)
                assert await post(client, gateway, request) == 200
            assert not any(one.done() for one in waiting)
        finally:
            for one in waiting:
                one.cancel()
            await asyncio.gather(*waiting, return_exceptions=True)


@pytest.mark.parametrize("way", WAYS)
async def test_no_answer_waits_for_the_database__litellm_9491(
    way: str, tmp_path: Path, client: aiohttp.ClientSession
) -> None:
    """Another process writes and does not end: SQLite would wait for five seconds."""
    run, model = WAYS[way]
    async with FakeProvider() as fake, run(fake, tmp_path, store="sqlite") as gateway:
        assert await asyncio.to_thread(gateway.engine.flush)
        assert await asyncio.to_thread(gateway.store.flush)
        (file,) = tmp_path.rglob("*.db")
        other = sqlite3.connect(file, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        request = make_request("anthropic", model=model, turns=("Hello.",))
        for _ in range(5):
            assert await post(client, gateway, request, timeout=aiohttp.ClientTimeout(total=4)) == 200
        assert other.execute("SELECT count(*) FROM calls").fetchone() == (0,)
        other.execute("ROLLBACK")
        other.close()
        assert await asyncio.to_thread(gateway.engine.flush)
        assert await asyncio.to_thread(gateway.store.flush)
        assert len(gateway.store.calls()) == 5


NOT_OF_REQUESTS = ("ullage.testing.", "ullage.gateway.hearing")
"""The fake provider is in the same loop here, and answers are heard there, piece by piece."""


def module_of(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__", ""))


def works_on_requests(frame: FrameType | None) -> bool:
    """Whether a frame is of our code for what clients send."""
    assert frame is not None
    if not module_of(frame).startswith("ullage.core."):
        return module_of(frame).startswith("ullage.") and not module_of(frame).startswith(NOT_OF_REQUESTS)
    while frame is not None and not module_of(frame).startswith(NOT_OF_REQUESTS):
        frame = frame.f_back
    return frame is None


class Profile:
    """What our code calls in the thread of the event loop: how often, and where it has JSON decoded."""

    def __init__(self) -> None:
        self.calls = 0
        self.decoded: list[str] = []

    def __call__(self, frame: FrameType, event: str, called: Any) -> None:
        if event == "call" and module_of(frame) == "json":
            caller, decodes = frame.f_back, True
        elif event in ("call", "c_call"):
            caller = frame
            decodes = event == "c_call" and (
                called.__name__ == "json_decode" or isinstance(called.__self__, msgspec.json.Decoder)
            )
        else:
            return
        if works_on_requests(caller):
            self.calls += 1
            if decodes:
                self.decoded.append(f"{caller}: {called}")


async def profile(client: aiohttp.ClientSession, gateway: Daemon, request: BuiltRequest) -> Profile:
    found = Profile()
    sys.setprofile(found)
    try:
        assert await post(client, gateway, request) == 200
    finally:
        sys.setprofile(None)
    return found


@pytest.mark.parametrize("way", WAYS)
async def test_a_body_is_never_walked_on_the_event_loop__anthropic_sdk_1195(
    way: str, tmp_path: Path, client: aiohttp.ClientSession
) -> None:
    """What is done there is the same for a body of a few parts and for one of thousands, and none of it reads JSON. Where nothing
    is to be changed, the provider gets the very bytes."""
    run, model = WAYS[way]
    parts = 1000
    async with FakeProvider() as fake, run(fake, tmp_path) as gateway:
        one = make_request("anthropic", model=model, turns=("Hello." + " word" * 10 * parts,))
        request = json.loads(one.body)
        request["messages"][0]["content"] = [{"type": "text", "text": f"{number:07}"} for number in range(parts)]
        many = replace(one, body=json.dumps(request).encode())
        await post(client, gateway, make_request("anthropic", model=model, turns=("Hello.",)))
        few, thousands = [await profile(client, gateway, each) for each in (one, many)]
        received = [each.body for each in fake.requests][1:]
    assert (few.decoded, thousands.decoded) == ([], [])
    assert thousands.calls < few.calls + parts / 3
    if way != "routed":
        assert received == [one.body, many.body]


OURS = ("ullage.", "aiohttp.", "uvicorn.")
BATCH = 24
"""Each way to ask once."""
BOUNDED = {"GrowthState.pairs", "TwoGenerations._young", "_Window.samples"}
"""What grows to a bound that is beyond the requests of a test."""
Asking = Callable[[aiohttp.ClientSession, Daemon, int], Any]


def held_in(root: object) -> Counter[str]:
    """How many entries the containers have that can be reached from an object by attributes, by class and attribute. One that is
    bounded by itself does not count."""
    found: Counter[str] = Counter()
    seen: set[int] = set()
    waiting: list[tuple[str, Any]] = [("", root)]
    while waiting:
        place, one = waiting.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        if isinstance(one, (dict, list, set, frozenset, tuple, deque)):
            found[place] += len(one) if getattr(one, "maxlen", None) is None else 0
            waiting += [(place, each) for each in (one.values() if isinstance(one, dict) else tuple(one))]
        elif type(one).__module__.startswith(OURS):
            slots = (name for kind in type(one).__mro__ for name in getattr(kind, "__slots__", ()))
            names = dict.fromkeys((*slots, *getattr(one, "__dict__", ())))
            waiting += [(f"{type(one).__qualname__}.{name}", getattr(one, name, None)) for name in names]
    return found


def alive() -> Counter[str]:
    """Objects that belong to one request and are still there."""
    gc.collect()
    kinds = (Exchange, Observation, RequestBody, Routed, Heard)
    return Counter(type(one).__name__ for one in gc.get_objects() if isinstance(one, kinds))


async def ask_in_every_way(client: aiohttp.ClientSession, gateway: Daemon, since: int) -> None:
    """Of all protocols, routed and not, streamed and not, answered and not."""
    for number in range(since, since + BATCH):
        model, dialect = ("m", "auto")[number // 4 % 2], DIALECTS[number % 4]
        await post(client, gateway, make_request(dialect, model=model, turns=("Hello.",), stream=number % 3 == 0))


async def pass_on(client: aiohttp.ClientSession, gateway: Daemon, since: int) -> None:
    """Each to a path that was never asked for before."""
    for number in range(since, since + BATCH):
        path = ("/v1/files/file-{}", "/v1/embeddings/{}", "/v1beta/cachedContents/{}", "/nowhere/{}")[number % 4]
        async with client.get(gateway.url + path.format(number)) as response:
            await response.read()


@pytest.mark.parametrize(
    "asking", [ask_in_every_way, pass_on], ids=["conversations (#12685, #27954)", "other paths (#13805)"]
)
async def test_nothing_of_a_request_stays_when_it_is_over__litellm_12685_27954_13805(
    asking: Asking, tmp_path: Path, client: aiohttp.ClientSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Memory grew until the process was killed; on paths that are passed on, as each request was registered as a route again."""
    monkeypatch.setattr("ullage.stores.ledger.MEMORY_ENTRIES", 4)
    before = alive()
    async with FakeProvider() as fake, run_routed(fake, tmp_path, store="sqlite") as gateway:
        held = []
        for batch in range(2):
            await asking(client, gateway, batch * BATCH)
            assert await asyncio.to_thread(gateway.engine.flush)
            assert await asyncio.to_thread(gateway.store.flush)
            held.append(held_in(gateway))
        assert sum(held[1].values()) > 100
        assert {place: grown for place, grown in (held[1] - held[0]).items() if place not in BOUNDED} == {}
        async with asyncio.timeout(30):  # a thread that has said it is done may not have left its last function yet
            while alive() - before:
                await asyncio.sleep(0.05)
