"""Long answers are worked on beside the event loop."""

from __future__ import annotations

import threading

import pytest

from ullage.core.health import Ended
from ullage.engine.departure import Departure
from ullage.gateway.aside import LONG_BYTES, work_aside
from ullage.gateway.hearing import Heard


@pytest.mark.parametrize("size", [0, LONG_BYTES, LONG_BYTES + 1])
async def test_what_is_long_is_worked_on_in_a_thread(size: int) -> None:
    worker = await work_aside(threading.get_ident, size)
    assert (worker != threading.get_ident()) == (size > LONG_BYTES)


async def test_what_fails_in_a_thread_is_raised() -> None:
    def fail() -> None:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        await work_aside(fail, LONG_BYTES + 1)


class Answer:
    """A body of one long piece."""

    status, headers = 200, ()

    def __init__(self) -> None:
        self._chunks = [b'{"id":"' + b"x" * LONG_BYTES + b'"}', b""]

    async def read(self) -> bytes:
        return self._chunks.pop(0)


async def test_a_long_answer_is_judged_in_a_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    heard = Heard(Departure(body=b""), 1, holds=True)
    heard.begin(Answer(), "openai-chat")  # type: ignore[arg-type] - as much of an answer as is read
    watch = heard._watch
    assert watch is not None
    workers: list[int] = []
    close = watch.close
    monkeypatch.setattr(watch, "close", lambda: workers.append(threading.get_ident()) or close())
    await heard.hear()
    assert isinstance(await heard.hear(), Ended)
    assert workers and workers[0] != threading.get_ident()
