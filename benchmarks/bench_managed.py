"""What a plan costs a request: managed mode against observe mode, each request to both in turns, over real sockets.

    python -m benchmarks.bench_managed [--quick]

A session grows by one exchange a request, as an agent's does; its history is larger than the window, so that every plan leaves
something out. *Cold* is a session's first request, *warm* any other. What a plan saves is not counted: the provider reads the
shorter request sooner. Memory is that of many sessions at once, each with a history of its own.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import aiohttp

from benchmarks.bench_gateway import make_body
from benchmarks.parts.processes import Running, gateway, machine, provider

if TYPE_CHECKING:
    from collections.abc import Iterator

WINDOW = 200_000
SETTINGS = """\
mode = "{mode}"
[models]
refresh = false
[models.overrides."*"]
context_window = {window}
max_output_tokens = 8_000
"""
_TEXT = "The quick brown fox reads the file, edits a line and runs the tests again. " * 12
_PAUSE_S = 0.05


class Load(NamedTuple):
    name: str
    body_bytes: int
    turns: int


LOADS = [Load("200 kB", 200_000, 30), Load("2 MB", 2_000_000, 30), Load("20 MB", 20_000_000, 6)]


@contextlib.contextmanager
def in_mode(upstream: str, mode: str) -> Iterator[Running]:
    """A gateway in that mode with a window that the histories here exceed."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "ullage" / "config.toml"
        file.parent.mkdir()
        file.write_text(SETTINGS.format(mode=mode, window=WINDOW))
        with gateway(upstream, XDG_CONFIG_HOME=folder) as running:
            yield running


def grow(body: bytes, number: int) -> bytes:
    """The request of a session's turn `number`: so many exchanges behind the history that it begins with."""
    added = "".join(
        f',{{"role":"assistant","content":"a{turn} {_TEXT}"}},{{"role":"user","content":"u{turn} {_TEXT}"}}'
        for turn in range(number)
    )
    return body[:-2] + added.encode() + b"]}"


async def turns(targets: list[Running], load: Load, session_name: str) -> dict[str, list[float]]:
    """Latency of every turn of one session at each target, in milliseconds; the first turn is the cold one."""
    headers = {"content-type": "application/json", "anthropic-version": "2023-06-01", "x-api-key": "none"}
    headers["x-ullage-session"] = session_name
    history = make_body(load.body_bytes, hash(session_name) % 1_000)
    latencies: dict[str, list[float]] = {target.url: [] for target in targets}
    timeout = aiohttp.ClientTimeout(total=120)
    async with aiohttp.ClientSession(timeout=timeout) as session:
        for number in range(load.turns):
            body = grow(history, number)
            for target in targets if number % 2 else reversed(targets):
                started = time.perf_counter()
                async with session.post(target.url + "/v1/messages", data=body, headers=headers) as response:
                    assert response.status == 200, await response.text()
                    await response.read()
                latencies[target.url].append((time.perf_counter() - started) * 1000)
                await asyncio.sleep(
                    _PAUSE_S
                )  # what is accounted for beside has had its time, as between an agent's calls
    return latencies


def measure(targets: list[Running], load: Load, rounds: int) -> None:
    cold: dict[str, list[float]] = {target.url: [] for target in targets}
    warm: dict[str, list[float]] = {target.url: [] for target in targets}
    for number in range(rounds):
        found = asyncio.run(turns(targets, load, f"{load.name}-{number}"))
        for url, latencies in found.items():
            cold[url].append(latencies[0])
            warm[url] += latencies[1:]
    observe, managed = (target.url for target in targets)
    for name, figures in (("cold", cold), ("warm", warm)):
        plain, planned = statistics.median(figures[observe]), statistics.median(figures[managed])
        print(f"{load.name:<10}{name:<6}{plain:>12.2f}{planned:>12.2f}{planned - plain:>+11.2f}{planned / plain:>9.2f}")


def memory_of_sessions(upstream: str, sessions: int) -> float:
    """Megabytes a live session of 200 kB adds to a daemon in managed mode."""
    load = Load("sessions", 200_000, 2)
    with in_mode(upstream, "managed") as target:
        asyncio.run(turns([target], load, "first"))
        before = target.memory_mb()
        for number in range(sessions):
            asyncio.run(turns([target], load, f"session-{number}"))
        return (target.memory_mb() - before) / sessions


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="one round instead of three, fewer sessions")
    arguments = parser.parse_args()
    rounds, sessions = (1, 10) if arguments.quick else (3, 40)
    print(f"{machine()}; window {WINDOW:,}; median of {rounds} sessions, each request to both in turns\n")
    print(f"{'history':<10}{'turn':<6}{'observe ms':>12}{'managed ms':>12}{'added':>11}{'ratio':>9}")
    with provider() as direct:
        with in_mode(direct.url, "observe") as observe, in_mode(direct.url, "managed") as managed:
            for load in LOADS:
                measure([observe, managed], load, rounds)
        print(f"\nmemory of a live session with 200 kB of history: {memory_of_sessions(direct.url, sessions):.2f} MB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
