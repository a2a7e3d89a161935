"""Every fault of a provider at every moment of its answer, where that is translated: over real sockets.

Three targets speak the three protocols that the client does not, so that each that fails is followed by one of another protocol.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import aiohttp
import pytest

from tests.gateway.chaos import SECTIONS, Case, Clean, check, every_case, learn, left, may_be, play, random_cases
from tests.gateway.test_attempts_elsewhere import NOWHERE, providers
from tests.gateway.test_chaos import all_is_recorded, every_target_may_be_asked, nothing_is_left
from ullage.core.wire import DIALECTS, Dialect
from ullage.testing import FakeProvider
from ullage.testing.gateway import run_gateway

__all__ = ["every_target_may_be_asked"]

AT_ONCE = 10
"""Gateway, provider and clients share one loop: more at once, and a target might seem silent that was not asked yet."""

NAMES = ("one/claude-opus-5", "two/claude-sonnet-4-5", "three/claude-haiku-4-5")


def elsewhere(client: Dialect) -> dict[str, Dialect]:
    """Targets that speak what the client does not."""
    others = [dialect for dialect in DIALECTS if dialect != client]
    return dict(zip(NAMES, others, strict=True))


def cut(known: Clean, sizes: Sequence[int]) -> Clean:
    """What answers look like to a client, as long as those of the provider: what fails behind the end of an answer would keep its
    connection busy for the next request."""
    return {kind: (body[:size], events) for (kind, (body, events)), size in zip(known.items(), sizes, strict=True)}


@pytest.mark.slow
@pytest.mark.parametrize("dialect", DIALECTS)
async def test_a_client_gets_one_answer_or_one_error_in_its_own_protocol_whatever_its_targets_do(
    dialect: Dialect, tmp_path: Path, client: aiohttp.ClientSession
) -> None:
    async with FakeProvider() as fake:
        sections = providers(fake.url, elsewhere(dialect), **SECTIONS)
        async with run_gateway(NOWHERE, tmp_path, **sections) as gateway:
            known = await learn(dialect, gateway.url, fake, client)
            sizes = [one.answer_bytes for one in fake.requests]
            before = left()
            cases: list[Case] = [*every_case(cut(known, sizes)), *random_cases(cut(known, [300] * 4), 40, seed=11)]
            for case, (seen, count) in (await play(cases, gateway.url, fake, client, AT_ONCE)).items():
                became = check(case, seen, count)
                assert became in may_be(case) if len(case.faults) == 1 else count <= 3, (case, seen)
            await nothing_is_left(before)
            await all_is_recorded(gateway, fake, exact=False)
