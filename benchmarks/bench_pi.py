"""What the extension's hook costs a request of a real Pi, in a session of 1,000 messages, and what it says to the daemon.

    python -m benchmarks.bench_pi [--quick] [--messages N]

Each way of using it has a Pi, a daemon and a session of its own, all with the same history; they take turns. The hook is timed in
Pi, by one extension that is called before it and one that is called after. Needs the newest Pi: `scripts/clients/install`.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import shutil
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from benchmarks.parts.processes import machine
from tests.pi.history import write_session
from tests.pi.host import NEWEST, Host, Rpc, find_pi
from ullage.testing import FakeProvider, Reply, Rule, run_in_thread

if TYPE_CHECKING:
    from collections.abc import Iterator

AIM_MS = 10
PROBE = Path(__file__).parent / "parts" / "pi_probe.ts"
MODEL = "anthropic/anthropic-model"
# What the turn before has to do beside has had its time, as between an agent's calls.
_PAUSE_S = 0.15
_WORDS = "The quick brown fox reads the file, edits a line and runs the tests again. "


class Way(NamedTuple):
    """A way of using ullage in Pi. `window` are tokens."""

    name: str
    settings: str
    window: int = 200_000
    model: str = MODEL


WAYS = (
    Way("observe", ""),
    Way("managed", 'mode = "managed"\n'),
    Way("managed, all is sent", 'mode = "managed"\n[planning]\nrecent_tail_tokens = 500_000\n', window=1_000_000),
    Way("managed, privacy on", 'mode = "managed"\n[privacy]\nenabled = true\n'),
)


@contextlib.contextmanager
def open_pi(way: Way, folder: Path, provider: str, messages: int) -> Iterator[tuple[Rpc, Path]]:
    """A Pi that is used that way, and the file that its hook's figures are written to."""
    figures = folder / "figures"
    host = Host(
        folder,
        find_pi(NEWEST),
        provider,
        settings=way.settings,
        window=way.window,
        environment={"ULLAGE_PROBE": str(figures)},
    )
    extensions = host.agent / "extensions"
    for name in ("a-probe.ts", "z-probe.ts"):  # Pi takes them in the order of their names
        shutil.copy(PROBE, extensions / name)
    history = write_session(folder / "session.jsonl", messages, project=host.project)
    try:
        with host.open("--model", way.model, "--session", str(history)) as pi:
            yield pi, figures
    finally:
        host.stop()


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a quarter of the turns")
    parser.add_argument("--messages", type=int, default=1_000, help="those that the sessions begin with")
    arguments = parser.parse_args()
    turns = 12 if arguments.quick else 48
    print(f"{machine()}, Pi {NEWEST}; sessions of {arguments.messages:,} messages, {turns} turns of each in turns\n")
    print(f"{'way':<28}{'first ms':>10}{'p50 ms':>9}{'p95 ms':>9}{'first said, bytes':>20}{'then, bytes a turn':>20}")
    reply = Rule(reply=Reply(text=f"Done. {_WORDS}", fixed=True))
    with contextlib.ExitStack() as stack:
        provider = stack.enter_context(run_in_thread(FakeProvider([reply])))
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        opened = []
        for number, way in enumerate(WAYS):
            opened.append(stack.enter_context(open_pi(way, folder / str(number), provider.url, arguments.messages)))
            opened[-1][0].ask("prompt", message="The first one.")
        for turn in range(turns):
            for pi, _ in opened:
                time.sleep(_PAUSE_S)
                pi.ask("prompt", message=f"Turn {turn}. {_WORDS}")
        for way, (_, file) in zip(WAYS, opened, strict=True):
            first, *others = [json.loads(line) for line in file.read_text().splitlines()]
            assert all(one["bytes"] for one in others), f"{way.name}: the daemon was not asked every time"
            times = sorted(one["ms"] for one in others)
            said = statistics.median(one["bytes"] for one in others)
            print(
                f"{way.name:<28}{first['ms']:>10.1f}{statistics.median(times):>9.2f}{times[int(0.95 * len(times))]:>9.2f}"
                f"{first['bytes']:>20,}{said:>20,.0f}"
            )
    print(f"the aim is {AIM_MS} ms or less at p50")
    return 0


if __name__ == "__main__":
    sys.exit(main())
