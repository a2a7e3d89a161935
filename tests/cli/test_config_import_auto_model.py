"""`ullage config import` of an `auto-model.json`: printed as settings, put into the user's file, nothing there changed."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import msgspec
import pytest

from ullage.cli import main
from ullage.settings import load_file, load_settings
from ullage.settings.auto_model import read_auto_model
from ullage.settings.json_file import read_json

FILE = Path(__file__).resolve().parents[1] / "data" / "auto-model" / "auto-model.json"
DS4 = Path(__file__).resolve().parents[1] / "data" / "ds4" / "global.json"


@pytest.fixture
def user_file() -> Path:
    file = Path(os.environ["XDG_CONFIG_HOME"]) / "ullage" / "config.toml"
    file.parent.mkdir(parents=True)
    return file


def call(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> tuple[int, str, str]:
    status = main(["config", "import", *map(str, arguments)])
    printed = capsys.readouterr()
    return status, printed.out, printed.err


def test_what_is_printed_is_a_settings_file_that_says_the_same(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status, printed, said = call(capsys, FILE)
    made = tmp_path / "made.toml"
    made.write_text(printed)
    loaded = load_file(made)
    assert (status, loaded.problems) == (0, ())
    assert printed.startswith("# Taken over from Pi Auto Model.\n\n[models]\n")
    assert "Left out" not in said
    assert (loaded.settings.budget.daily_usd, loaded.settings.budget.task_usd) == (5, 0.05)
    tables = read_auto_model(read_json(FILE)).tables
    routing = loaded.settings.routing
    assert (routing.targets, routing.pools, routing.rules) == (tables.targets, tables.pools, tables.rules)
    assert (routing.scenarios, routing.quota.providers) == (tables.scenarios, tables.quota.providers)
    assert (routing.policy, routing.classifier.timeout_ms, routing.constraints.provider_allow) == (
        "cost",
        2_000,
        ("anthropic", "openai"),
    )
    assert loaded.settings.calibration.method == "growth-v1"


def test_both_extensions_are_taken_over_in_one_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, printed, _ = call(capsys, DS4, FILE)
    made = tmp_path / "made.toml"
    made.write_text(printed)
    loaded = load_file(made)
    assert loaded.problems == ()
    assert printed.startswith("# Taken over from the DS4 context engine and Pi Auto Model.\n")
    assert (loaded.settings.calibration.method, loaded.settings.routing.policy) == ("ratio-v1", "cost")


def test_the_file_in_pis_folder_is_found(capsys: pytest.CaptureFixture[str]) -> None:
    folder = Path(os.environ["HOME"]) / ".pi" / "agent"
    folder.mkdir(parents=True)
    shutil.copy(FILE, folder)
    assert 'policy = "cost"' in call(capsys)[1]


def test_the_file_of_a_project_is_named_and_not_taken_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / ".pi").mkdir()
    shutil.copy(FILE, tmp_path / ".pi")
    monkeypatch.chdir(tmp_path)
    _, printed, said = call(capsys)
    assert printed == ""
    assert "auto-model.json is of a project: `ullage config import " in said


def test_what_is_there_already_stays_and_twice_is_once(user_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    own = (
        "[routing]\npolicy = 'best'\n[routing.pools.general]\ntargets = { 'a/b' = 1 }\n"
        "[[routing.rules]]\nname = 'hotfix'\nthen = { policy = 'best' }\n"
    )
    user_file.write_text(own)
    _, told, _ = call(capsys, FILE, "--write")
    settings = load_settings().settings
    assert (settings.routing.policy, settings.routing.pools["general"].targets) == ("best", {"a/b": 1})
    assert [rule.then.policy for rule in settings.routing.rules] == ["best"]
    assert settings.routing.capability_source == "ramp"
    assert settings.routing.scenarios.keys() == {"long_context", "background", "review"}
    for kept in ("routing.policy", "[routing.pools.general]", "[[routing.rules]]"):
        assert f"kept     {kept}, which is there already" in told
    text = user_file.read_text()
    assert call(capsys, FILE, "--write")[1].startswith("nothing to write into")
    assert user_file.read_text() == text


def test_it_is_told_for_programs(capsys: pytest.CaptureFixture[str]) -> None:
    found = msgspec.json.decode(call(capsys, FILE, "--json")[1])
    assert found["files"][0]["kind"] == "auto-model"
    assert found["routing"]["pools"]["general"]["window_hours"] == 12


def test_a_file_of_which_nothing_can_be_used_has_status_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "auto-model.json"
    file.write_text('{"policy": "chaep"}')
    status, printed, said = call(capsys, file)
    assert (status, printed) == (1, "")
    assert "policy must be one of" in said


def test_limits_of_providers_that_are_there_already_stay(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], user_file: Path
) -> None:
    theirs = tmp_path / "auto-model.json"
    theirs.write_text('{"budget": {"providers": {"anthropic": {"dailyUsd": 9}, "openai": {"monthlyUsd": 50}}}}')
    user_file.write_text("[budget.providers.anthropic]\ndaily_usd = 2\n")
    status, printed, _ = call(capsys, theirs, "--write")
    providers = load_file(user_file).settings.budget.providers
    assert (status, providers["anthropic"].daily_usd, providers["openai"].monthly_usd) == (0, 2, 50)
    assert "[budget.providers.anthropic]" in printed
