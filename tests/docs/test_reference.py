"""The generated pages of the manual say what the code says."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from ullage.settings import catalog

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize(
    "script", ["settings_reference.py", "denominators_reference.py", "exports_reference.py", "cli_reference.py"]
)
def test_a_generated_page_is_up_to_date(script: str) -> None:
    ended = subprocess.run(
        [sys.executable, str(ROOT / "scripts" / script)], capture_output=True, text=True, check=False
    )
    assert (ended.returncode, ended.stderr) == (0, "")


def test_every_setting_is_in_the_manual() -> None:
    page = (ROOT / "docs" / "reference" / "settings.md").read_text()
    for setting in catalog().values():
        assert f"`{setting.variable}`" in page
        assert setting.meaning in page
