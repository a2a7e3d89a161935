"""Programs on the official SDKs whose model is chosen, and changed again and again, in the middle of tool loops too.

They append what the SDK gives them and know of nothing. The provider refuses what real ones refuse.
"""

from __future__ import annotations

from itertools import cycle
from typing import TYPE_CHECKING, Any

import pytest

from tests.conformance.test_managed_sdks import PROGRAMS, TURNS
from tests.gateway.routes import FRONTIER, LIGHT, STRONG, override, routed
from ullage.core.wire import DIALECTS, Dialect
from ullage.testing import FakeProvider, Recorder
from ullage.testing.gateway import run_gateway

if TYPE_CHECKING:
    from pathlib import Path

    from ullage.daemon import Daemon
    from ullage.testing import Received

NAMES: Any = {"gpt-x": {}, "claude-x": {}, "gemini-x": {}}
"""What the programs call their models."""


class Restless(Recorder):
    """Pins another target at every third request that arrives."""

    def __init__(self) -> None:
        super().__init__()
        self.gateway: Daemon | None = None
        self._pins = cycle((STRONG, LIGHT, FRONTIER))

    def add(self, received: Received) -> None:
        super().add(received)
        if self.gateway is not None and self.total % 3 == 0:
            override(self.gateway, "pin", next(self._pins), session="")


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("dialect", DIALECTS)
async def test_a_conversation_of_an_sdk_goes_on_at_whatever_target(
    dialect: Dialect, stream: bool, tmp_path: Path
) -> None:
    recorder = Restless()
    async with FakeProvider(recorder=recorder, strict=True) as fake:
        sections = routed(fake.url, routing={"aliases": NAMES, "thinking": "high"})
        async with run_gateway(dict.fromkeys(DIALECTS, "http://127.0.0.1:1"), tmp_path, **sections) as gateway:
            recorder.gateway = gateway
            answers, _ = await PROGRAMS[dialect](gateway.url, stream)
    assert [one.status for one in fake.requests] == [200] * (2 * TURNS)
    assert all("The tool returned" in answer for answer in answers)
    assert {f"anthropic/{one.model}" for one in fake.requests} == {STRONG, LIGHT, FRONTIER}
