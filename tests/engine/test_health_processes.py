"""Circuits of several processes on one database."""

from __future__ import annotations

import multiprocessing
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import pytest

from ullage.core.health import classify
from ullage.engine.health import Health, Outcome, no_spread
from ullage.stores import open_store

NOW_MS = 1_700_000_000_000
PROCESSES, TARGETS = 3, 12


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
