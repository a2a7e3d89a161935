"""Every fault of a provider at every moment of its answer, over real sockets."""

from __future__ import annotations

import asyncio
from pathlib import Path

import aiohttp
import pytest

from tests.gateway.chaos import (
    SECTIONS,
    check,
    check_ledger,
    every_case,
    learn,
    left,
    may_be,
    play,
    random_cases,
)
from tests.gateway.routes import run_routed
from ullage.core.wire import DIALECTS, Dialect
from ullage.daemon import Daemon
from ullage.testing import FakeProvider

AT_ONCE = 32
IDLE = 5 * AT_ONCE
"""Connections that may be kept for further requests, on both sides of the gateway."""


@pytest.fixture(autouse=True)
def every_target_may_be_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Circuits have tests of their own; here nobody is left alone."""
    monkeypatch.setattr("ullage.engine.health.is_admitted", lambda *_, **__: True)


@pytest.mark.slow
@pytest.mark.parametrize("dialect", DIALECTS)
async def test_a_client_gets_one_answer_or_one_error_whatever_its_targets_do(
    dialect: Dialect, tmp_path: Path, client: aiohttp.ClientSession
) -> None:
    async with FakeProvider() as fake, run_routed(fake, tmp_path, **SECTIONS) as gateway:
        plain = await learn(dialect, gateway.url, fake, client)
        before = left()
        cases = list(every_case(plain))
        for case, (seen, count) in (await play(cases, gateway.url, fake, client, AT_ONCE)).items():
            assert check(case, seen, count) in may_be(case), (case, seen)
            assert count <= 2, case
        await nothing_is_left(before)
        await all_is_recorded(gateway, fake)


@pytest.mark.slow
async def test_attempts_that_fail_one_after_the_other_never_multiply(
    tmp_path: Path, client: aiohttp.ClientSession
) -> None:
    """Complaint C30."""
    async with FakeProvider() as fake, run_routed(fake, tmp_path, **SECTIONS) as gateway:
        plain = {
            kind: known
            for dialect in DIALECTS
            for kind, known in (await learn(dialect, gateway.url, fake, client)).items()
        }
        before = left()
        for case, (seen, count) in (
            await play(list(random_cases(plain, 150, seed=7)), gateway.url, fake, client, AT_ONCE)
        ).items():
            check(case, seen, count)
            assert count <= 3, case
        await nothing_is_left(before)
        await all_is_recorded(gateway, fake)


async def nothing_is_left(before: tuple[int, int]) -> None:
    """All tasks are over and all files closed but for connections that may be used again."""
    async with asyncio.timeout(30):
        while any(now > then + IDLE for now, then in zip(left(), before, strict=True)):
            await asyncio.sleep(0.02)


async def all_is_recorded(gateway: Daemon, fake: FakeProvider, *, exact: bool = True) -> None:
    """Every call of the provider is an attempt of one recorded request, and the ledger holds what it comes to."""
    await asyncio.to_thread(check_ledger, gateway, fake, exact=exact)
    calls = gateway.store.calls(limit=1_000)
    assert sum(len((call.route or {})["attempts"]) for call in calls) == len(fake.requests)
