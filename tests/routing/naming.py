"""Tests that other tests name, as `folder/test_module.py::test_name` below `tests`."""

from __future__ import annotations

import ast
import re
from pathlib import Path

_TESTS = Path(__file__).resolve().parents[1]

Test = ast.FunctionDef | ast.AsyncFunctionDef


def find_test(place: str) -> Test:
    """Raises `LookupError` if there is no such test."""
    path, _, name = place.partition("::")
    tree = ast.parse((_TESTS / path).read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, Test) and node.name == name:
            return node
    raise LookupError(place)


def words(test: Test) -> set[str]:
    """The words of its first lines."""
    return set(re.findall(r"\w+", ast.get_docstring(test) or ""))
