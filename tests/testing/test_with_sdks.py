"""The official SDKs talk to the fake provider as they would to the real one."""

from __future__ import annotations

import pytest

from tests.testing.sdk_scenarios import SCENARIOS, Scenario
from ullage.testing import FakeProvider


@pytest.mark.parametrize("scenario", SCENARIOS, ids=[scenario.name for scenario in SCENARIOS])
async def test_a_program_gets_what_the_script_says(scenario: Scenario) -> None:
    async with FakeProvider(scenario.script) as provider:
        assert await scenario.run(provider.url, provider) == scenario.expected
