"""Thousands of routed requests whose targets fail in every way: each client gets one answer or one error, nothing stays behind.

`python -m scripts.chaos [--requests 5000] [--seed 1]`; the seed tells the faults. It ends with status 1 where anything is wrong.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import aiohttp

import ullage.engine.health
from tests.gateway.chaos import ROUTING, Clean, check, learn, left, play, random_cases
from tests.gateway.routes import run_routed
from ullage.core.wire import DIALECTS
from ullage.testing import FakeProvider

AT_ONCE = 64
BATCH = 250
IDLE = 5 * AT_ONCE
"""Connections that may be kept for further requests, on both sides of the gateway."""


async def run(requests: int, seed: int) -> int:
    """Prints what became of the requests; the exit status."""
    found: Counter[str] = Counter()
    calls = 0
    before: tuple[int, int] | None = None
    with tempfile.TemporaryDirectory() as folder:
        async with (
            FakeProvider() as fake,
            run_routed(fake, Path(folder), store="sqlite", routing=ROUTING) as gateway,
            aiohttp.ClientSession(auto_decompress=False, connector=aiohttp.TCPConnector(limit=0)) as client,
        ):
            clean: Clean = {}
            for dialect in DIALECTS:
                clean |= await learn(dialect, gateway.url, fake, client)
            cases = list(random_cases(clean, requests, seed))
            for start in range(0, len(cases), BATCH):
                fake.script.clear()
                batch = await play(cases[start : start + BATCH], gateway.url, fake, client, AT_ONCE)
                for case, (seen, asked) in batch.items():
                    found[check(case, seen, asked)] += 1
                    calls += asked
                before = before or left()
                print(
                    f"{found.total():>6} requests, {calls} calls, {dict(found)}, {left()} tasks and files", flush=True
                )
            await asyncio.sleep(1)
            after = left()
    assert before is not None
    if any(now > then + IDLE for now, then in zip(after, before, strict=True)):
        print(f"left behind: {after} tasks and files, {before} after the first {BATCH} requests")
        return 1
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--requests", type=int, default=5_000)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    # Circuits would leave everybody alone within seconds.
    setattr(ullage.engine.health, "is_admitted", lambda *_, **__: True)  # noqa: B010 - patched, as tests do
    started = time.monotonic()
    status = asyncio.run(run(arguments.requests, arguments.seed))
    print(f"seed {arguments.seed}, {time.monotonic() - started:.0f} s: {'failed' if status else 'nothing is wrong'}")
    return status


if __name__ == "__main__":
    sys.exit(main())
