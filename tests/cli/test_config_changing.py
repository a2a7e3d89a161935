"""`ullage config set` and `unset`: what could not be used is not written, and what holds then is told."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path

import pytest

from ullage.cli import main
from ullage.pi.address import Address, write_address


@pytest.fixture
def user_file() -> Path:
    return Path(os.environ["XDG_CONFIG_HOME"]) / "ullage" / "config.toml"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


@pytest.mark.parametrize(
    ("key", "word", "line"),
    [
        ("mode", "managed", 'mode = "managed"'),
        ("mode", '"managed"', 'mode = "managed"'),
        ("planning.soft_limit_ratio", "0.75", "soft_limit_ratio = 0.75"),
        ("store.keep_days", "30", "keep_days = 30"),
        ("privacy.enabled", "true", "enabled = true"),
        ("routing.models", "a/*,b/c", 'models = ["a/*", "b/c"]'),
        ("routing.models", '["a/*"]', 'models = ["a/*"]'),
    ],
)
def test_a_value_is_written_as_the_setting_has_it(user_file: Path, key: str, word: str, line: str) -> None:
    assert main(["config", "set", key, word]) == 0
    assert line in user_file.read_text().splitlines()
    assert stat.S_IMODE(user_file.stat().st_mode) == 0o600


@pytest.mark.parametrize(
    ("key", "word", "told"),
    [
        ("mode", "sometimes", "mode must be"),
        ("planning.soft_limit_ratio", "2", "planning.soft_limit_ratio must be"),
        ("planning.soft_limit", "0.5", "Did you mean planning.soft_limit_ratio"),
        ("models.overrides.x.context_window", "9", "in a table with names of your own"),
    ],
)
def test_what_cannot_be_used_is_not_written(
    user_file: Path, capsys: pytest.CaptureFixture[str], key: str, word: str, told: str
) -> None:
    assert main(["config", "set", key, word]) == 2
    assert told in capsys.readouterr().err
    assert not user_file.exists()


def test_a_value_that_breaks_a_rule_between_settings_is_not_written(
    user_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["config", "set", "planning.soft_limit_ratio", "0.95"]) == 1
    assert "Nothing was written" in capsys.readouterr().err
    assert not user_file.exists()


def test_a_project_may_not_set_everything(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["config", "set", "--project", "planning.soft_limit_ratio", "0.75"]) == 0
    assert main(["config", "set", "--project", "planning.soft_limit_ratio", "0.85"]) == 1
    assert "may only lower" in capsys.readouterr().err
    assert (project / ".ullage.toml").read_text() == "[planning]\nsoft_limit_ratio = 0.75\n"


def test_what_was_set_is_taken_out_again(user_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["config", "set", "mode", "managed"])
    capsys.readouterr()
    assert main(["config", "unset", "mode", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["changed"], told["value"], told["default"]) == (True, "observe", "observe")
    assert not user_file.read_text().strip()
    assert main(["config", "unset", "mode"]) == 0
    assert "does not stand in" in capsys.readouterr().out


def test_a_daemon_that_runs_is_named(data_dir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_address(data_dir, Address(url="http://127.0.0.1:9", token_file=""))
    main(["config", "set", "mode", "managed"])
    assert f"The daemon that runs (process {os.getpid()}) goes by it" in capsys.readouterr().out


def test_the_daemon_of_pi_does_not_go_by_the_settings_of_a_project(
    data_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "shop" / ".git").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "shop")
    write_address(data_dir, Address(url="http://127.0.0.1:9", token_file=""))
    assert main(["config", "set", "mode", "managed", "--project"]) == 0
    assert "that of Pi goes by your own settings" in capsys.readouterr().out


def test_a_setting_is_shown_with_its_default(user_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["config", "set", "store.keep_days", "30"])
    capsys.readouterr()
    assert main(["config", "show", "store"]) == 0
    rows = capsys.readouterr().out.splitlines()
    assert rows[0].split() == ["setting", "value", "default", "from"]
    assert f"store.keep_days  30         90         {user_file}:2" in rows
    assert main(["config", "show", "stores"]) == 2
    assert main(["config", "show", "--defaults"]) == 0
    assert len(capsys.readouterr().out.splitlines()) > 80
