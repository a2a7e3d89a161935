"""The manual page of the fake provider names every field, and its examples are read."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from ullage.testing import Fault, Reply, Rule, load_script

MANUAL = (Path(__file__).parents[2] / "docs/reference/fake-provider.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("record", [Rule, Reply, Fault])
def test_every_field_is_in_the_manual(record: Any) -> None:
    assert [name for name in record.__struct_fields__ if f"`{name}`" not in MANUAL] == []


def test_the_example_of_a_script_can_be_read(tmp_path: Path) -> None:
    (example,) = re.findall(r"```toml\n(.*?)```", MANUAL, re.DOTALL)
    path = tmp_path / "script.toml"
    path.write_text(example, encoding="utf-8")
    first, *_ = load_script(path)
    assert first.reply is not None
    assert first.reply.tool_calls[0].arguments == {"city": "Oslo"}
