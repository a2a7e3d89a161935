"""Keeps the README's terminal capture equal to what `ullage demo` prints. `--write` rewrites it; without, it is compared."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
README = ROOT / "README.md"
BLOCK = re.compile(r"(<!-- capture: ullage demo -->\n```text\n).*?(```\n)", re.DOTALL)


def capture() -> str:
    """The screen of the demo, 80 columns wide, with the ports that are drawn anew each time made constant."""
    environment = {**os.environ, "COLUMNS": "80", "NO_COLOR": "1"}
    command = [sys.executable, "-m", "ullage", "demo"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment, cwd=ROOT)
    return re.sub(r"127\.0\.0\.1:\d+", "127.0.0.1:8484", done.stdout)


def main() -> int:
    text = README.read_text()
    screen = capture()
    current = BLOCK.sub(lambda match: match[1] + screen + match[2], text)
    if current == text:
        return 0
    if "--write" in sys.argv[1:]:
        README.write_text(current)
        return 0
    print("README.md: the capture is not what `ullage demo` prints; `make reference` rewrites it", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
