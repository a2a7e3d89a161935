"""`ullage config import` of DS4's files: printed as settings, put into the user's file, nothing there changed."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import msgspec
import pytest

from ullage.cli import main
from ullage.core.privacy import RemoteProvider
from ullage.core.profiles.overrides import ModelOverride
from ullage.settings import load_file, load_settings

DATA = Path(__file__).resolve().parents[1] / "data" / "ds4"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder, a project of its own."""
    folder = tmp_path / "project"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def user_file() -> Path:
    file = Path(os.environ["XDG_CONFIG_HOME"]) / "ullage" / "config.toml"
    file.parent.mkdir(parents=True)
    return file


def call(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> tuple[int, str, str]:
    status = main(["config", "import", *map(str, arguments)])
    printed = capsys.readouterr()
    return status, printed.out, printed.err


def put(file: Path, data: dict[str, Any]) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(msgspec.json.encode(data))
    return file


def test_what_is_printed_is_a_settings_file_that_says_the_same(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status, printed, said = call(capsys, DATA / "global.json", DATA / "project.json")
    made = tmp_path / "made.toml"
    made.write_text(printed)
    loaded = load_file(made)
    assert (status, loaded.problems) == (0, ())
    assert printed.startswith(
        '# Taken over from the DS4 context engine.\n\nmode = "managed"\n\n[models]\nenabled = true\n'
    )
    assert (loaded.settings.mode, loaded.settings.planning.tail) == ("managed", "epoch-v1")
    assert (loaded.settings.calibration.method, loaded.settings.calibration.window) == ("ratio-v1", 48)
    assert loaded.settings.planning.recent_tail_tokens == 24_000
    assert loaded.settings.store.scope == "user"
    assert loaded.settings.models.overrides["*"] == ModelOverride(safety_margin_tokens=2_048)
    assert loaded.settings.models.overrides["openrouter/vendor/model"] == ModelOverride(max_project_tokens=8_000)
    assert "not yet here: retrieval.maxResults," in said
    assert "no counterpart here: enabled," in said


def test_without_a_file_both_places_are_read(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    put(
        Path(os.environ["HOME"]) / ".pi/agent/ds4-context.json",
        {"context": {"maxProjectTokens": 5, "recentTailTokens": 6}},
    )
    project = put(folder / ".pi/ds4-context.json", {"context": {"maxProjectTokens": 7}})
    status, printed, said = call(capsys)
    assert status == 0
    assert printed.splitlines()[2:] == [
        "[calibration]",
        'method = "ratio-v1"',
        "",
        "[planning]",
        "recent_tail_tokens = 6",
        "max_project_tokens = 7",
    ]
    assert said == f"ullage: {project} is of a project; here it is taken over for all of them\n"


def test_pi_s_folder_may_be_elsewhere(
    tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    put(tmp_path / "pi" / "ds4-context.json", {"context": {"maxProjectTokens": 5}})
    monkeypatch.setenv("PI_CODING_AGENT_DIR", str(tmp_path / "pi"))
    assert "max_project_tokens = 5" in call(capsys)[1]


def test_files_of_both_extensions_come_together(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    inspector = put(tmp_path / "a.json", {"defaults": {"textDenominator": 5}, "rules": [{"match": {"model": "/(/"}}]})
    ds4 = put(tmp_path / "b.json", {"modelAwareness": {"autoTune": True}})
    status, printed, said = call(capsys, inspector, ds4)
    assert status == 0
    assert printed.index('[calibration]\nmethod = "ratio-v1"\nauto_tune = true\n') < printed.index(
        "[accounting.defaults]"
    )
    assert "[[accounting.rules]]" not in printed
    assert "so its rule is left out: /(/" in said


def test_they_are_put_into_the_sections_that_are_there(
    user_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    user_file.write_text("[planning] # mine\nmax_project_tokens = 1\n\n[server]\nport = 9000\n")
    ds4 = put(
        tmp_path / "a.json",
        {
            "context": {"maxProjectTokens": 5, "recentTailTokens": 6},
            "modelAwareness": {"autoTune": True, "overrides": {"a/b": {"contextWindow": 7}}},
        },
    )
    status, printed, _ = call(capsys, ds4, "--write")
    assert status == 0
    assert "kept     planning.max_project_tokens, which is there already" in printed
    assert user_file.read_text() == (
        "[planning] # mine\nrecent_tail_tokens = 6\nmax_project_tokens = 1\n\n[server]\nport = 9000\n\n"
        "# Taken over from the DS4 context engine.\n\n"
        '[calibration]\nmethod = "ratio-v1"\nauto_tune = true\n\n'
        '[models.overrides."a/b"]\ncontext_window = 7\n'
    )
    assert load_settings().problems == ()


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", '# Taken over from the DS4 context engine.\n\nmode = "managed"\n\n[calibration]\nmethod = "ratio-v1"\n'),
        (
            '# Mine.\ndata_dir = "x"\n\n# The port.\n[server]\nport = 9000\n',
            (
                '# Mine.\ndata_dir = "x"\nmode = "managed"\n\n# The port.\n[server]\nport = 9000\n\n'
                '# Taken over from the DS4 context engine.\n\n[calibration]\nmethod = "ratio-v1"\n'
            ),
        ),
        (
            "# The port.\n[server]\nport = 9000\n",
            (
                'mode = "managed"\n\n# The port.\n[server]\nport = 9000\n\n'
                '# Taken over from the DS4 context engine.\n\n[calibration]\nmethod = "ratio-v1"\n'
            ),
        ),
        ("# Nothing yet.\n", 'mode = "managed"\n\n# Nothing yet.\n\n# Taken over from'),
        ('mode = "observe"\n', 'mode = "observe"\n\n# Taken over from the DS4 context engine.\n\n[calibration]\n'),
    ],
)
def test_the_mode_stands_before_the_first_section(
    before: str, after: str, user_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    user_file.write_text(before)
    status, _, _ = call(capsys, put(tmp_path / "a.json", {"context": {"mode": "managed"}}), "--write")
    assert status == 0
    assert user_file.read_text().startswith(after)
    assert load_settings().problems == ()


def test_doing_it_twice_changes_nothing(user_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    call(capsys, DATA / "global.json", "--write")
    first = user_file.read_text()
    status, printed, _ = call(capsys, DATA / "global.json", "--write")
    assert (status, user_file.read_text()) == (0, first)
    assert printed.splitlines()[0] == f"nothing to write into {user_file}"
    assert 'kept     [models.overrides."openai/gpt-4o"], which is there already' in printed
    assert load_settings().problems == ()


def test_what_would_contradict_the_user_s_own_values_is_left_out(
    user_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each is good by itself; together none of them would be used."""
    user_file.write_text("[planning]\nhard_limit_ratio = 0.82\n")
    ds4 = put(tmp_path / "a.json", {"context": {"softLimitRatio": 0.85, "maxProjectTokens": 5}})
    _, printed, _ = call(capsys, ds4, "--write")
    assert "left     planning.soft_limit_ratio = 0.85, which breaks planning.target_fill_ratio <=" in printed
    loaded = load_settings()
    assert loaded.problems == ()
    assert (loaded.settings.planning.hard_limit_ratio, loaded.settings.planning.max_project_tokens) == (0.82, 5)


@pytest.mark.parametrize("text", ["planning = {}\n", "planning.max_project_tokens = 1\n"])
def test_a_file_that_cannot_be_added_to_is_left_as_it_is(
    text: str, user_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    user_file.write_text(text)
    status, _, said = call(capsys, put(tmp_path / "a.json", {"context": {"recentTailTokens": 6}}), "--write")
    assert (status, user_file.read_text()) == (1, text)
    assert "left as it is" in said
    assert "[planning]\nrecent_tail_tokens = 6" in said


def test_a_file_with_nothing_to_take_over_is_status_1(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, printed, said = call(capsys, put(tmp_path / "a.json", {"retrieval": {"exact": True}}))
    assert (status, printed) == (1, "")
    assert "not yet here: retrieval.exact" in said


def test_programs_get_all_of_it(capsys: pytest.CaptureFixture[str]) -> None:
    report = msgspec.json.decode(call(capsys, DATA / "global.json", "--json")[1])
    assert report["files"] == [{"file": str(DATA / "global.json"), "kind": "ds4", "used": True, "skipped": None}]
    assert report["values"]["calibration.window"] == 48
    assert report["overrides"]["ollama/*"] == {"recent_tail_tokens": 16_000}
    assert "[models.overrides" in report["toml"]
    assert report["remote_providers"] == {"openrouter": {"allowed": ["normal"]}}
    assert (report["samples"], report["written"], len(report["notes"])) == ([], None, 3)


def test_a_provider_that_is_called_otherwise_here_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    overrides = {key: {"contextWindow": 1} for key in ("*", "ollama/*", "openrouter/vendor/model")}
    said = call(capsys, put(tmp_path / "a.json", {"modelAwareness": {"overrides": overrides}}))[2]
    assert said == (
        "ullage: no provider is called ollama here; a server of your own goes by host and port, as 127.0.0.1:11434\n"
    )


def test_names_in_a_file_do_not_drive_a_terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = {"context": {"\x1b[31m": 1}, "modelAwareness": {"overrides": {"a/\x1b[31m": {"contextWindow": 1}}}}
    _, printed, said = call(capsys, put(tmp_path / "a.json", data))
    assert "\x1b" not in printed + said


def test_a_copy_under_another_name_is_known_by_its_content(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    copy = shutil.copy(DATA / "project.json", tmp_path / "pi-contextimate.json")
    assert "recent_tail_tokens = 24000" in call(capsys, copy)[1]


POLICY = {
    "enabled": True,
    "defaultClassification": "internal",
    "localProviders": ["ollama", "box", "box.lan:8000"],
    "remoteDefaultAllowed": ["normal"],
    "remoteProviders": {"openrouter": ["normal", "internal"], "openai": []},
    "redactSecrets": True,
}


def test_a_policy_of_privacy_is_put_into_the_file_whole(
    user_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = put(tmp_path / "a.json", {"privacy": POLICY})
    status, _, said = call(capsys, file, "--write")
    assert (status, said) == (
        0,
        "ullage: no provider is called box here; a server of your own goes by host and port, as 127.0.0.1:11434\n",
    )
    assert user_file.read_text() == (
        "# Taken over from the DS4 context engine.\n\n"
        '[calibration]\nmethod = "ratio-v1"\n\n'
        '[privacy]\nenabled = true\ndefault_classification = "internal"\n'
        'local_providers = ["ollama", "box", "box.lan:8000"]\nremote_default_allowed = ["normal"]\nredact_secrets = true\n\n'
        '[privacy.remote_providers.openrouter]\nallowed = ["normal", "internal"]\n\n'
        "[privacy.remote_providers.openai]\nallowed = []\n"
    )
    loaded = load_settings()
    assert loaded.problems == ()
    assert loaded.settings.privacy.remote_providers["openai"] == RemoteProvider()
    first = user_file.read_text()
    _, printed, _ = call(capsys, file, "--write")
    assert user_file.read_text() == first
    assert "kept     privacy.enabled, which is there already" in printed
    assert "kept     [privacy.remote_providers.openai], which is there already" in printed
    assert "left" not in printed


@pytest.mark.parametrize(
    ("broken", "why"),
    [
        ({"enable": True}, "not all that {file} says of it can be used"),
        ({"remoteProviders": {"my-proxy": []}}, "no provider is called my-proxy here"),
    ],
)
def test_of_a_policy_that_cannot_be_taken_whole_nothing_is(
    broken: dict[str, Any], why: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = put(tmp_path / "a.json", {"privacy": POLICY | broken, "context": {"maxProjectTokens": 5}})
    status, printed, said = call(capsys, file)
    assert status == 0
    assert "max_project_tokens = 5" in printed
    assert "privacy" not in printed
    told = why.format(file=file)
    assert f"ullage: nothing of DS4's privacy is taken over: {told}; set [privacy] yourself\n" in said


@pytest.mark.parametrize("mine", ["[privacy]\nenabled = true\n", '[privacy.remote_providers]\nopenai = ["normal"]\n'])
def test_nothing_is_added_to_a_policy_of_one_s_own(
    mine: str, user_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Secrets would no longer be withheld."""
    user_file.write_text(mine)
    data = {"privacy": {"redactSecrets": False, "remoteProviders": {"openai": ["sensitive"]}}}
    _, printed, _ = call(capsys, put(tmp_path / "a.json", data), "--write")
    assert "left     [privacy], of which you have set something: set the rest yourself" in printed
    assert user_file.read_text().startswith(f"{mine}\n# Taken over")
    assert load_settings().settings.privacy.redact_secrets
    assert "redact_secrets" not in user_file.read_text()


def test_nothing_is_added_to_a_policy_that_cannot_be_used(
    user_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    user_file.write_text('[privacy]\nenabled = "yes"\n')
    _, printed, _ = call(capsys, put(tmp_path / "a.json", {"privacy": {"redactSecrets": False}}), "--write")
    assert "left     [privacy], of which you have set something: set the rest yourself" in printed
    assert "redact_secrets" not in user_file.read_text()
