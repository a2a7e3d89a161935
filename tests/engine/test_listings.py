"""What a provider says of its models, noted as it passes."""

from __future__ import annotations

import gzip
import json
from collections.abc import Sequence

import pytest

from tests.engine.observing import Bench, asked
from ullage.core.profiles import Layer
from ullage.engine.exchange import _KEPT_BYTES

MODELS = json.dumps({"object": "list", "data": [{"id": "m", "context_length": 32_768}]}).encode()


class Noted:
    """Sources that keep what they were told."""

    def __init__(self) -> None:
        self.told: list[tuple[str, bytes]] = []

    def layers(self, provider: str, model: str) -> Sequence[Layer]:
        return ()

    def note_models(self, provider: str, payload: bytes) -> None:
        self.told.append((provider, payload))


def told(answer: bytes, *, status: int = 200, how: str = "whole", coding: str = "") -> list[tuple[str, bytes]]:
    sources = Noted()
    with Bench(sources=sources) as bench:
        exchange = bench.begin(asked("/v1/models", b"", method="GET"))
        exchange.answer_began(status, [(b"content-encoding", coding.encode())] if coding else [])
        for start in range(0, len(answer), 1_000_000):
            exchange.answer_chunk(answer[start : start + 1_000_000])
        exchange.ended(how)
        bench.engine.finish(exchange)
        assert bench.engine.flush()
    return sources.told


@pytest.mark.parametrize(("answer", "coding"), [(MODELS, ""), (gzip.compress(MODELS), "gzip")])
def test_a_list_of_models_is_noted_decoded(answer: bytes, coding: str) -> None:
    assert told(answer, coding=coding) == [("provider.example", MODELS)]


def test_what_is_no_whole_list_is_not_noted() -> None:
    assert told(MODELS, status=404) == []
    assert told(MODELS, how="cut") == []
    assert told(b"not gzip", coding="gzip") == []
    assert told(b"") == []


def test_a_list_beyond_all_measure_is_passed_on_and_not_kept() -> None:
    assert told(b"x" * (_KEPT_BYTES + 1)) == []
