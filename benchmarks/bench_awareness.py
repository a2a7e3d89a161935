"""What model awareness costs: drawing the limits of a request, looking ahead at the prompt cache, keeping a sample; and the relay
with all of it beside the relay without.

    python -m benchmarks.bench_awareness [--quick]

Steps are CPU time of this process, the best of several runs; the thread beside the relay takes them. Whether the relay notices is
what the last table says: each request to three gateways in turns, with a pause after each answer, as agents pause.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import itertools
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import aiohttp
from msgspec.structs import replace

from benchmarks import bench_wire
from benchmarks.bench_gateway import make_body
from benchmarks.bench_store import make_sample
from benchmarks.parts.processes import gateway, machine, provider
from ullage.catalogs import load_now
from ullage.core.accounting import make_meter
from ullage.core.calibration import TUNING, Bounds, Conversion, Pair
from ullage.core.content import Usage
from ullage.core.planning import Anchored, Policy, become_aware
from ullage.core.profiles import resolve_profile
from ullage.core.wire import parse_request
from ullage.engine.anchoring import Anchoring
from ullage.engine.knowledge import Knowledge
from ullage.engine.measuring import Measuring
from ullage.engine.warmth import Warmth
from ullage.stores import MemoryStore, SqliteStore

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from benchmarks.parts.processes import Running
    from ullage.catalogs import Catalogs
    from ullage.core.accounting import Meter
    from ullage.engine.measuring import Measures

RUNS = 15
NOW_MS = 1_800_000_000_000
PROVIDER, MODEL = "anthropic", "claude-opus-4-1"
ANCHORED = Anchored(conversion=Conversion(offset=2_400.0, slope=1.02), pairs=64)


class Step(NamedTuple):
    """Something that is done `number` times a run. `aim_ms` is what it may take."""

    name: str
    run: Callable[[], object]
    number: int
    aim_ms: float | None = None


class Load(NamedTuple):
    name: str
    body_bytes: int
    chunks: int
    requests: int


class Figures(NamedTuple):
    """Per request. CPU is that of the thread which relays."""

    cpu_ms: float
    p50_ms: float
    worst_ms: float


PAUSE_S = 0.05
LOADS = (Load("1 kB, 50 chunks", 1_000, 50, 40), Load("200 kB, JSON", 200_000, 0, 40))
OFF, PLAIN, LEARNING = "accounting off", "models.enabled off", "learning"
GATEWAYS = {OFF: {"ULLAGE_ACCOUNTING__ENABLED": "false"}, PLAIN: {"ULLAGE_MODELS__ENABLED": "false"}, LEARNING: {}}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="two rounds of the relay instead of nine")
    rounds = 2 if parser.parse_args().quick else 9
    print(f"{machine()}; load {os.getloadavg()[0]:.1f} before; best of {RUNS} runs; relays: {rounds} rounds in turns\n")
    print(f"{'step':<66}{'ms':>9}{'aim':>7}")
    with tempfile.TemporaryDirectory() as folder:
        catalogs = load_now(Path(folder), refresh=False)
        for step in (*limit_steps(catalogs), *catalogue_steps(catalogs), *cache_steps(), *store_steps(Path(folder))):
            aim = f"{step.aim_ms:g}" if step.aim_ms is not None else ""
            print(f"{step.name:<66}{best_ms(step):>9.4f}{aim:>7}", flush=True)
    report_relays(rounds)
    return 0


def best_ms(step: Step) -> float:
    best = sys.maxsize
    for _ in range(RUNS):
        began = time.process_time_ns()
        for _ in range(step.number):
            step.run()
        best = min(best, time.process_time_ns() - began)
    return best / step.number / 1e6


def limit_steps(catalogs: Catalogs) -> Iterator[Step]:
    """What the engine does for a request, all of it from memory; with the usual window, and with the largest there may be."""
    for window, aim_ms in ((24, 0.2), (200, 1.0)):
        knowledge = Knowledge(MemoryStore(), sources=catalogs, growth_estimator="wire-v1", window=window)
        for number in range(window):
            scattered = replace(make_sample(number), model=MODEL, cache_read=60_000 + number * 7_919 % 40_000)
            knowledge.add(scattered, NOW_MS)
        for method in ("growth-v1", "ratio-v1"):
            policy = Policy(bounds=Bounds(window=window), method=method, auto_tune=True)

            def draw(knowledge: Knowledge = knowledge, policy: Policy = policy, window: int = window) -> None:
                profile = knowledge.profile(PROVIDER, MODEL, "anthropic")
                samples = knowledge.samples((PROVIDER, MODEL, profile.token_estimator), NOW_MS)
                aware = become_aware(profile, samples, policy, now_ms=NOW_MS, anchored=ANCHORED)
                assert (aware.calibration.observed, aware.budget is None) == (window, False)

            yield Step(f"profile, calibration, limits: {window} samples, {method}", draw, 50, aim_ms)
        ratios = [0.75 + number * 7_919 % 1_000 / 2_000 for number in range(window)]
        yield Step(
            f"floor: the median of {window} ratios and of their distances", lambda ratios=ratios: spread(ratios), 200
        )


def spread(ratios: list[float]) -> float:
    middle = statistics.median(ratios)
    return statistics.median(abs(ratio - middle) for ratio in ratios)


def catalogue_steps(catalogs: Catalogs) -> Iterator[Step]:
    """A profile that is made anew: of a model that was asked for before, and of names never heard."""
    names = map("some-new-model-{}".format, itertools.count())

    def resolve(model: str) -> None:
        resolve_profile(PROVIDER, model, dialect="anthropic", layers=catalogs.layers(PROVIDER, model))

    yield Step("layers and profile of a model that is known", lambda: resolve(MODEL), 50)
    yield Step("layers and profile of a name that was never asked for", lambda: resolve(next(names)), 5)


def cache_steps() -> Iterator[Step]:
    """A conversation of 2 MB, sent again with one message more. What is measured and hashed is remembered before."""
    meter = make_meter(dialect="anthropic", provider=PROVIDER, model=MODEL, client=None)
    measuring, warmth = Measuring(), Warmth()
    body = bench_wire.make_body()
    sent = [parse_request(one, "anthropic") for one in (body, bench_wire.with_message(body))]
    known = [
        {
            "hashes": measuring.canonical_hashes(one),
            "measures": measuring.measure(one, meter),
            "weights": measuring.weigh(one, meter),
        }
        for one in sent
    ]
    before = warmth.look_ahead("s", meter, sent[0], now_ms=NOW_MS, **known[0])
    usage = Usage(input_fresh=900, cache_read=400_000, cache_write=2_000, output=300)
    warmth.settle(before, usage, ended_ms=NOW_MS + 5_000)

    def look_ahead() -> None:
        warmth.look_ahead("s", meter, sent[1], now_ms=NOW_MS + 9_000, **known[1])

    after = warmth.look_ahead("s", meter, sent[1], now_ms=NOW_MS + 9_000, **known[1])
    assert (after.expectation.disposition, after.own is not None) == ("eligible", True)
    yield from growth_steps(meter, [one["measures"] for one in known])
    yield Step(f"warm prefix expected: {len(sent[1].messages):,} messages", look_ahead, 5)
    yield Step(
        "its usage checked and the prefix remembered", lambda: warmth.settle(after, usage, ended_ms=NOW_MS + 9_500), 5
    )
    yield Step(
        "floor: the request parsed, one message more than before",
        lambda: parse_request(sent[1].body, "anthropic", previous=sent[0]),
        5,
    )


def growth_steps(meter: Meter, sent: list[Measures]) -> Iterator[Step]:
    """The next prompt expected from the last usage, and the law learned anew from the newest 64 pairs of calls."""
    pairs = [
        Pair(
            new_tokens=900.0 + number,
            output=300,
            items=1,
            grown=1_230 + number * 31 % 90,
            dropped_turn=0,
            dropped_never=0,
            miss=9.0,
        )
        for number in range(TUNING.window)
    ]
    anchoring = Anchoring(lambda key: pairs)
    first, second = (tuple(range(len(measures.messages))) for measures in sent)
    outlook = anchoring.look_ahead("s", meter, sent[0], first)
    anchoring.settle("s", outlook, Usage(input_fresh=600_000, output=300))
    outlook = anchoring.look_ahead("s", meter, sent[1], second)
    assert outlook.expectation is not None
    usage = Usage(input_fresh=outlook.expectation.tokens, output=300)
    yield Step("next prompt expected from the last usage", lambda: anchoring.look_ahead("s", meter, sent[1], second), 5)
    assert anchoring.settle("other", outlook, usage) is not None
    yield Step(
        f"law of growth learned from {TUNING.window} pairs", lambda: anchoring.settle("other", outlook, usage), 5
    )


def store_steps(folder: Path) -> Iterator[Step]:
    """What the thread beside the relay spends on a sample; the writer's own time is in `bench_store`."""
    store = SqliteStore(folder / "ullage.db", clock_ms=lambda: 0, queue_records=10**6, queue_bytes=10**10)
    samples = map(make_sample, itertools.count())
    with contextlib.closing(store):
        yield Step("a sample handed to the store", lambda: store.put_sample(next(samples)), 500)
        assert store.flush(60)


def report_relays(rounds: int) -> None:
    """Each load through the gateways in turns; ratios are to the gateway that accounts for nothing."""
    print(f"\n{'load':<18}{'gateway':<20}{'CPU ms':>8}{'x off':>7}{'p50 ms':>8}{'x off':>7}{'max ms':>8}{'x off':>7}")
    with contextlib.ExitStack() as stack:
        upstream = stack.enter_context(provider())
        gateways = {name: stack.enter_context(gateway(upstream.url, **env)) for name, env in GATEWAYS.items()}
        for load in LOADS:
            rows = [measure(gateways, load, number * load.requests) for number in range(rounds + 1)][
                1:
            ]  # one to warm up
            medians = {
                name: Figures(*map(statistics.median, zip(*(row[name] for row in rows), strict=True)))
                for name in gateways
            }
            for name, row in medians.items():
                cells = "".join(f"{one:>8.3f}{one / off:>7.2f}" for one, off in zip(row, medians[OFF], strict=True))
                print(f"{load.name:<18}{name:<20}{cells}", flush=True)


def measure(gateways: dict[str, Running], load: Load, base: int) -> dict[str, Figures]:
    """One round: every request goes to each gateway in turn, so that whatever else the machine does meets them all."""
    before = {name: target.cpu_s(main_thread=True) for name, target in gateways.items()}
    latencies_ms = asyncio.run(drive(gateways, load, base))
    cpu_ms = {name: (target.cpu_s(main_thread=True) - before[name]) * 1000 for name, target in gateways.items()}
    return {
        name: Figures(cpu_ms[name] / load.requests, statistics.median(times), max(times))
        for name, times in latencies_ms.items()
    }


async def drive(gateways: dict[str, Running], load: Load, base: int) -> dict[str, list[float]]:
    """Requests of a session that grows; milliseconds to the last byte."""
    headers = {"content-type": "application/json", "anthropic-version": "2023-06-01", "x-ullage-session": "bench"}
    headers |= {"x-bench-chunks": str(load.chunks)} if load.chunks else {}
    latencies_ms: dict[str, list[float]] = {name: [] for name in gateways}
    async with aiohttp.ClientSession() as session:
        for number in range(load.requests):
            body = make_body(load.body_bytes, base + number)
            names = list(gateways)
            for name in names[number % len(names) :] + names[: number % len(names)]:
                await asyncio.sleep(PAUSE_S)
                began = time.perf_counter()
                async with session.post(f"{gateways[name].url}/v1/messages", data=body, headers=headers) as response:
                    assert response.status == 200, response.status
                    await response.read()
                latencies_ms[name].append((time.perf_counter() - began) * 1000)
    return latencies_ms


if __name__ == "__main__":
    sys.exit(main())
