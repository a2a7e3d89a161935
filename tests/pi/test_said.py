"""What the extension says to the daemon each turn: as much as is new, however long the conversation is."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.pi import recorder
from tests.pi.history import write_session
from tests.pi.host import NEWEST, OLDER, Host, find_pi
from ullage.testing import FakeProvider, run_in_thread

pytestmark = pytest.mark.slow

MOST_BYTES = 2_000
"""A prompt and an answer of a few words, and what each request says of itself."""


@pytest.mark.parametrize("version", [NEWEST, OLDER[-1]])
def test_a_turn_says_as_much_as_is_new_however_long_the_conversation_is(version: str, tmp_path: Path) -> None:
    sizes = []
    for messages in (40, 400):
        first, *others = _record(version, tmp_path / str(messages), messages)
        assert len(others) == 3 and not any({"prompt", "tools"} & one.keys() for one in others)
        assert len(json.dumps(first)) > 200 * messages
        sizes.append(sum(len(json.dumps(one)) for one in others))
    assert max(sizes) < 3 * MOST_BYTES
    assert abs(sizes[0] - sizes[1]) < 100


def _record(version: str, folder: Path, messages: int) -> list[dict[str, Any]]:
    """What the daemon is told of each of four requests, in a session that is so long when it is opened."""
    record = folder / "record.jsonl"
    with run_in_thread(FakeProvider()) as provider:
        host = Host(folder, find_pi(version), provider.url, settings='mode = "managed"\n')
        installed = host.agent / "extensions" / "ullage" / "install.json"
        told = {**json.loads(installed.read_text()), "command": [sys.executable, recorder.__file__, str(record)]}
        installed.write_text(json.dumps(told))
        history = write_session(folder / "session.jsonl", messages, project=host.project)
        try:
            with host.open("--model", "anthropic/anthropic-model", "--session", str(history)) as pi:
                for turn in range(4):
                    pi.ask("prompt", message=f"Turn {turn}.")
        finally:
            host.stop()
    lines = map(json.loads, record.read_text().splitlines())
    return [line["said"] for line in lines if line["route"] == "context"]
