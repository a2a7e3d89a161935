"""Pages of the manual that are made from the code: written with `--write`, otherwise compared."""

from __future__ import annotations

import sys
from pathlib import Path

REFERENCE = Path(__file__).resolve().parents[1] / "docs" / "reference"
MARK = "<!-- Generated from the code by `make reference`: change it there. -->"


def settle(name: str, body: str) -> int:
    """Writes a page if the call asks for it, else says whether it is up to date; returns the exit status."""
    page = REFERENCE / name
    text = f"{MARK}\n\n{body.strip()}\n"
    if "--write" in sys.argv[1:]:
        page.write_text(text)
        return 0
    if page.exists() and page.read_text() == text:
        return 0
    print(f"docs/reference/{name} does not match the code: run `make reference`.", file=sys.stderr)
    return 1
