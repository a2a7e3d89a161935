"""The pages on artifacts and on the MCP server say what is so."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec

from ullage.core.evidence.artifacts import ArtifactCaps, make_artifact, reference_text
from ullage.core.evidence.lookup import AROUND_CHARS, LINES, MOST_LINES
from ullage.mcp import history
from ullage.mcp.opening import open_tools
from ullage.mcp.server import make_server
from ullage.settings.keeping import make_artifact_caps
from ullage.settings.records import Settings

HOW_TO = Path(__file__).resolve().parents[2] / "docs" / "how-to"
ARTIFACTS = (HOW_TO / "artifacts.md").read_text()
SERVER = (HOW_TO / "mcp.md").read_text()
LOG = "\n".join(
    ["============ test session starts", "src/cellar/barrel.py:1: note", *["."] * 24_000, "E   TypeError: unsupported operand"]
    + ["."] * 900
    + ["1 failed, 211 passed"]
)  # fmt: skip


def shown_reference() -> list[str]:
    (block,) = re.findall(r"```text\n(\[ullage artifact.*?)```", ARTIFACTS, re.DOTALL)
    return block.splitlines()


def test_the_reference_has_the_lines_that_are_shown_in_their_order() -> None:
    artifact = make_artifact(LOG, call_id="toolu_01AbC", tool="Bash", is_error=True)
    real = reference_text(artifact, LOG, ArtifactCaps()).split("\n")
    shown = shown_reference()
    assert [line.partition(":")[0] for line in real] == [line.partition(":")[0] for line in shown]
    same = [0, 1, 2, 3, 5, 8, 9, 10, -2, -1]
    assert [real[place] for place in same] == [shown[place] for place in same]


def test_the_defaults_are_those_of_the_settings() -> None:
    caps = make_artifact_caps(Settings())
    assert caps == ArtifactCaps()
    assert f"inline_chars = {caps.inline_chars:_}\nexcerpt_chars = {caps.excerpt_chars:_}" in ARTIFACTS
    assert f"({caps.inline_chars:,} characters)" in ARTIFACTS
    assert f"`artifacts.inline_chars` ({caps.inline_chars:,} characters)" in SERVER
    assert f"at most {caps.quoted_chars:,} by default" in ARTIFACTS
    assert f"`store.keep_days` ({Settings().store.keep_days})" in ARTIFACTS


def test_the_limits_of_a_search_are_those_that_are_told() -> None:
    told = " ".join(SERVER.split())
    assert f"the {history.SESSIONS} newest, up to {history.SESSION_BYTES // 2**20} MiB" in told
    assert (
        f"the {history.ARTIFACTS} newest artifacts of the project, up to {history.ARTIFACT_BYTES // 2**20} MiB" in told
    )
    assert f"{history.HANDLES} of them are remembered" in told
    assert f"{AROUND_CHARS} characters on either side" in told
    assert f"{LINES} if nothing is said, {MOST_LINES} at most" in told


async def test_the_tools_are_those_that_are_listed(tmp_path: Path) -> None:
    tools = open_tools(Settings(), data_dir=tmp_path, home=tmp_path, folder=tmp_path, clock_ms=lambda: 0)
    rows = re.findall(r"^\| (`[a-z_`, ]+) \| .* \| (no|adds) \|$", SERVER, re.MULTILINE)
    listed = {name: effect for names, effect in rows for name in re.findall("[a-z_]+", names)}
    assert listed == {
        tool.name: "no" if tool.annotations and tool.annotations.read_only_hint else "adds"
        for tool in await make_server(tools).list_tools()
    }


def test_what_clients_are_to_write_can_be_read() -> None:
    (shown,) = re.findall(r"```json\n(.*?)```", SERVER, re.DOTALL)
    assert msgspec.json.decode(shown)["mcp"]["ullage"]["command"] == ["ullage", "mcp"]
    (toml,) = re.findall(r"```toml\n(.*?)```", SERVER, re.DOTALL)
    assert msgspec.toml.decode(toml) == {"mcp_servers": {"ullage": {"command": "ullage", "args": ["mcp"]}}}
