"""A routed request that could go on to another target, beside the same request in observe mode: each to both in turns.

    python -m benchmarks.bench_failover [--quick]

A new task has three models weighed, and what is sent written anew; a step of a tool loop keeps its target. The provider answers
at once, so that what is added shows; in the last loads it takes its time, if less than any model. Latency is to the last byte.
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

from benchmarks.bench_gateway import make_body
from benchmarks.parts.processes import Running, gateway, machine, provider

MODELS = {"claude-haiku-4-5": 1.0, "claude-sonnet-4-5": 3.0, "claude-opus-5": 5.0}
AIM = 1.2
"""Times the latency of observe mode at p50."""


class Load(NamedTuple):
    """`step`: a tool loop goes on; else every request is a task. `pause_ms` is waited before each of the chunks."""

    name: str
    body_bytes: int
    chunks: int
    requests: int
    step: bool = False
    pause_ms: int = 0


LOADS = [
    Load("1 kB, JSON, task", 1_000, 0, 150),
    Load("1 kB, JSON, step", 1_000, 0, 150, step=True),
    Load("200 kB, JSON, task", 200_000, 0, 60),
    Load("200 kB, JSON, step", 200_000, 0, 60, step=True),
    Load("2 MB, JSON, step", 2_000_000, 0, 15, step=True),
    Load("200 kB, 200 chunks, step", 200_000, 200, 40, step=True),
    Load("200 kB, 20 chunks of 15 ms, task", 200_000, 20, 15, pause_ms=15),
    Load("200 kB, 20 chunks of 15 ms, step", 200_000, 20, 15, step=True, pause_ms=15),
]


def settings(url: str) -> str:
    """Three models to choose among, all at the same provider."""
    names = ", ".join(f'"{name}"' for name in MODELS)
    rows = [f'[providers.anthropic]\nurl = "{url}"\ndialects = ["anthropic"]\nkey = "none"\nmodels = [{names}]\n']
    for name, price in MODELS.items():
        prices = f"input_price = {price}\noutput_price = {5 * price}\ncache_read_price = {price / 10}\n"
        sizes = "context_window = 2000000\nmax_output_tokens = 64000\n"
        rows.append(f'[models.overrides."anthropic/{name}"]\n{sizes}{prices}cache_write_price = {1.25 * price}\n')
    return "\n".join(rows)


def body_of(load: Load, model: str, number: int) -> bytes:
    """A request of the load; no two end alike."""
    body = make_body(load.body_bytes, 0 if load.step else number).replace(b"claude-opus-4-8", model.encode())
    if not load.step:
        return body
    call = f'{{"type":"tool_use","id":"t{number}","name":"bash","input":{{"command":"ls"}}}}'
    result = f'{{"type":"tool_result","tool_use_id":"t{number}","content":"a.py"}}'
    loop = f',{{"role":"assistant","content":[{call}]}},{{"role":"user","content":[{result}]}}]}}'
    return body.removesuffix(b"]}") + loop.encode()


async def send(session: aiohttp.ClientSession, target: Running, load: Load, model: str, number: int) -> float:
    """One request; milliseconds to its last byte."""
    headers = {"content-type": "application/json", "anthropic-version": "2023-06-01", "x-api-key": "none"}
    headers["x-ullage-session"] = load.name
    if load.chunks:
        headers |= {"x-bench-chunks": str(load.chunks), "x-bench-pause-ms": str(load.pause_ms)}
    body = body_of(load, model, number)
    started = time.perf_counter()
    async with session.post(target.url + "/v1/messages", data=body, headers=headers) as response:
        assert response.status == 200, await response.text()
        async for _ in response.content.iter_any():
            pass
    return (time.perf_counter() - started) * 1000


async def measure(observing: Running, routing: Running, load: Load, rounds: int) -> tuple[list[float], list[float]]:
    """Latencies of both."""
    plain: list[float] = []
    routed: list[float] = []
    async with aiohttp.ClientSession() as session:
        if load.step:  # the task that goes on
            await send(session, routing, load._replace(step=False), "ullage/auto", 0)
        for number in range(1, load.requests * rounds + 1):
            for figures, target, model in ((plain, observing, "claude-opus-5"), (routed, routing, "ullage/auto")):
                figures.append(await send(session, target, load, model, number))
            # Agents pause; the threads beside finish their work.
            await asyncio.sleep(0.01)
    warm = load.requests // 10
    return plain[warm:], routed[warm:]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a quarter of the requests")
    parser.add_argument("--only", default="", help="only loads whose name contains this")
    arguments = parser.parse_args()
    print(f"{machine()}; one client, {'a quarter of ' if arguments.quick else ''}the requests of each load in turns")
    print(
        f"{'load':<36}{'observe p50 ms':>16}{'routed p50 ms':>15}{'added ms':>10}{'ratio':>8}"
        f"{'observe p95':>13}{'routed p95':>12}"
    )
    with contextlib.ExitStack() as stack:
        direct = stack.enter_context(provider())
        observing = stack.enter_context(gateway(direct.url))
        routing = stack.enter_context(gateway(direct.url, config=settings(direct.url)))
        for load in (load for load in LOADS if arguments.only in load.name):
            few = load._replace(requests=max(load.requests // 4, 5)) if arguments.quick else load
            plain, routed = asyncio.run(measure(observing, routing, few, 1))
            before, after = statistics.median(plain), statistics.median(routed)
            print(
                f"{load.name:<36}{before:>16.2f}{after:>15.2f}{after - before:>10.2f}{after / before:>8.2f}"
                f"{p95(plain):>13.2f}{p95(routed):>12.2f}",
                flush=True,
            )
    print(f"the aim is a ratio of {AIM} or less where a model takes its time")
    return 0


def p95(figures: list[float]) -> float:
    return sorted(figures)[int(0.95 * (len(figures) - 1))]


if __name__ == "__main__":
    sys.exit(main())
