"""Routed requests whose targets fail in every way: clients get one answer or one error, the ledger is balanced, nothing is left.

    python -m scripts.chaos [--requests 5000] [--seed 1]      faults at every moment, up to all three targets of a request
    python -m scripts.chaos --seconds 60                      64 streams at once, of which one in a hundred fails

The seed tells the faults. It ends with status 1 where anything is wrong.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import random
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import aiohttp

import ullage.engine.health
from tests.gateway import chaos
from tests.gateway.routes import run_routed
from ullage.core.wire import DIALECTS
from ullage.testing import FakeProvider, Fault, Rule

if TYPE_CHECKING:
    from ullage.daemon import Daemon

AT_ONCE = 64
BATCH = 250
IDLE = 5 * AT_ONCE
"""Connections that may be kept for further requests, on both sides of the gateway."""
FAULTY = 0.01
PAUSE_MS = 10


class Play:
    """The provider, the gateway and the clients, and what has become of the requests so far."""

    def __init__(self, fake: FakeProvider, gateway: Daemon, client: aiohttp.ClientSession, seed: int) -> None:
        self.fake = fake
        self.gateway = gateway
        self.client = client
        self.seed = seed
        self.clean: chaos.Clean = {}
        self.found: Counter[str] = Counter()
        self.calls = 0

    async def learn(self) -> None:
        """What answers look like where nothing fails."""
        for dialect in DIALECTS:
            self.clean |= await chaos.learn(dialect, self.gateway.url, self.fake, self.client)

    async def run_batches(self, requests: int) -> None:
        """So many requests at which anything fails."""
        cases = list(chaos.random_cases(self.clean, requests, self.seed))
        for start in range(0, len(cases), BATCH):
            self.fake.script.clear()
            batch = cases[start : start + BATCH]
            for case, (seen, asked) in (
                await chaos.play(batch, self.gateway.url, self.fake, self.client, AT_ONCE)
            ).items():
                self.note(chaos.check(case, seen, asked), asked)
            self.tell()

    async def run_streams(self, seconds: float) -> None:
        """Streams at once, for so long."""
        self.fake.script.clear()
        plain = Rule(user_text="<plain", reply=chaos.reply(0, tool=False), fault=Fault(pause_ms=PAUSE_MS))
        self.fake.script.add(plain)
        until = time.monotonic() + seconds
        async with asyncio.TaskGroup() as workers:
            for number in range(AT_ONCE):
                workers.create_task(self._stream(number, until))

    async def _stream(self, worker: int, until: float) -> None:
        chance = random.Random(self.seed * 1_000 + worker)
        number = 0
        while time.monotonic() < until:
            dialect, number = DIALECTS[(worker + number) % 4], number + 1
            name, faults = f"plain {worker}-{number}", ()
            if chance.random() < FAULTY:
                phases = chaos.phases(*self.clean[dialect, True, False], stream=True)
                name, faults = f"faulty {worker}-{number}", (chance.choice(list(phases.values())),)
            case = chaos.Case(name, dialect, True, False, faults)
            if faults:
                self.fake.script.add(*chaos.rules(case))
            seen = await chaos.run(case, self.gateway.url, self.client)
            asked = int(seen.headers["x-ullage-attempts"])
            became = chaos.check(case, seen, asked)
            assert faults or became == "whole", (case, seen)
            self.note(became, asked)

    def note(self, became: str, calls: int) -> None:
        self.found[became] += 1
        self.calls += calls

    def tell(self) -> None:
        print(f"{self.found.total():>6} requests, {self.calls} calls, {dict(self.found)}", flush=True)


async def run(requests: int, seconds: float, seed: int) -> int:
    """Prints what became of the requests; the exit status."""
    with tempfile.TemporaryDirectory() as folder:
        async with (
            FakeProvider() as fake,
            run_routed(fake, Path(folder), store="sqlite", **chaos.SECTIONS) as gateway,
            aiohttp.ClientSession(auto_decompress=False, connector=aiohttp.TCPConnector(limit=0)) as client,
        ):
            play = Play(fake, gateway, client, seed)
            await play.learn()
            before = chaos.left()
            if seconds:
                await play.run_streams(seconds)
            else:
                await play.run_batches(requests)
            await asyncio.to_thread(chaos.check_ledger, gateway)
            records = len(gateway.store.calls(limit=10_000_000))
            await asyncio.sleep(1)
            after = chaos.left()
    play.tell()
    sent = play.found.total() + len(play.clean)
    print(f"{records} records of {sent} requests; {after} tasks and files, {before} before")
    return int(records != sent or any(now > then + IDLE for now, then in zip(after, before, strict=True)))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--requests", type=int, default=5_000)
    parser.add_argument("--seconds", type=float, default=0, help="streams for so long instead")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    # The provider's server tells of every client that has left.
    logging.getLogger("aiohttp.server").setLevel(logging.CRITICAL)
    # Circuits would leave everybody alone within seconds.
    setattr(ullage.engine.health, "is_admitted", lambda *_, **__: True)  # noqa: B010 - patched, as tests do
    started = time.monotonic()
    status = asyncio.run(run(arguments.requests, arguments.seconds, arguments.seed))
    print(f"seed {arguments.seed}, {time.monotonic() - started:.0f} s: {'failed' if status else 'nothing is wrong'}")
    return status


if __name__ == "__main__":
    sys.exit(main())
