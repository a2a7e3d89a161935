"""Faulty answers of every kind at every moment, and what a client may see of them: one answer or one error, and nothing twice."""

from __future__ import annotations

import asyncio
import gc
import json
import random
import re
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import aiohttp
import msgspec

from ullage.core.content import Answer
from ullage.core.profiles import Prices
from ullage.core.profiles.cache_rules import find_cache_rule
from ullage.core.wire import AnswerReader, Dialect, parse_request
from ullage.core.wire.output import requested_output
from ullage.daemon import Daemon
from ullage.stores.metrics import cost_nano_usd
from ullage.testing import FakeProvider, Fault, Reply, Rule, make_request, make_tools
from ullage.testing.recording import Received
from ullage.testing.script import ToolUse

WORDS = ("alpha", "bravo", "charlie")
"""What each attempt says, so that it can be told whose words came through."""

SILENT_MS = 500
"""How long a target may be silent before another one is asked."""

FREE = frozenset({400, 401, 429, 500, 502, 503, 529})
"""Statuses of the faults below with which a provider says that it made nothing."""

LATE_MS = 30_000
"""Longer than anybody waits."""

ROUTING: dict[str, Any] = {
    "failover": {"first_output_timeout_ms": SILENT_MS, "request_timeout_ms": 4 * SILENT_MS},
    "quota": {"enabled": False},
}
SECTIONS: dict[str, Any] = {"routing": ROUTING, "budget": {"daily_usd": 100_000, "on_exceed": "block"}}
"""Settings of the gateway: every attempt is reserved in the ledger before it is sent."""


Clean = dict[tuple[Dialect, bool, bool], tuple[bytes, int]]
"""Answers that faults spoil, with their events, by dialect, stream and tool."""


class Case(NamedTuple):
    """A request whose first targets fail in these ways, one after the other; whoever comes after them answers."""

    name: str
    dialect: Dialect
    stream: bool
    tool: bool
    faults: tuple[Fault, ...]

    @property
    def turn(self) -> str:
        """The prompt; no two cases have the same."""
        return f"Debug the failing deployment of service <{self.name}>."


class Seen(NamedTuple):
    """What the client got. `broken`: the connection ended before the answer did."""

    status: int
    headers: Any
    body: bytes
    broken: bool


_played: WeakKeyDictionary[FakeProvider, dict[str, tuple[Case, Seen]]] = WeakKeyDictionary()
"""What clients got in each case that a provider has played, by the case's name."""


def phases(answer: bytes, events: int, *, stream: bool) -> dict[str, Fault]:
    """Faults at every moment of an answer: of one whose bytes and number of events these are."""
    # Answers differ by a few digits of usage.
    last = len(answer) - 8
    found = {
        "hangs up": Fault(hang_up=True),
        "says nothing": Fault(delay_ms=LATE_MS),
        "limited": Fault(status=429, retry_after_s=1),
        "server error": Fault(status=500),
        "overloaded": Fault(status=529),
        "page of a proxy": Fault(html=True),
        "page with 200": Fault(html=True, status=200),
        "no body": Fault(empty=True),
        "refused": Fault(status=400),
        "no key": Fault(status=401),
        "head and silence": Fault(first_byte_ms=LATE_MS),
        "head and end": Fault(cut_after=0),
        "head and reset": Fault(reset_after=0),
        "head and stall": Fault(stall_after=0),
        "a byte and end": Fault(cut_after=1),
        "a byte and reset": Fault(reset_after=1),
        "cut in the middle": Fault(cut_after=last // 2),
        "reset in the middle": Fault(reset_after=last // 2),
        "stall in the middle": Fault(stall_after=last // 2),
        "cut within the last event": Fault(cut_after=last),
        "reset within the last event": Fault(reset_after=last),
        "stall within the last event": Fault(stall_after=last),
        "malformed": Fault(malformed_event=1),
        "cut anywhere": Fault(chunk_bytes=7),
        "gzip": Fault(encoding="gzip"),
        "gzip, cut in the middle": Fault(encoding="gzip", cut_after=last // 3),
    }
    if stream:
        found |= {f"error before event {at}": Fault(error_event=at) for at in range(events + 1)}
        found |= {f"ends before event {at}": Fault(end_after_events=at) for at in range(events)}
        found |= {f"malformed event {at}": Fault(malformed_event=at) for at in range(0, events, 3)}
        found |= {"pings alone": Fault(only_pings=3), "comments": Fault(comments=True)}
        found |= {"pings, then an error": Fault(comments=True, error_event=1, chunk_bytes=5)}
    return found


def reply(number: int, *, tool: bool) -> Reply:
    """What the attempt of this number, from 0 on, says."""
    word = WORDS[min(number, len(WORDS) - 1)]
    if tool:
        return Reply(thinking="Hm.", tool_calls=(ToolUse(name="bash", arguments={"command": word}),))
    return Reply(thinking="Hm.", text=f"{word} " * 12)


def rules(case: Case) -> Iterator[Rule]:
    """The provider's part in a case."""
    for number, fault in enumerate(case.faults):
        yield Rule(user_text=f"<{case.name}>", times=1, reply=reply(number, tool=case.tool), fault=fault)
    yield Rule(user_text=f"<{case.name}>", reply=reply(len(case.faults), tool=case.tool))


async def run(case: Case, url: str, client: aiohttp.ClientSession) -> Seen:
    """Sends the request of a case, whose rules the provider has."""
    request = make_request(
        case.dialect, model="auto", turns=(case.turn,), stream=case.stream, tools=make_tools(1) if case.tool else ()
    )
    headers = {**request.headers, "accept-encoding": "gzip"}
    async with client.post(url + request.path, data=request.body, headers=headers) as response:
        body, broken = bytearray(), False
        try:
            async for chunk in response.content.iter_any():
                body += chunk
        except aiohttp.ClientError:
            broken = True
    plain = bytes(body)
    if response.headers.get("content-encoding") == "gzip":
        plain = zlib.decompressobj(zlib.MAX_WBITS | 16).decompress(plain)
    return Seen(response.status, response.headers, plain, broken)


async def play(
    cases: list[Case], url: str, fake: FakeProvider, client: aiohttp.ClientSession, at_once: int
) -> dict[Case, tuple[Seen, int]]:
    """Sends all requests, so many at once: what each client got, and how often the provider was asked."""
    fake.script.add(*(rule for case in cases for rule in rules(case)))
    gate = asyncio.Semaphore(at_once)

    async def one(case: Case) -> tuple[Seen, int]:
        async with gate:
            seen = await run(case, url, client)
            return seen, sum(f"<{case.name}>".encode() in one.body for one in fake.requests)

    found = dict(zip(cases, await asyncio.gather(*map(one, cases)), strict=True))
    _played.setdefault(fake, {}).update({case.name: (case, seen) for case, (seen, _) in found.items()})
    return found


def left() -> tuple[int, int]:
    """Tasks and open files of this process."""
    gc.collect()
    return len(asyncio.all_tasks()), len(list(Path("/proc/self/fd").iterdir()))


class Owed(NamedTuple):
    """What the provider's own account of its requests comes to, in nano-USD. `sure` calls may have cost something, of `doubtful`
    ones the gateway may have given up before they were refused. `known` is of answers that came whole and told their usage; the
    reservations of all others lie between `least` and `most`."""

    sure: int
    doubtful: int
    known: int
    least: int
    most: int


def owed(gateway: Daemon, fake: FakeProvider) -> Owed:
    """By what was asked of the provider, without a look at what the gateway says."""
    overrides = {target.partition("/")[2]: one for target, one in gateway.engine._settings.models.overrides.items()}
    asked: dict[str, list[Received]] = {}
    for one in fake.requests:
        named = re.search(rb"service <([^>]+)>", one.body)
        assert named is not None
        asked.setdefault(named[1].decode(), []).append(one)
    sure = doubtful = known = least = most = 0
    for name, ones in asked.items():
        case, seen = _played[fake][name]
        for number, one in enumerate(ones):
            if one.status is not None and one.status in FREE:
                doubtful += one.cancelled
                continue
            sure += 1
            assert one.model is not None and one.dialect is not None
            model = overrides[one.model]
            prices = Prices(
                input=model.input_price,
                output=model.output_price,
                cache_read=model.cache_read_price,
                cache_write=model.cache_write_price,
            )
            is_last = number == len(ones) - 1
            if is_last and _tells_usage(case, one) and _is_whole(case, seen):
                rule = find_cache_rule("anthropic", one.model)
                known += cost_nano_usd(msgspec.to_builtins(one.usage), prices, rule) or 0
                continue
            sent = parse_request(one.body, one.dialect, path_model=one.model, path_stream=case.stream)
            output = min(requested_output(sent) or model.max_output_tokens, model.max_output_tokens)
            least += round(1_000 * output * model.output_price)
            most += round(1_000 * (output * model.output_price + 1.15 * len(one.body) * model.cache_write_price))
    return Owed(sure, doubtful, known, least, most)


def _tells_usage(case: Case, one: Received) -> bool:
    """Streams of Chat Completions tell it to whoever asks for it."""
    return one.usage is not None and (one.dialect != "openai-chat" or not case.stream or b"include_usage" in one.body)


def _is_whole(case: Case, seen: Seen) -> bool:
    if seen.status >= 400:
        return False
    answer = read(case, seen)
    return answer.complete and answer.error_type is None


def check_ledger(gateway: Daemon, fake: FakeProvider, *, exact: bool) -> None:
    """All that was reserved was settled, what is known to be spent is what the records say, and both are what the provider was
    asked for. To be called from a thread. Unless it is `exact`, a target's answer may be whole where its client's is not."""
    assert gateway.engine.flush()
    assert gateway.store.flush()
    ledger = gateway.store.ledger
    assert ledger.open_attempts() == []
    calls = gateway.store.calls(limit=1_000_000)
    known = sum(round(1_000_000_000 * (call.spend["usd"] or 0.0)) for call in calls if call.spend is not None)
    [day] = ledger.totals("day")
    assert day.amount - day.estimated == known, f"{day} in the ledger, {known} in the records"
    due = owed(gateway, fake)
    assert due.sure <= day.calls <= due.sure + due.doubtful, f"{day} in the ledger, {due} by the provider"
    if exact:
        assert known == due.known, f"{day} in the ledger, {due} by the provider"
    if exact and day.calls == due.sure:
        assert due.least <= day.estimated <= due.most, f"{day} in the ledger, {due} by the provider"


def check(case: Case, seen: Seen, asked: int) -> str:
    """What became of a case: `whole`, `broken` or `error`. Fails where the client saw anything that it should not have.

    `asked` is how often the provider was asked. On a busy machine a call may be given up before the provider has taken it, or
    before it has chosen its answer, which the next call gets then.
    """
    told = int(seen.headers["x-ullage-attempts"])
    assert asked <= told <= 3, f"{asked} calls, {told} told"
    heard = [word for word in WORDS if word.encode() in seen.body]
    if seen.status >= 400:
        assert not heard, f"{heard} beside an error"
        assert not seen.broken
        assert seen.headers["content-type"].startswith(("application/json", "text/html"))
        if seen.headers["content-type"].startswith("application/json"):
            assert "error" in json.loads(seen.body)
        return "error"
    answer = read(case, seen)
    assert len(heard) <= 1, f"words of {heard}"
    assert set(heard) <= set(WORDS[:asked]), f"{heard} after {asked} calls"
    assert len(answer.tool_calls) <= 1, "a call of a tool twice"
    if answer.complete and answer.error_type is None and not seen.broken:
        assert len(heard) == 1, "a whole answer says something"
        return "whole"
    return "broken"


def read(case: Case, seen: Seen) -> Answer:
    """The client's answer as its SDK understands it."""
    reader = AnswerReader(case.dialect, streamed=case.stream)
    reader.feed(seen.body)
    return reader.close()


def may_be(case: Case) -> set[str]:
    """What may become of a case whose first fault is the only one."""
    [fault] = case.faults
    if fault.status in (400, 401):
        return {"error"}
    before_head = fault.hang_up or fault.delay_ms or fault.status or fault.html or fault.empty or fault.first_byte_ms
    if before_head or fault.only_pings is not None:
        return {"whole"}
    ends_late = fault.ends_at is not None and fault.ends_at > 1
    cut_events = any(at is not None for at in (fault.error_event, fault.end_after_events))
    if case.stream and (ends_late or cut_events or fault.malformed_event is not None):
        return {"whole", "broken"}
    return {"whole"}


async def learn(dialect: Dialect, url: str, fake: FakeProvider, client: aiohttp.ClientSession) -> Clean:
    """What answers look like where nothing fails."""
    forms = [(stream, tool) for stream in (False, True) for tool in (False, True)]
    cases = [Case(f"{dialect}, {stream:d}, {tool:d}, clean", dialect, stream, tool, ()) for stream, tool in forms]
    seen = await play(cases, url, fake, client, len(cases))
    assert {check(case, *found) for case, found in seen.items()} == {"whole"}
    return {
        (dialect, case.stream, case.tool): (found.body, _count_events(found.body)) for case, (found, _) in seen.items()
    }


def every_case(clean: Clean) -> Iterator[Case]:
    """One for every fault at every moment."""
    for (dialect, stream, tool), (answer, events) in clean.items():
        for name, fault in phases(answer, events, stream=stream).items():
            yield Case(f"{dialect}, {stream:d}, {tool:d}, {name}", dialect, stream, tool, (fault,))


def random_cases(clean: Clean, count: int, seed: int) -> Iterator[Case]:
    """So many requests at which one target after the other fails, up to all of them."""
    chance = random.Random(seed)
    known = {kind: list(phases(*answer, stream=kind[1]).values()) for kind, answer in clean.items()}
    for number in range(count):
        kind = chance.choice(list(known))
        faults = chance.choices(known[kind], k=chance.choice((1, 2, 2, 3, 3)))
        yield Case(f"random {seed}-{number}", *kind, tuple(faults))


def _count_events(body: bytes) -> int:
    """The events of a stream."""
    return sum(1 for block in body.replace(b"\r\n", b"\n").split(b"\n\n") if block.strip())
