"""The matrix as files to read, one per pair of dialects. `UPDATE_GOLDEN=1 pytest tests/core/translation` rewrites them."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.core.translation.relay import MODELS, PAIR_IDS, PAIRS, REPLIES, Asked, Programs, Relay
from ullage.core.translation import Target
from ullage.core.wire import Dialect
from ullage.testing import Fault, Reply, Rule

PROGRAMS = Programs()
FOLDER = Path(__file__).parent / "golden"
ERRORS = {
    "error before the answer": Fault(status=429, message="Slow down."),
    "error inside a stream": Rule(reply=Reply(text="It begins."), fault=Fault(error_event=4)),
}


def told_by(client: Dialect, target: Dialect) -> str:
    """What the target gets, what is told of it, and what the client gets, case by case."""
    sections = []
    cases: dict[str, tuple[Asked, Reply | Fault | Rule]] = {
        **REPLIES,
        **{name: (Asked(), fault) for name, fault in ERRORS.items()},
    }
    for name, (asked, said) in cases.items():
        if name not in ERRORS:
            relay = ask(client, target, asked, said, stream=False)
            sections += [f"== {name}: request", pretty(relay.exchanges[0].translated.body)]
            sections += [f"-- {loss.code} {loss.where}: {loss.what}" for loss in relay.dropped]
        if name != "error inside a stream":
            relay = ask(client, target, asked, said, stream=False)
            sections += [f"== {name}: answer", pretty(relay.exchanges[0].answered)]
        relay = ask(client, target, asked, said, stream=True)
        sections += [f"== {name}: stream", relay.exchanges[0].answered.decode().replace("\r\n", "\n").strip()]
    return "\n".join(sections) + "\n"


def ask(client: Dialect, target: Dialect, asked: Asked, said: Reply | Fault | Rule, *, stream: bool) -> Relay:
    return PROGRAMS.ask(client, Relay(Target(dialect=target, model=MODELS[target]), said), asked, stream=stream)


def pretty(body: bytes) -> str:
    return json.dumps(json.loads(body), indent=1, ensure_ascii=False)


@pytest.mark.parametrize(("client", "target"), PAIRS, ids=PAIR_IDS)
def test_requests_and_answers_look_as_they_did(client: Dialect, target: Dialect) -> None:
    found = told_by(client, target)
    golden = FOLDER / f"{client}-client.{target}-target.txt"
    if os.environ.get("UPDATE_GOLDEN"):
        FOLDER.mkdir(exist_ok=True)
        golden.write_text(found)
    assert found == golden.read_text()
