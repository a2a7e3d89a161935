"""`ullage config import`: the same settings in our form, printed or appended."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import msgspec
import pytest

from ullage.cli import main
from ullage.core.profiles.heuristics import Heuristics
from ullage.settings import load_file, load_settings
from ullage.settings.inspector import merge_inspector_files, read_inspector_file

CONFIG: dict[str, Any] = {
    "profiles": {"claude-4.8": {"label": "Custom", "textDenominator": 2.6, "toolDenominator": 3}},
    "defaults": {"profile": "claude-4.8"},
    "toolShapes": {
        "mine": {
            "label": 'My "tools"\x7f',
            "denominator": 4.8,
            "referenceUrl": "https://example.com",
            "template": {"a b": "$name", "list": [{"x": 1}, "{{name}}"]},
        },
        "nullable": {"template": {"strict": None}},
    },
    "rules": [
        {"profile": "claude-4.8", "match": {"provider": "anthropic", "model": "/4-8/i"}},
        {"label": "Proxy", "match": {"provider": "my-proxy"}, "toolNumerator": "mine"},
    ],
}


@pytest.fixture
def pi_file() -> Path:
    file = Path(os.environ["HOME"]) / ".pi" / "agent" / "pi-contextimate.json"
    file.parent.mkdir(parents=True)
    file.write_bytes(msgspec.json.encode(CONFIG))
    return file


@pytest.fixture
def user_file() -> Path:
    file = Path(os.environ["XDG_CONFIG_HOME"]) / "ullage" / "config.toml"
    file.parent.mkdir(parents=True)
    return file


def call(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    status = main(["config", "import", *arguments])
    printed = capsys.readouterr()
    return status, printed.out, printed.err


def meant(file: Path) -> Heuristics:
    """What a file of the inspector says, with the template that our settings keep as a text decoded."""
    merged = merge_inspector_files([read_inspector_file(file)])
    shapes = merged.tool_shapes | {
        "nullable": msgspec.structs.replace(merged.tool_shapes["nullable"], template='{"strict":null}')
    }
    return msgspec.structs.replace(merged, tool_shapes=shapes)


def test_what_is_printed_is_a_settings_file_that_says_the_same(
    pi_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status, printed, said = call(capsys)
    file = tmp_path / "made.toml"
    file.write_text(printed)
    loaded = load_file(file)
    assert (status, said) == (0, "")
    assert loaded.problems == ()
    assert loaded.settings.accounting.heuristics == meant(pi_file)


def test_without_writing_nothing_is_changed(pi_file: Path, user_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    call(capsys)
    assert not user_file.exists()


def test_they_are_appended_with_a_backup(pi_file: Path, user_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = "# mine\n[server]\nport = 9000"
    user_file.write_text(before)
    status, printed, _ = call(capsys, "--write")
    backup = user_file.with_name("config.toml.ullage-backup")
    loaded = load_settings()
    assert status == 0
    assert printed.splitlines() == [f"written  {user_file}", f"backup   {backup}"]
    assert backup.read_text() == before
    assert user_file.read_text().startswith(before + "\n\n# Taken over")
    assert loaded.problems == ()
    assert loaded.settings.server.port == 9000
    assert loaded.settings.accounting.heuristics == meant(pi_file)


def test_a_new_file_has_no_backup_and_is_its_owner_s_alone(
    pi_file: Path, user_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _, printed, _ = call(capsys, "--write")
    assert printed == f"written  {user_file}\n"
    assert user_file.stat().st_mode & 0o777 == 0o600


def test_doing_it_twice_changes_nothing(pi_file: Path, user_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    call(capsys, "--write")
    first = user_file.read_text()
    status, printed, _ = call(capsys, "--write")
    assert (status, user_file.read_text()) == (0, first)
    assert printed.splitlines()[0] == f"nothing to write into {user_file}"
    assert "kept     [accounting.profiles.claude-4.8], which is there already" in printed


def test_what_the_user_has_set_is_not_touched(
    pi_file: Path, user_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    user_file.write_text(
        "[accounting.defaults]\ntext_denominator = 9\n[accounting.profiles.'claude-4.8']\ntext_denominator = 8\n"
    )
    _, printed, _ = call(capsys, "--write")
    accounting = load_settings().settings.accounting
    assert accounting.defaults.text_denominator == 9
    assert accounting.defaults.profile is None
    assert accounting.profiles["claude-4.8"].text_denominator == 8
    assert len(accounting.rules) == 2
    assert [line for line in printed.splitlines() if line.startswith("kept")] == [
        "kept     [accounting.defaults], which is there already",
        "kept     [accounting.profiles.claude-4.8], which is there already",
    ]


def test_a_file_that_cannot_be_appended_to_is_left_as_it_is(
    pi_file: Path, user_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = "[accounting]\nrules = []\n"
    user_file.write_text(text)
    status, _, said = call(capsys, "--write")
    assert (status, user_file.read_text()) == (1, text)
    assert "left as it is" in said
    assert "[[accounting.rules]]" in said


def test_a_broken_settings_file_is_not_appended_to(
    pi_file: Path, user_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    user_file.write_text("[accounting\n")
    status, _, said = call(capsys, "--write")
    assert (status, user_file.read_text()) == (1, "[accounting\n")
    assert "is not TOML" in said


def test_the_older_names_and_the_variables_are_read_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    home = Path(os.environ["HOME"]) / ".pi" / "agent"
    home.mkdir(parents=True)
    (home / "prefix-inspector.json").write_text('{"defaults": {"textDenominator": 5, "toolDenominator": 5}}')
    (tmp_path / "more.json").write_text('{"defaults": {"textDenominator": 6}}')
    monkeypatch.setenv("PI_PREFIX_INSPECTOR_CONFIG", f"{tmp_path}/more.json:{tmp_path}/none.json")
    status, printed, said = call(capsys)
    assert (status, said) == (0, "")
    assert printed.splitlines()[2:] == ["[accounting.defaults]", "text_denominator = 6", "tool_denominator = 5"]


def test_what_has_no_place_is_named_beside_the_output(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    good, bad = tmp_path / "good.json", tmp_path / "bad.json"
    good.write_text('{"defaultMode": "compact", "defaults": {"textDenominator": 5}}')
    bad.write_text("{")
    status, printed, said = call(capsys, str(good), str(bad), str(tmp_path / "none.json"))
    assert (status, "text_denominator = 5" in printed) == (0, True)
    assert said.splitlines() == [
        f"ullage: {good}: defaultMode has no place here",
        f"ullage: {bad} is not JSON: Input data was truncated",
        f"ullage: {tmp_path}/none.json is not there",
    ]


def test_no_file_at_all_is_told_and_files_that_were_named_are_wrong(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status, printed, said = call(capsys)
    assert (status, printed) == (0, "")
    assert "pi-contextimate.json" in said
    assert call(capsys, str(tmp_path / "none.json"))[0] == 1


def test_programs_get_all_of_it(pi_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    report = msgspec.json.decode(call(capsys, "--json")[1])
    assert report["files"][0] == {"file": str(pi_file), "kind": "inspector", "used": True, "skipped": None}
    assert report["files"][1]["skipped"] == "is not there"
    assert report["accounting"]["profiles"]["claude-4.8"]["text_denominator"] == 2.6
    assert "[[accounting.rules]]" in report["toml"]
    assert report["written"] is None


def test_a_file_that_held_nothing_to_take_over_is_status_1(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "odd.json"
    file.write_text('{"profiles": 5, "messages": []}')
    assert main(["config", "import", str(file)]) == 1
    assert capsys.readouterr().err


def test_a_number_beyond_all_bounds_in_a_template_stays_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "a.json"
    file.write_text('{"toolShapes": {"a": {"template": {"large": 1e400, "name": "$name"}}}}')
    made = tmp_path / "made.toml"
    made.write_text(call(capsys, str(file))[1])
    assert load_file(made).settings.accounting.tool_shapes["a"].template == {"large": float("inf"), "name": "$name"}
