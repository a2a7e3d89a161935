"""`ullage mcp` as a client starts it: a process of its own, spoken to by the official client."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

from tests.mcp.test_history import put
from ullage.cli import main

ULLAGE = str(Path(sys.executable).with_name("ullage"))


def environment(tmp_path: Path) -> dict[str, str]:
    return {"HOME": str(tmp_path / "home"), "PATH": os.environ["PATH"]}


@pytest.mark.slow
async def test_a_client_talks_to_the_server_over_standard_input_and_output(tmp_path: Path) -> None:
    folder = tmp_path / "project"
    folder.mkdir()
    put(tmp_path / "home", "s", "where is the needle?", "in the hay", cwd=str(folder))
    parameters = StdioServerParameters(command=ULLAGE, args=["mcp"], env=environment(tmp_path), cwd=folder)
    async with Client(stdio_client(parameters)) as client:
        assert client.server_info is not None
        assert client.server_info.name == "ullage"
        assert len((await client.list_tools()).tools) == 8
        result = await client.call_tool("history_search", {"query": "needle"})
        (match,) = msgspec.json.decode(result.content[0].text)["matches"]  # type: ignore[union-attr]
        assert match["session"] == "s"
        assert not (await client.call_tool("pin", {"text": "Use pnpm."})).is_error
        assert (await client.call_tool("artifact_read", {"id": "nonsense"})).is_error
    told = subprocess.run(
        [ULLAGE, "pin", "list", "--json"], env=environment(tmp_path), cwd=folder, capture_output=True, check=True
    )
    assert msgspec.json.decode(told.stdout)["pins"][0]["text"] == "Use pnpm."


@pytest.mark.slow
async def test_the_project_may_be_named(tmp_path: Path) -> None:
    folder = tmp_path / "project"
    folder.mkdir()
    arguments = ["mcp", "--project", str(folder), "--data-dir", str(tmp_path / "data")]
    parameters = StdioServerParameters(command=ULLAGE, args=arguments, env=environment(tmp_path), cwd=tmp_path)
    async with Client(stdio_client(parameters)) as client:
        result = await client.call_tool("remember", {"claim": "Build runner = vitest"})
        assert msgspec.json.decode(result.content[0].text)["project"] == str(folder)  # type: ignore[union-attr]
    assert (tmp_path / "data" / "ullage.db").exists()


def test_without_the_sdk_it_says_how_to_get_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "mcp", None)
    assert main(["mcp"]) == 2
    assert "pip install 'ullage[mcp]'" in capsys.readouterr().err


def test_a_project_that_is_not_there_is_a_wrong_call(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["mcp", "--project", str(tmp_path / "absent")]) == 2
    assert "does not exist" in capsys.readouterr().err
