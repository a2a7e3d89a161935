"""Pinning and remembering through the server: what is written is what the commands read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from ullage.core.errors import CallError, InputError, StoreError
from ullage.mcp.keeping import KeepingTools
from ullage.mcp.opening import open_tools
from ullage.settings.records import Settings, StoreSettings
from ullage.stores import open_reader
from ullage.stores.keeping import Keeper

NOW_MS = 1_800_000_000_000


def tools_of(tmp_path: Path, folder: Path | None = None, settings: Settings | None = None) -> KeepingTools:
    project = folder or tmp_path / "project"
    project.mkdir(exist_ok=True)
    return open_tools(
        settings or Settings(),
        data_dir=tmp_path / "data",
        home=tmp_path / "home",
        folder=project,
        clock_ms=lambda: NOW_MS,
    ).keeping


@pytest.fixture
def tools(tmp_path: Path) -> KeepingTools:
    return tools_of(tmp_path)


def decoded(answer: str) -> Any:
    return msgspec.json.decode(answer)


def test_a_pin_is_for_the_project_and_is_in_the_log(tools: KeepingTools, tmp_path: Path) -> None:
    answer = decoded(tools.pin("Use  pnpm."))
    root = str((tmp_path / "project").resolve())
    assert (answer["state"], answer["project"]) == ("kept", root)
    reader = open_reader("sqlite", tmp_path / "data")
    (pin,) = Keeper(reader).kept().active("pin")
    reader.close()
    assert (pin.id, pin.text, pin.scope, pin.project, pin.created_ms) == (
        answer["id"],
        "Use pnpm.",
        "project",
        root,
        NOW_MS,
    )


def test_what_is_pinned_already_is_not_pinned_again(tools: KeepingTools) -> None:
    first = decoded(tools.pin("Use pnpm."))
    again = decoded(tools.pin("use PNPM."))
    assert (again["id"], again["state"]) == (first["id"], "kept already")


def test_a_memory_gets_its_key_from_the_claim_or_the_caller(tools: KeepingTools) -> None:
    tools.remember("Build Runner = vitest")
    tools.remember("We deploy on Fridays.", "deploy-day")
    items = decoded(tools.list_kept("memory"))["items"]
    assert {item["key"] for item in items} == {"deploy-day", "build-runner"}


def test_a_claim_that_contradicts_another_is_refused_with_a_way_out_for_an_agent(tools: KeepingTools) -> None:
    old = decoded(tools.remember("Build Runner = vitest"))["id"]
    with pytest.raises(InputError) as refusal:
        tools.remember("Build Runner = jest")
    assert old in refusal.value.message
    assert "`supersedes`" in refusal.value.hint and "--" not in refusal.value.hint
    tools.remember("Build Runner = jest", None, old)
    assert [item["text"] for item in decoded(tools.list_kept("memory"))["items"]] == ["Build Runner = jest"]


def test_only_a_memory_of_the_project_is_superseded(tmp_path: Path, tools: KeepingTools) -> None:
    other = decoded(tools_of(tmp_path, tmp_path / "other").remember("Build Runner = vitest"))["id"]
    for unknown in (other, "mem_nothing"):
        with pytest.raises(InputError) as refusal:
            tools.remember("Build Runner = jest", None, unknown)
        assert (refusal.value.code, refusal.value.hint) == ("not_found", "`list_memories` names them.")
    assert decoded(tools.list_kept("memory"))["kept"] == 0


@pytest.mark.parametrize("text", ["", "x" * 4_001, "[ullage pin] Pinned by the user."])
def test_what_cannot_be_pinned_is_refused_and_nothing_is_written(text: str, tools: KeepingTools) -> None:
    """The last one is regression R31: what ullage itself wrote must not come back as a user's words."""
    with pytest.raises(CallError):
        tools.pin(text)
    assert decoded(tools.list_kept("pin"))["kept"] == 0


def test_a_reference_to_an_artifact_is_not_kept_as_a_users_words(tools: KeepingTools) -> None:
    from ullage.core.evidence.artifacts import ArtifactCaps, make_artifact, reference_text

    text = "x" * 20_000
    with pytest.raises(CallError):
        tools.remember(reference_text(make_artifact(text), text, ArtifactCaps(excerpt_chars=100)))


def test_lists_are_of_this_project_alone(tmp_path: Path, tools: KeepingTools) -> None:
    tools.pin("Use pnpm.")
    other = tools_of(tmp_path, tmp_path / "other")
    other.pin("Use npm.")
    assert [item["text"] for item in decoded(other.list_kept("pin"))["items"]] == ["Use npm."]


def test_where_nothing_was_ever_kept_the_list_is_empty(tools: KeepingTools, tmp_path: Path) -> None:
    assert decoded(tools.list_kept("pin"))["items"] == []
    assert not (tmp_path / "data").exists()


def test_a_list_is_bounded_and_says_how_many_there_are(tmp_path: Path) -> None:
    tools = tools_of(tmp_path)
    for number in range(5):
        tools.remember(f"{number} " + "word " * 390)
    settings = Settings()
    small = msgspec.structs.replace(settings, artifacts=msgspec.structs.replace(settings.artifacts, inline_chars=5_000))
    answer = decoded(tools_of(tmp_path, settings=small).list_kept("memory"))
    assert answer["kept"] == 5
    assert 0 < answer["shown"] == len(answer["items"]) < 5


def test_the_home_folder_is_no_project(tmp_path: Path) -> None:
    home = tmp_path / "home"
    with pytest.raises(CallError, match="no project"):
        tools_of(tmp_path, home).pin("Use pnpm.")


def test_a_store_in_memory_keeps_nothing_for_another_process(tmp_path: Path) -> None:
    settings = Settings(store=StoreSettings(url="memory"))
    with pytest.raises(StoreError):
        tools_of(tmp_path, settings=settings).pin("Use pnpm.")


def test_with_privacy_on_lists_withhold_what_may_not_be_told(tmp_path: Path, tools: KeepingTools) -> None:
    tools.pin("The door code is [ullage:local-only]4711[/ullage:local-only].")
    settings = Settings()
    private = msgspec.structs.replace(settings, privacy=msgspec.structs.replace(settings.privacy, enabled=True))
    (item,) = decoded(tools_of(tmp_path, settings=private).list_kept("pin"))["items"]
    assert "4711" not in item["text"]
    assert item["text"].startswith("The door code is")
