"""The page of the manual: its example runs, and it names every code that is told."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "reference" / "translation.md").read_text()


def test_the_example_runs() -> None:
    (example,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    exec(example, {})


def test_every_code_is_in_the_manual() -> None:
    sources = (ROOT / "src" / "ullage" / "core" / "translation").rglob("*.py")
    codes = {code for file in sources for code in re.findall(r'\.add\(\s*"(\w+)"', file.read_text())}
    told = set(re.findall(r"`(\w+)`", PAGE.partition("## What is told")[2].partition("## What is refused")[0]))
    assert codes == told
