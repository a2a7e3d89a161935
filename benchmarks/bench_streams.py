"""Start-up, idle memory, and memory with 500 open streams; the thin pass-through beside it.

Run: `python -m benchmarks.bench_streams`.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import statistics
import sys
import time
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

import aiohttp

from benchmarks.bench_gateway import make_body
from benchmarks.parts.processes import Running, gateway, machine, provider, thin

if TYPE_CHECKING:
    from collections.abc import Callable

HEADERS = {"content-type": "application/json", "anthropic-version": "2023-06-01", "x-api-key": "none"}


async def first_request(target: Running) -> None:
    async with (
        aiohttp.ClientSession() as session,
        session.post(target.url + "/v1/messages", data=make_body(1_000, 0), headers=HEADERS) as response,
    ):
        assert response.status == 200
        await response.read()


async def open_streams(target: Running, count: int) -> float:
    """Opens that many streams, each of 200 chunks with pauses, and gives the memory while all are open."""
    headers = {**HEADERS, "x-bench-chunks": "200", "x-bench-pause-ms": "50"}
    async with contextlib.AsyncExitStack() as stack:
        session = await stack.enter_async_context(aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)))
        responses = await asyncio.gather(
            *(
                session.post(target.url + "/v1/messages", data=make_body(20_000, number), headers=headers)
                for number in range(count)
            )
        )
        await asyncio.gather(*(response.content.readany() for response in responses))
        memory = target.memory_mb()
        bodies = await asyncio.gather(*(response.read() for response in responses))
        assert all(body.endswith(b'{"type":"message_stop"}\n\n') for body in bodies)
        return memory


def start_up(make: Callable[[], AbstractContextManager[Running]], rounds: int) -> list[float]:
    """Medians: seconds until it listens and until the first answer is whole; MB before the first request and after it, when
    the tokenizer's vocabulary is loaded."""
    rows = []
    for _ in range(rounds):
        started = time.perf_counter()
        with make() as target:
            fresh_mb = target.memory_mb()
            asyncio.run(first_request(target))
            answered_s = time.perf_counter() - started
            time.sleep(0.5)
            rows.append((target.ready_s, answered_s, fresh_mb, target.memory_mb()))
    return [statistics.median(column) for column in zip(*rows, strict=True)]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--streams", type=int, default=500)
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    print(f"{machine()}; median of {arguments.rounds} rounds")
    heading = f"{'target':<9}{'listens s':>11}{'first answer s':>16}{'fresh MB':>10}{'idle MB':>9}"
    print(heading + f"{f'MB, {arguments.streams} streams':>18}")
    with provider() as upstream:
        makers: dict[str, Callable[[], AbstractContextManager[Running]]] = {
            "thin": lambda: thin(upstream.url),
            "ullage": lambda: gateway(upstream.url),
        }
        for name, make in makers.items():
            listens, answered, fresh, idle = start_up(make, arguments.rounds)
            with make() as target:
                asyncio.run(first_request(target))
                streams = asyncio.run(open_streams(target, arguments.streams))
            print(f"{name:<9}{listens:>11.2f}{answered:>16.2f}{fresh:>10.1f}{idle:>9.1f}{streams:>18.1f}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
