"""`ullage context --html`: where the page may go."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ullage.cli import main

BODY = {"model": "gpt-5.5", "messages": [{"role": "user", "content": "hello"}]}


@pytest.fixture
def request_file(tmp_path: Path) -> Path:
    path = tmp_path / "request.json"
    path.write_text(json.dumps(BODY))
    return path


def test_a_page_replaces_a_page(request_file: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    for _ in range(2):
        assert main(["context", str(request_file), "--dialect", "openai-chat", "--html", str(page)]) == 0
    assert page.read_text().startswith("<!DOCTYPE html>")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["home", "page.html", "request.json"]


def test_a_page_replaces_nothing_else(request_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The file named could be the session or the captured request itself."""
    before = request_file.read_bytes()
    assert main(["context", str(request_file), "--html", str(request_file)]) == 2
    assert "is no page of ours" in capsys.readouterr().err
    assert request_file.read_bytes() == before


def test_a_page_that_cannot_be_written_leaves_nothing(request_file: Path, tmp_path: Path) -> None:
    assert main(["context", str(request_file), "--html", str(tmp_path / "no" / "page.html")]) == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["home", "request.json"]
