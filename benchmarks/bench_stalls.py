"""How long the gateway's event loop is kept waiting while large bodies are accounted for beside it.

Bodies of 2 MB that were never seen before go through one at a time, in several shapes, with small requests all the while. A
timer in the gateway's loop tells the delay that any relay would meet; the small requests tell what a client sees. The floor is
the same gateway with accounting switched off, in turns within one run. `python -m benchmarks.bench_stalls [--quick]`.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import statistics
import subprocess
import sys
import time
from typing import TYPE_CHECKING, NamedTuple

import aiohttp

from benchmarks.parts.processes import ROOT, Running, environment, machine, provider
from ullage.testing import make_prose

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

HEADERS = {"content-type": "application/json", "anthropic-version": "2023-06-01", "x-api-key": "none"}
BODY_BYTES = 2_000_000
SMALL_EVERY_S = 0.01
SMALL_CPU_S = 0.04


class Shape(NamedTuple):
    """How a large body is made up: so many messages of so many characters. A warm one repeats all but its last message."""

    name: str
    messages: int
    chars: int
    warm: bool = False
    script: str = "prose"


SHAPES = [
    Shape("1,500 messages of 1.3 kB", 1_500, 1_300),
    Shape("100 results of 20 kB", 100, 20_000),
    Shape("one result of 2 MB", 1, 2_000_000),
    Shape("1,500 messages, one of them new", 1_500, 1_300, warm=True),
    Shape("one text of Chinese, 2 MB", 1, 700_000, script="chinese"),
    Shape("one word of 2 MB", 1, 2_000_000, script="word"),
]


class Delays(NamedTuple):
    """Milliseconds, while one body is relayed and accounted for."""

    loop: list[float]
    small: list[float]


class Probed:
    """A gateway with a probe, as a process of its own."""

    def __init__(self, upstream: str, mode: str) -> None:
        self.name = mode
        self._process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.parts.probed", upstream, mode],
            cwd=ROOT,
            env=environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._process.stdout is not None
        self.url = self._process.stdout.readline().strip()
        self._kernel = Running(mode, self._process, 0, time.perf_counter())  # type: ignore[arg-type]

    def delays(self) -> list[float]:
        """What the probe noted since the last call."""
        assert self._process.stdin is not None and self._process.stdout is not None
        print("take", file=self._process.stdin, flush=True)
        noted: list[float] = json.loads(self._process.stdout.readline())
        return noted

    async def idle(self) -> None:
        """Waits until the threads beside the loop do no more than the small requests ask of them."""
        before = -1.0
        while (now := self._kernel.cpu_s(main_thread=False)) - before > SMALL_CPU_S:
            before = now
            await asyncio.sleep(0.2)

    def close(self) -> None:
        with self._process as process:
            process.terminate()
            process.wait(timeout=60)


def make_chinese(chars: int, seed: int) -> str:
    """Common characters with a comma or a full stop now and then, without line ends."""
    return "".join(
        "，。"[index % 2] if (index + seed) % 13 == 0 else chr(0x4E00 + (index * 7919 + seed) % 3000)
        for index in range(chars)
    )


def make_word(chars: int, seed: int) -> str:
    """One run of a letter."""
    return chr(ord("a") + seed % 26) * chars


SCRIPTS: dict[str, Callable[[int, int], str]] = {"prose": make_prose, "chinese": make_chinese, "word": make_word}


def make_body(shape: Shape, number: int) -> bytes:
    """A request of 2 MB; the same shape and number make the same bytes."""
    seed = 0 if shape.warm else number * 10_007
    turns = [SCRIPTS[shape.script](shape.chars, seed + index) for index in range(shape.messages)]
    if shape.warm:
        turns[-1] = f"request number {number}"
    messages = [{"role": ("user", "assistant")[index % 2], "content": turn} for index, turn in enumerate(turns)]
    return json.dumps({"model": "claude-opus-4-8", "max_tokens": 64, "messages": messages}, ensure_ascii=False).encode()


async def post(client: aiohttp.ClientSession, url: str, body: bytes) -> float:
    """Sends a request; milliseconds to the last byte."""
    started = time.perf_counter()
    async with client.post(url + "/v1/messages", data=body, headers=HEADERS) as response:
        assert response.status == 200
        await response.read()
    return (time.perf_counter() - started) * 1000


async def measure(target: Probed, body: bytes) -> Delays:
    """The delays while this body is relayed and accounted for."""
    small: list[float] = []
    async with aiohttp.ClientSession() as client, aiohttp.ClientSession() as other:
        await target.idle()
        target.delays()
        sending = asyncio.create_task(send_small(other, target.url, small))
        await post(client, target.url, body)
        await target.idle()
        sending.cancel()
        await asyncio.gather(sending, return_exceptions=True)
    return Delays(await asyncio.to_thread(target.delays), small)


async def send_small(client: aiohttp.ClientSession, url: str, latencies: list[float]) -> None:
    body = json.dumps({"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "hi"}]}).encode()
    while True:
        latencies.append(await post(client, url, body))
        await asyncio.sleep(SMALL_EVERY_S)


def report(shape: Shape, name: str, bodies: list[Delays]) -> None:
    """One line. `worst` is the longest delay met by one body, in the median of all: a pause of the machine leaves it alone."""
    cells = ""
    for values in zip(*bodies, strict=True):
        pooled = sorted(delay for delays in values for delay in delays)
        worst = [max(delays) for delays in values]
        figures = (statistics.median(pooled), pooled[int(len(pooled) * 0.99)], statistics.median(worst), max(worst))
        cells += "".join(f"{figure:>8.2f}" for figure in figures)
    print(f"{shape.name:<33}{name:<12}{cells}", flush=True)


@contextlib.contextmanager
def closing(make: Callable[[], Probed]) -> Iterator[Probed]:
    target = make()
    try:
        yield target
    finally:
        target.close()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="2 bodies of each shape instead of 8")
    arguments = parser.parse_args()
    rounds = 2 if arguments.quick else 8
    print(f"{machine()}; milliseconds; {rounds} bodies of each shape")
    columns = "".join(f"{name:>8}" for name in ("p50", "p99", "worst", "max") * 2)
    print(f"{'':<45}{'delay of the loop':>32}{'small requests':>32}")
    print(f"{'2 MB bodies':<33}{'gateway':<12}{columns}")
    with contextlib.ExitStack() as stack:
        upstream = stack.enter_context(provider()).url
        targets = [
            stack.enter_context(closing(lambda mode=mode: Probed(upstream, mode))) for mode in ("relay", "accounting")
        ]
        for shape in SHAPES:
            results: dict[str, list[Delays]] = {target.name: [] for target in targets}
            for target in targets:
                asyncio.run(measure(target, make_body(shape, -1)))
            for number in range(rounds):
                for target in targets if number % 2 else reversed(targets):
                    results[target.name].append(asyncio.run(measure(target, make_body(shape, number))))
            for name, bodies in results.items():
                report(shape, name, bodies)
    return 0


if __name__ == "__main__":
    sys.exit(main())
