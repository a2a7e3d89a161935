"""Every hint has one form: a sentence, with backticks round commands."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from ullage.cli.table import COMMANDS

SOURCE = Path(__file__).parents[2] / "src" / "ullage"
BARE_COMMAND = re.compile(rf"(?<!`)\bullage (?:{'|'.join(COMMANDS)})\b")
FILLED = "{}"
"""Stands for a value in an f-string: it may be anything."""


def texts(node: ast.expr) -> Iterator[str]:
    """The texts that an expression may be, with `FILLED` where a value goes in. Names and calls are none."""
    match node:
        case ast.Constant(value=str(text)):
            yield text
        case ast.JoinedStr(values=values):
            yield "".join(str(part.value) if isinstance(part, ast.Constant) else FILLED for part in values)
        case ast.IfExp(body=body, orelse=orelse):
            yield from texts(body)
            yield from texts(orelse)


def hints() -> Iterator[tuple[str, str]]:
    """Every text that is given as a `hint` or as a `next` step, with where it stands."""
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.keyword) and node.arg in ("hint", "next"):
                for text in texts(node.value):
                    yield f"{path.relative_to(SOURCE)}:{node.value.lineno}", text


@pytest.mark.parametrize("text", [pytest.param(text, id=place) for place, text in hints() if text])
def test_a_hint_is_a_sentence_with_backticks_round_commands(text: str) -> None:
    assert re.match(r"[A-Z0-9`\-{]", text), text
    assert text.endswith((".", "?", FILLED)), text
    assert not BARE_COMMAND.search(text), text


def test_there_are_hints() -> None:
    assert len(list(hints())) > 50
