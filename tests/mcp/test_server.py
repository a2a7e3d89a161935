"""The server as the official client sees it, in one process."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from mcp.client.client import Client

from tests.mcp.test_history import put
from ullage.core.evidence.artifacts import make_artifact
from ullage.core.evidence.offers import is_lookup
from ullage.engine.trimming import open_artifacts
from ullage.mcp.opening import open_tools
from ullage.mcp.server import make_server
from ullage.settings.records import Settings
from ullage.stores import ArtifactRecord, open_store

NOW_MS = 1_800_000_000_000
LONG = "\n".join(f"line {number}" for number in range(3_000))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    return folder


Connect = Callable[[], Client]


@pytest.fixture
def connect(tmp_path: Path, folder: Path) -> Connect:
    """Makes a client that is connected while its context lasts."""

    def connect() -> Client:
        tools = open_tools(
            Settings(), data_dir=tmp_path / "data", home=tmp_path / "home", folder=folder, clock_ms=lambda: NOW_MS
        )
        return Client(make_server(tools))

    return connect


async def call(client: Client, name: str, **arguments: Any) -> Any:
    result = await client.call_tool(name, arguments)
    assert not result.is_error, result.content
    return msgspec.json.decode(result.content[0].text)  # type: ignore[union-attr]


async def refused(client: Client, name: str, **arguments: Any) -> str:
    result = await client.call_tool(name, arguments)
    assert result.is_error
    return str(result.content[0].text)  # type: ignore[union-attr]


def keep(data_dir: Path, root: str, text: str = LONG) -> str:
    artifact = make_artifact(text, call_id="c1", tool="bash")
    open_artifacts(data_dir, root).put(text.encode())
    store = open_store("sqlite", data_dir, lambda: NOW_MS)
    store.put_artifact(
        ArtifactRecord(
            id=artifact.id,
            session="s1",
            project=root,
            used_ms=NOW_MS,
            sha256=artifact.sha256,
            size_bytes=artifact.size_bytes,
            chars=artifact.chars,
        )
    )
    store.close()
    return artifact.id


async def test_every_tool_says_what_it_does_and_whether_it_changes_anything(connect: Connect) -> None:
    async with connect() as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        looking = {"artifact_read", "artifact_search", "history_read", "history_search", "list_memories", "list_pins"}
        assert set(tools) == looking | {"pin", "remember"}
        for name, tool in tools.items():
            assert tool.description
            assert tool.annotations is not None
            assert tool.annotations.read_only_hint is (name in looking)
            assert tool.annotations.destructive_hint is False
            assert tool.annotations.open_world_hint is False
            for parameter in tool.input_schema["properties"].values():
                assert parameter["description"]


async def test_an_artifact_is_searched_and_read(connect: Connect, tmp_path: Path, folder: Path) -> None:
    async with connect() as client:
        name = keep(tmp_path / "data", str(folder))
        assert (await call(client, "artifact_search", id=name, query="line 2999"))["matches"][0]["line"] == 3_000
        assert (await call(client, "artifact_read", id=name[:8], line=10, lines=2))["lines"] == ["line 9", "line 10"]


async def test_an_artifact_of_another_project_is_not_there(connect: Connect, tmp_path: Path) -> None:
    async with connect() as client:
        name = keep(tmp_path / "data", str(tmp_path / "other"))
        assert "has no artifact" in await refused(client, "artifact_read", id=name)


async def test_history_is_searched_and_read(connect: Connect, tmp_path: Path, folder: Path) -> None:
    async with connect() as client:
        put(tmp_path / "home", "s", "where is the needle?", "in the hay", cwd=str(folder))
        (match,) = (await call(client, "history_search", query="needle"))["matches"]
        assert (await call(client, "history_read", handle=match["handle"]))["lines"] == ["where is the needle?"]


async def test_what_is_kept_is_listed(connect: Connect) -> None:
    async with connect() as client:
        await call(client, "pin", text="Use pnpm.")
        await call(client, "remember", claim="Build runner = vitest")
        assert (await call(client, "list_pins"))["items"][0]["text"] == "Use pnpm."
        assert (await call(client, "list_memories"))["items"][0]["key"] == "build-runner"


@pytest.mark.parametrize(
    ("name", "arguments", "said"),
    [
        ("artifact_read", {"id": "nonsense"}, "Copy it from a reference"),
        ("artifact_search", {"id": "0" * 32, "query": "xx"}, "has no artifact"),
        ("history_search", {"query": "x"}, "2 to 2000 characters"),
        ("history_read", {"handle": "hist_0"}, "Search again"),
        ("pin", {"text": " "}, "is empty"),
        ("artifact_read", {"id": "0" * 32, "lines": 0}, "greater than or equal to 1"),
    ],
)
async def test_a_wrong_call_is_answered_with_what_to_do(
    name: str, arguments: dict[str, Any], said: str, connect: Connect
) -> None:
    async with connect() as client:
        assert said in await refused(client, name, **arguments)


async def test_a_fault_of_the_store_ends_neither_the_server_nor_other_tools(connect: Connect, tmp_path: Path) -> None:
    async with connect() as client:
        (tmp_path / "data").mkdir()
        (tmp_path / "data" / "ullage.db").write_bytes(b"no database" * 100)
        assert "database" in await refused(client, "list_pins")
        assert (await call(client, "history_search", query="needle"))["matches"] == []


async def test_what_the_lookups_give_is_never_made_an_artifact(connect: Connect) -> None:
    """The planner leaves alone what these tools gave, by whatever names a client has for them."""
    async with connect() as client:
        names = {tool.name for tool in (await client.list_tools()).tools}
    assert {name for name in names if is_lookup(name)} == {
        name for name in names if name.endswith(("_search", "_read"))
    }


async def test_what_is_wrong_with_arguments_is_told_in_a_sentence(connect: Connect) -> None:
    async with connect() as client:
        told = await refused(client, "artifact_read", line=0, lines="many")
    assert told == (
        "artifact_read was not run: `id` is missing; `line` should be greater than or equal to 1; "
        "`lines` should be a valid integer, unable to parse string as an integer."
    )
