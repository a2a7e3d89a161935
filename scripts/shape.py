"""Prints figures about our own tree: modules by length, functions by length, parameters. Read the ten worst, fix one."""

from __future__ import annotations

import ast
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

SOURCE = Path(__file__).resolve().parents[1] / "src" / "ullage"


class Function(NamedTuple):
    lines: int
    parameters: int
    where: str


def functions(path: Path) -> Iterator[Function]:
    tree = ast.parse(path.read_text())
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            start = node.body[1].lineno if ast.get_docstring(node) and len(node.body) > 1 else node.body[0].lineno
            arguments = node.args
            count = len(arguments.posonlyargs) + len(arguments.args) + len(arguments.kwonlyargs)
            where = f"{path.relative_to(SOURCE)}:{node.lineno} {node.name}"
            yield Function((node.end_lineno or start) - start + 1, count, where)


def main() -> int:
    modules = sorted((len(path.read_text().splitlines()), path) for path in SOURCE.rglob("*.py"))
    found = sorted(function for _, path in modules for function in functions(path))
    print(f"{len(modules)} modules, median {modules[len(modules) // 2][0]} lines")
    print(f"{len(found)} functions, median {found[len(found) // 2].lines} lines")
    print("\nlongest modules")
    for lines, path in reversed(modules[-10:]):
        print(f"  {lines:5}  {path.relative_to(SOURCE)}")
    print("\nlongest functions")
    for function in reversed(found[-10:]):
        print(f"  {function.lines:5}  {function.where}")
    print("\nmost parameters")
    for function in sorted(found, key=lambda each: each.parameters)[-10:][::-1]:
        print(f"  {function.parameters:5}  {function.where}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
