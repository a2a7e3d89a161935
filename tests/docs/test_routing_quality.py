"""What the manual says of routing quality is what the code measures."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.shared
@pytest.mark.slow
@pytest.mark.usefixtures("shared_data")
def test_the_measured_tables_are_up_to_date() -> None:
    script = ROOT / "scripts" / "routing_report.py"
    ended = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stderr) == (0, "")
