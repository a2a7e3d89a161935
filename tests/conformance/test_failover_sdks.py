"""Programs on the official SDKs whose targets fail again and again, in the middle of tool loops too: they notice nothing.

Where every target fails, they get the error that their SDK has for that.
"""

from __future__ import annotations

from itertools import cycle
from typing import TYPE_CHECKING, Any

import pytest

from tests.conformance.test_managed_sdks import PROGRAMS, TURNS
from tests.conformance.test_routed_sdks import NAMES
from tests.gateway.routes import routed
from ullage.core.wire import DIALECTS, Dialect
from ullage.testing import FakeProvider, Fault, Recorder, Rule
from ullage.testing.gateway import run_gateway

if TYPE_CHECKING:
    from pathlib import Path

    from ullage.testing import Received

FAULTS = (Fault(status=529), Fault(hang_up=True), Fault(error_event=0, malformed_event=0), Fault(empty=True))
NOWHERE = dict.fromkeys(DIALECTS, "http://127.0.0.1:1")


@pytest.fixture(autouse=True)
def every_target_may_be_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Circuits have tests of their own; here nobody is left alone."""
    monkeypatch.setattr("ullage.engine.health.is_admitted", lambda *_, **__: True)


class Unreliable(Recorder):
    """Has every third request that arrives followed by one that fails."""

    def __init__(self) -> None:
        super().__init__()
        self.fake: FakeProvider | None = None
        self.failures = 0
        self._faults = cycle(FAULTS)

    def add(self, received: Received) -> None:
        super().add(received)
        if self.fake is not None and self.total % 3 == 0:
            self.failures += 1
            self.fake.script.add(Rule(times=1, fault=next(self._faults)))


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("dialect", DIALECTS)
async def test_a_conversation_of_an_sdk_goes_on_whoever_fails(dialect: Dialect, stream: bool, tmp_path: Path) -> None:
    recorder = Unreliable()
    async with FakeProvider(recorder=recorder, strict=True) as fake:
        recorder.fake = fake
        sections = routed(fake.url, routing={"aliases": NAMES, "thinking": "high", "quota": {"enabled": False}})
        async with run_gateway(NOWHERE, tmp_path, **sections) as gateway:
            answers, _ = await PROGRAMS[dialect](gateway.url, stream)
    assert all("The tool returned" in answer for answer in answers)
    assert recorder.failures > TURNS // 2
    assert recorder.total == 2 * TURNS + recorder.failures
    assert len({one.model for one in fake.requests}) > 1


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("dialect", DIALECTS)
async def test_where_everybody_fails_an_sdk_raises_the_error_of_the_last_status(
    dialect: Dialect, stream: bool, tmp_path: Path
) -> None:
    sections: dict[str, Any] = {"aliases": NAMES, "failover": {"max_attempts": 2}}
    async with FakeProvider([Rule(fault=Fault(status=503, message="Out of order."))]) as fake:
        async with run_gateway(NOWHERE, tmp_path, **routed(fake.url, routing=sections)) as gateway:
            with pytest.raises(Exception, match="Out of order") as raised:
                await PROGRAMS[dialect](gateway.url, stream)
    error: Any = raised.value
    assert getattr(error, "status_code", None) or error.code == 503
