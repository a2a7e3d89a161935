"""The relay in observe mode against the direct call and the thinnest pass-through, in turns within one run.

For each load: CPU per request of the process's main thread (which relays) and of its other threads (which account), by the
kernel's scheduler clock; latency as the client sees it; requests a second. `python -m benchmarks.bench_gateway [--quick]`.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import statistics
import sys
import time
from typing import NamedTuple

import aiohttp

from benchmarks.parts.processes import Running, gateway, machine, provider, thin


class Load(NamedTuple):
    """One kind of traffic: `new` makes every request's last message differ, as in a running session."""

    name: str
    body_bytes: int
    chunks: int
    concurrency: int
    requests: int


class Figures(NamedTuple):
    relay_ms: float
    beside_ms: float
    p50_ms: float
    p99_ms: float
    per_second: float


LOADS = [
    Load("1 kB, JSON", 1_000, 0, 1, 400),
    Load("200 kB, JSON", 200_000, 0, 1, 200),
    Load("2 MB, JSON", 2_000_000, 0, 1, 40),
    Load("1 kB, 200 chunks", 1_000, 200, 1, 60),
    Load("1 kB, 200 chunks, 16 at once", 1_000, 200, 16, 160),
    Load("1 kB, 200 chunks, 64 at once", 1_000, 200, 64, 320),
]


def make_body(size: int, number: int) -> bytes:
    """A request of about `size` bytes whose messages but the last are always the same."""
    text = "The quick brown fox reads the file, edits a line and runs the tests again. " * 12
    message = '{"role":"%s","content":"%s"}'
    count = max((size - 200) // (len(text) + 40), 0)
    messages = [message % (("user", "assistant")[index % 2], f"{index} {text}") for index in range(count)]
    messages.append(message % ("user", f"request number {number}"))
    return ('{"model":"claude-opus-4-8","max_tokens":64,"messages":[' + ",".join(messages) + "]}").encode()


async def drive(target: Running, load: Load, base: int) -> list[float]:
    """Sends the load; latencies in milliseconds, to the last byte."""
    headers = {"content-type": "application/json", "anthropic-version": "2023-06-01", "x-api-key": "none"}
    headers["x-ullage-session"] = "bench"  # like an agent that names its session
    if load.chunks:
        headers["x-bench-chunks"] = str(load.chunks)
    bodies = iter([make_body(load.body_bytes, base + number) for number in range(load.requests)])
    latencies: list[float] = []

    async def worker(session: aiohttp.ClientSession) -> None:
        for body in bodies:
            started = time.perf_counter()
            async with session.post(target.url + "/v1/messages", data=body, headers=headers) as response:
                assert response.status == 200, response.status
                async for _ in response.content.iter_any():
                    pass
            latencies.append((time.perf_counter() - started) * 1000)

    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:
        await asyncio.gather(*(worker(session) for _ in range(load.concurrency)))
    return latencies


def measure(target: Running, load: Load, base: int) -> Figures:
    """One turn of one target under one load; the threads beside may finish their work before their clock is read."""
    relay, beside = target.cpu_s(main_thread=True), target.cpu_s(main_thread=False)
    started = time.perf_counter()
    latencies = sorted(asyncio.run(drive(target, load, base)))
    took = time.perf_counter() - started
    relay = target.cpu_s(main_thread=True) - relay
    settle(target)
    beside = target.cpu_s(main_thread=False) - beside
    return Figures(
        relay_ms=relay * 1000 / load.requests,
        beside_ms=beside * 1000 / load.requests,
        p50_ms=latencies[len(latencies) // 2],
        p99_ms=latencies[min(int(len(latencies) * 0.99), len(latencies) - 1)],
        per_second=load.requests / took,
    )


def settle(target: Running) -> None:
    """Waits until the other threads of the process do nothing any more."""
    before = -1.0
    while (now := target.cpu_s(main_thread=False)) - before > 0.001:
        before = now
        time.sleep(0.1)


def median(rows: list[Figures]) -> Figures:
    return Figures(*(statistics.median(column) for column in zip(*rows, strict=True)))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="two rounds instead of seven")
    parser.add_argument("--only", default="", help="only loads whose name contains this")
    arguments = parser.parse_args()
    rounds = 2 if arguments.quick else 7
    print(f"{machine()}; median of {rounds} rounds in turns")
    print(
        f"{'load':<30}{'target':<9}{'relay CPU ms':>13}{'x thin':>8}{'beside ms':>11}"
        f"{'p50 ms':>9}{'p99 ms':>9}{'req/s':>8}"
    )
    with contextlib.ExitStack() as stack:
        direct = stack.enter_context(provider())
        targets = [
            direct,
            stack.enter_context(thin(direct.url)),
            stack.enter_context(gateway(direct.url)),
        ]
        for load in (load for load in LOADS if arguments.only in load.name):
            results: dict[str, list[Figures]] = {target.name: [] for target in targets}
            for target in targets:
                measure(target, load._replace(requests=max(load.requests // 10, load.concurrency)), -1_000_000)
            for number in range(rounds):
                for target in targets if number % 2 else reversed(targets):
                    results[target.name].append(measure(target, load, number * load.requests))
            report(load, {name: median(rows) for name, rows in results.items()})
    return 0


def report(load: Load, figures: dict[str, Figures]) -> None:
    floor = figures["thin"].relay_ms
    for name, row in figures.items():
        if name == "provider":
            cpu = f"{'':>13}{'':>8}{'':>11}"
        else:
            cpu = f"{row.relay_ms:>13.3f}{row.relay_ms / floor:>8.2f}{row.beside_ms:>11.3f}"
        label = "direct" if name == "provider" else name
        print(f"{load.name:<30}{label:<9}{cpu}{row.p50_ms:>9.2f}{row.p99_ms:>9.2f}{row.per_second:>8.0f}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
