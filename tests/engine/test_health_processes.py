"""Circuits and quotas of several processes on one database."""

from __future__ import annotations

import multiprocessing
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest

from ullage.core.health import classify
from ullage.core.quota import QuotaLimits, QuotaRules
from ullage.engine.health import Health, Outcome, no_spread
from ullage.engine.quota import Answered, Quotas
from ullage.stores import open_store

NOW_MS = 1_700_000_000_000
PROCESSES, TARGETS, CALLS = 3, 12, 20
LIMITED = QuotaRules(providers={"openai": QuotaLimits(max_requests=1_000)})


def note(folder: Path, number: int, status: int | None) -> list[str]:
    """One process: each of its targets fails, or answers; what it knows of all afterwards."""
    store = open_store("sqlite", folder, clock_ms=lambda: NOW_MS)
    try:
        health = Health(store, store, jitter=no_spread)
        for index in range(TARGETS):
            target = f"provider{number}/model{index}"
            at_ms = NOW_MS + (index if status is not None else 70_000)
            health.circuits([target], at_ms)  # as before every choice
            if status is None:
                health.note_sent(target, at_ms)
            failure = classify(status) if status is not None else None
            health.note(Outcome(target=target, asked_ms=at_ms, at_ms=at_ms, failure=failure))
        assert store.flush()
        return list(health.circuits([f"provider{number}/model{index}" for index in range(TARGETS)], NOW_MS + 100))
    finally:
        store.close()


def count(folder: Path, number: int, barrier: Barrier) -> int:
    """One process: calls of one provider with a limit; how many it knows of once all are made."""
    store = open_store("sqlite", folder, clock_ms=lambda: NOW_MS)
    try:
        quotas = Quotas(LIMITED, store, store)
        for index in range(CALLS):
            at_ms = NOW_MS + number * CALLS + index
            quotas.note(Answered(provider="openai", status=200, asked_ms=at_ms, at_ms=at_ms, usd=0.5))
        # Whoever wrote over another's tally did so by now; one after the other they write again what was lost.
        for turn in range(PROCESSES):
            assert store.flush()
            barrier.wait()
            if turn == number:
                quotas.keep()
        assert store.flush()
        barrier.wait()
        return quotas.view("openai", NOW_MS).requests
    finally:
        store.close()


@pytest.mark.slow
def test_calls_that_several_processes_make_at_once_all_count(tmp_path: Path) -> None:
    spawn = multiprocessing.get_context("spawn")
    with spawn.Manager() as manager, ProcessPoolExecutor(PROCESSES, mp_context=spawn) as pool:
        barrier = manager.Barrier(PROCESSES)
        known = list(pool.map(count, [tmp_path] * PROCESSES, range(PROCESSES), [barrier] * PROCESSES))
    assert known == [PROCESSES * CALLS] * PROCESSES


@pytest.mark.slow
def test_what_several_processes_note_at_once_is_all_there(tmp_path: Path) -> None:
    everyone = [f"provider{number}/model{index}" for number in range(PROCESSES) for index in range(TARGETS)]
    store = open_store("sqlite", tmp_path, clock_ms=lambda: NOW_MS)
    health = Health(store, store, jitter=no_spread)
    with ProcessPoolExecutor(PROCESSES, mp_context=multiprocessing.get_context("spawn")) as pool:
        folders, numbers = [tmp_path] * PROCESSES, range(PROCESSES)
        failed = list(pool.map(note, folders, numbers, [429] * PROCESSES))
        assert [len(own) for own in failed] == [TARGETS] * PROCESSES
        assert sorted(health.circuits(everyone, NOW_MS + 100)) == sorted(everyone)
        # One process may try each target; what comes of it the others know.
        tried = list(pool.map(note, folders, numbers, [None] * PROCESSES))
        assert tried == [[]] * PROCESSES
    assert health.circuits(everyone, NOW_MS + 100) == {}
    assert health.report(NOW_MS + 100) == []
    store.close()
