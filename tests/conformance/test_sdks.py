"""The official SDKs get the same through the gateway as without it, and the provider gets the same bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.testing.sdk_scenarios import SCENARIOS, Scenario
from ullage.core.wire import DIALECTS
from ullage.testing import FakeProvider
from ullage.testing.gateway import run_gateway

if TYPE_CHECKING:
    from pathlib import Path

    from ullage.testing import Received

HOP_BY_HOP = {"connection", "host", "keep-alive", "transfer-encoding"}


def end_to_end(received: Received) -> list[tuple[str, str]]:
    """The headers that a relay has to pass on, in their order."""
    pairs = [(name.decode().lower(), value.decode("latin-1")) for name, value in received.headers]
    return [pair for pair in pairs if pair[0] not in HOP_BY_HOP]


@pytest.mark.parametrize("scenario", SCENARIOS, ids=[scenario.name for scenario in SCENARIOS])
async def test_a_program_sees_no_difference_behind_the_gateway(scenario: Scenario, tmp_path: Path) -> None:
    async with FakeProvider(scenario.script) as direct:
        expected = await scenario.run(direct.url, direct)
    async with FakeProvider(scenario.script) as behind:
        upstreams = dict.fromkeys(DIALECTS, behind.url)
        async with run_gateway(upstreams, tmp_path) as gateway:
            assert await scenario.run(gateway.url, behind) == expected
    assert expected == scenario.expected
    assert [(one.method, one.target) for one in behind.requests] == [
        (one.method, one.target) for one in direct.requests
    ]
    assert [one.body for one in behind.requests] == [one.body for one in direct.requests]
    assert [end_to_end(one) for one in behind.requests] == [end_to_end(one) for one in direct.requests]
    assert len(behind.requests) > 0
