"""The gateway with a probe in its event loop: how late does a timer come that was due?

A relay that becomes ready waits exactly as long as this timer does, whatever keeps the loop or the interpreter busy.
Run: `python -m benchmarks.parts.probed UPSTREAM accounting|relay`. Its address comes on standard output; each line on standard
input is answered with the delays in milliseconds since the last one, as a JSON list.
"""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
import threading
import time
from pathlib import Path

import msgspec
import uvloop

from ullage.core.wire import DIALECTS
from ullage.daemon import serve
from ullage.settings import Settings

TICK_S = 0.002


class Probe:
    """Ticks for as long as the loop runs, and notes how late each tick is."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._delays: list[float] = []
        self._due = 0.0
        self._plan()

    def take(self) -> list[float]:
        """What was noted since the last time."""
        taken, self._delays = self._delays, []
        return taken

    def _plan(self) -> None:
        self._due = time.perf_counter() + TICK_S
        self._loop.call_later(TICK_S, self._tick)

    def _tick(self) -> None:
        # The loop's clock counts whole milliseconds: a timer may come one early.
        self._delays.append(max(time.perf_counter() - self._due, 0.0) * 1000)
        self._plan()


async def main(upstream: str, accounting: bool) -> None:
    """Serves until SIGTERM."""
    plain = {
        "upstreams": dict.fromkeys(DIALECTS, upstream),
        "server": {"port": 0},
        "accounting": {"enabled": accounting},
    }
    with tempfile.TemporaryDirectory() as folder:
        await serve(msgspec.convert(plain, Settings), Path(folder), None, begin)


def begin(url: str) -> None:
    """Called when the gateway listens."""
    print(url, flush=True)
    probe = Probe()

    def answer() -> None:
        for _ in sys.stdin:
            print(json.dumps(probe.take()), flush=True)

    threading.Thread(target=answer, daemon=True).start()


if __name__ == "__main__":
    uvloop.run(main(sys.argv[1], sys.argv[2] == "accounting"))
