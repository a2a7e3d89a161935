"""`ullage pi install|uninstall|status`: in place whole or not at all, and gone without a trace."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from ullage.cli import main


@pytest.fixture
def agent(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Pi's folder of the user, which Pi has not made yet; the working folder is a project."""
    (tmp_path / "project").mkdir()
    monkeypatch.chdir(tmp_path / "project")
    return tmp_path / "home" / ".pi" / "agent"


def files(folder: Path) -> set[str]:
    return {str(file.relative_to(folder)) for file in folder.rglob("*")}


def test_the_extension_lies_where_pi_finds_it(agent: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["pi", "install"]) == 0
    folder = agent / "extensions" / "ullage"
    assert f"Installed: {folder}" in capsys.readouterr().out
    assert (folder / "index.ts").is_file()
    assert json.loads((folder / "package.json").read_text())["pi"] == {"extensions": ["./index.ts"]}
    record = json.loads((folder / "install.json").read_text())
    assert record["address"].endswith("/ullage/daemon.json")
    assert record["command"][1:] == ["-m", "ullage"]


def test_for_a_project_it_lies_in_the_project(agent: Path) -> None:
    assert main(["pi", "install", "--project"]) == 0
    assert Path(".pi/extensions/ullage/index.ts").is_file()
    assert not agent.exists()


def test_pi_s_own_folder_may_be_another(agent: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PI_CODING_AGENT_DIR", str(tmp_path / "elsewhere"))
    assert main(["pi", "install"]) == 0
    assert (tmp_path / "elsewhere" / "extensions" / "ullage" / "index.ts").is_file()


def test_oh_my_pi_has_folders_of_its_own(agent: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = files(tmp_path)
    folder = tmp_path / "home" / ".omp" / "agent" / "extensions" / "ullage"
    assert main(["pi", "install", "--host", "omp"]) == 0
    assert capsys.readouterr().out.splitlines() == [f"Installed: {folder}", "Start Oh My Pi; then /ullage."]
    assert json.loads((folder / "install.json").read_text())["again"] == "ullage pi install --host omp"
    assert main(["pi", "uninstall", "--host", "omp"]) == 0
    assert files(tmp_path) == before
    assert main(["pi", "install", "--host", "omp", "--project"]) == 0
    Path(".omp/extensions/ullage/index.ts").write_text("// older")
    capsys.readouterr()
    assert main(["pi", "status"]) == 1
    told = capsys.readouterr().out
    assert "user: not installed" in told and "omp, project: " in told
    assert "run `ullage pi install --host omp`" in told


def test_what_is_in_place_is_left_alone(agent: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["pi", "install"])
    before = (agent / "extensions" / "ullage" / "index.ts").stat().st_ino
    capsys.readouterr()
    assert main(["pi", "install", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["changed"] is False
    assert (agent / "extensions" / "ullage" / "index.ts").stat().st_ino == before


def test_an_older_one_is_replaced_without_a_backup(agent: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import ullage.cli.pi.place as place

    ours = place.our_files()
    monkeypatch.setattr(place, "our_files", lambda: {**ours, "gone.ts": b"old"})
    main(["pi", "install"])
    monkeypatch.setattr(place, "our_files", lambda: ours)
    assert main(["pi", "install"]) == 0
    assert not (agent / "extensions" / "ullage" / "gone.ts").exists()
    assert files(agent) == {"extensions", "extensions/ullage", *(f"extensions/ullage/{name}" for name in ours)} | {
        "extensions/ullage/install.json"
    }


def test_nothing_is_left_of_it_once_it_is_gone(agent: Path, tmp_path: Path) -> None:
    before = files(tmp_path)
    main(["pi", "install"])
    assert main(["pi", "uninstall"]) == 0
    assert files(tmp_path) == before
    assert main(["pi", "uninstall"]) == 0


def test_what_pi_has_of_its_own_stays(agent: Path) -> None:
    (agent / "extensions" / "other").mkdir(parents=True)
    (agent / "settings.json").write_text("{}")
    before = files(agent)
    main(["pi", "install"])
    main(["pi", "uninstall"])
    assert files(agent) == before


def test_what_stood_in_our_place_is_kept_and_comes_back(agent: Path, capsys: pytest.CaptureFixture[str]) -> None:
    theirs = agent / "extensions" / "ullage"
    theirs.mkdir(parents=True)
    (theirs / "index.ts").write_text("// theirs")
    before = files(agent)
    assert main(["pi", "install"]) == 0
    assert "What stood there is in" in capsys.readouterr().out
    assert len(list((agent / "extensions").iterdir())) == 1  # Pi would load the backup, too
    assert main(["pi", "uninstall"]) == 0
    assert (files(agent), (theirs / "index.ts").read_text()) == (before, "// theirs")


def test_what_was_changed_since_is_not_thrown_away(agent: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["pi", "install"])
    index = agent / "extensions" / "ullage" / "index.ts"
    index.write_text("// mine")
    assert main(["pi", "uninstall"]) == 2
    assert "was changed" in capsys.readouterr().err
    main(["pi", "install"])
    (backup,) = (agent / "extensions.ullage-backup").iterdir()
    assert (backup / "index.ts").read_text() == "// mine"
    assert str(backup) in capsys.readouterr().out
    assert main(["pi", "uninstall"]) == 0
    assert not index.exists() and (backup / "index.ts").exists()  # that is ours, too, and none of it is to run


def test_what_stood_in_our_place_comes_back_although_ours_was_changed(
    agent: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    index = agent / "extensions" / "ullage" / "index.ts"
    index.parent.mkdir(parents=True)
    index.write_text("// theirs")
    main(["pi", "install"])
    index.write_text("// mine")
    main(["pi", "install"])
    assert main(["pi", "uninstall"]) == 0
    assert "What stood there before is back." in capsys.readouterr().out
    assert index.read_text() == "// theirs"


def test_every_backup_has_a_name_of_its_own(agent: Path) -> None:
    for text in ("// first", "// second", "// third"):
        main(["pi", "install"])
        (agent / "extensions" / "ullage" / "index.ts").write_text(text)
    kept = agent / "extensions.ullage-backup"
    shutil.rmtree(kept / "ullage-1")
    assert main(["pi", "install"]) == 0
    assert {(one / "index.ts").read_text() for one in kept.iterdir()} == {"// second", "// third"}


def test_a_folder_that_is_not_ours_is_not_removed(agent: Path) -> None:
    (agent / "extensions" / "ullage").mkdir(parents=True)
    assert main(["pi", "uninstall"]) == 2
    assert (agent / "extensions" / "ullage").is_dir()


def test_one_that_does_the_same_work_is_told_of(agent: Path, capsys: pytest.CaptureFixture[str]) -> None:
    agent.mkdir(parents=True)
    (agent / "settings.json").write_text('{"packages": ["npm:pi-auto-model"]}')
    main(["pi", "install"])
    assert "Warning: pi-auto-model is installed, too" in capsys.readouterr().out


def test_the_status_says_what_fits(agent: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["pi", "status"]) == 0
    assert "user: not installed" in capsys.readouterr().out
    main(["pi", "install"])
    (agent / "extensions" / "ullage" / "index.ts").write_text("// older")
    capsys.readouterr()
    assert main(["pi", "status"]) == 1
    assert "run `ullage pi install`" in capsys.readouterr().out
    assert main(["pi", "status", "--json"]) == 1
    told = json.loads(capsys.readouterr().out)
    assert [one["installed"] for one in told["places"]] == [True, False]
    assert told["daemon"] == {"running": False}


def test_settings_of_an_extension_that_ours_replaces_come_along(
    agent: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    agent.mkdir(parents=True)
    (agent / "auto-model.json").write_text('{"policy": "cost"}')
    assert main(["pi", "install"]) == 0
    assert "Taken over from auto-model.json" in capsys.readouterr().out
    ours = tmp_path / "home" / "config" / "ullage" / "config.toml"
    assert 'policy = "cost"' in ours.read_text()
    ours.write_text("")
    assert main(["pi", "install"]) == 0
    assert "`ullage config import` shows them" in capsys.readouterr().out
    assert not ours.read_text()
