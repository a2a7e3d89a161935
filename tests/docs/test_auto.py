"""docs/how-to/auto.md and the control routes of docs/reference/http.md say what commands and daemon do."""

from __future__ import annotations

import re
from pathlib import Path

import click
import msgspec
import pytest

from ullage.cli.app import app
from ullage.engine.steering import KEYS
from ullage.gateway.openapi import DESCRIBED, PREFIX
from ullage.gateway.reporting import Planned
from ullage.gateway.steering import Judge, PreviewRoute, SetRoute, Vote

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGE, HTTP = (DOCS / "how-to" / "auto.md").read_text(), (DOCS / "reference" / "http.md").read_text()
BODIES = PreviewRoute | SetRoute, Vote, Judge, Planned


def test_every_command_of_auto_is_on_its_page() -> None:
    with click.Context(app) as context:
        group = app.get_command(context, "auto")
        assert isinstance(group, click.Group)
        names = group.list_commands(context)
    missing = [name for name in names if not re.search(rf"ullage (?:auto )?{name}\b", PAGE)]
    assert missing == ["status"]  # which is what `ullage auto` alone tells


@pytest.mark.parametrize("one", DESCRIBED, ids=lambda one: f"{one.method} {one.name}")
def test_every_control_route_is_in_the_reference(one: object) -> None:
    described = next(known for known in DESCRIBED if known is one)
    assert f"`{described.method.upper()} {PREFIX}{described.name}" in HTTP


def test_every_example_of_a_body_is_one_that_a_route_takes() -> None:
    (block,) = (block for block in re.findall(r"```json\n(.*?)```", HTTP, re.DOTALL) if '"preview"' in block)
    taken = set()
    for line in block.splitlines():
        fits = [kind for kind in BODIES if _is(line.encode(), kind)]
        assert len(fits) == 1, line
        taken.add(BODIES.index(fits[0]))
    assert taken == set(range(len(BODIES)))


def test_everything_that_may_be_set_is_in_the_table() -> None:
    words = {
        "activation": "ullage auto off",
        "policy": "ullage auto mode",
        **{key: f"ullage auto {key}" for key in KEYS[2:]},
    }
    assert all(words[key] in PAGE for key in KEYS)


def _is(line: bytes, kind: object) -> bool:
    try:
        msgspec.json.decode(line, type=kind)
    except msgspec.ValidationError:
        return False
    return True
