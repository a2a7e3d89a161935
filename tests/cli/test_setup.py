"""`ullage setup` in a sealed home: what it prints, writes, and takes back."""

from __future__ import annotations

import stat
import tomllib
from pathlib import Path
from typing import Any

import msgspec
import pytest

from ullage.cli import main
from ullage.cli.setup.clients import CLIENTS

GATEWAY = "http://127.0.0.1:8484"

# The file that decides, for each client, with something of the user's in it and none of our keys.
FILES: dict[str, tuple[str, str]] = {
    "claude-code": (
        ".claude/settings.json",
        '{\n    "model": "opus",\n    "env": {"FOO": "1"},\n    "permissions": { "allow": ["Bash(ls:*)"] }\n}\n',
    ),
    "codex": (".codex/config.toml", '# mine\nmodel = "gpt-5"  # the good one\n\n[tools]\nweb_search = true\n'),
    "pi": (".pi/agent/models.json", '{"providers": {"ollama": {"baseUrl": "http://localhost:11434/v1"}}}'),
    "opencode": (
        "config/opencode/opencode.json",
        '{\n\t"$schema": "https://opencode.ai/config.json",\n\t"theme": "system"\n}\n',
    ),
    "aider": (".aider.conf.yml", "## mine\nmodel: sonnet # default\nset-env:\n  - AIDER_X=1\nread:\n  - NOTES.md\n"),
    "gemini-cli": (".gemini/.env", "# mine\nGEMINI_API_KEY=k"),
}


@pytest.fixture
def home() -> Path:
    return Path.home()


@pytest.fixture(params=list(CLIENTS))
def client(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def setup(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    status = main(["setup", *arguments])
    printed = capsys.readouterr()
    return status, printed.out, printed.err


def setup_json(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    status, out, _ = setup(capsys, *arguments, "--json")
    assert status == 0
    return msgspec.json.decode(out)


def put(home: Path, client: str, text: str | None = None) -> Path:
    name, mine = FILES[client]
    file = home / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(mine if text is None else text)
    return file


def tree(home: Path) -> dict[str, bytes]:
    return {str(path.relative_to(home)): path.read_bytes() for path in home.rglob("*") if path.is_file()}


def test_without_a_word_it_only_prints(client: str, home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    put(home, client)
    before = tree(home)
    status, out, _ = setup(capsys, client)
    assert status == 0
    assert GATEWAY in out
    assert "--write" in out
    assert tree(home) == before


def test_what_it_writes_is_what_it_prints(client: str, home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    printed = {file["file"]: file["snippet"] + "\n" for file in setup_json(capsys, client)["files"]}
    setup(capsys, client, "--write")
    assert printed == {name: Path(name).read_text() for name in printed}


def test_writing_into_a_file_keeps_every_line_of_it(
    client: str, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = put(home, client)
    assert setup(capsys, client, "--write")[0] == 0
    written = file.read_text()
    assert GATEWAY in written
    left = iter(written)
    assert all(sign in left for sign in FILES[client][1])  # the old text, in order, with ours between


def test_writing_twice_changes_nothing_more(client: str, home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    put(home, client)
    setup(capsys, client, "--write")
    before = tree(home)
    _, out, _ = setup(capsys, client, "--write")
    assert out.startswith("Nothing to do")
    assert tree(home) == before


def test_undo_leaves_everything_as_it_was_to_the_byte(
    client: str, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    put(home, client)
    before = tree(home)
    setup(capsys, client, "--write")
    setup(capsys, client, "--write", "--url", "http://127.0.0.1:9999")
    assert setup(capsys, client, "--undo")[0] == 0
    assert tree(home) == before


def test_undo_removes_files_that_were_not_there(client: str, home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    setup(capsys, client, "--write")
    assert tree(home)
    setup(capsys, client, "--undo")
    assert tree(home) == {}


def test_undo_without_a_write_does_nothing(client: str, home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    put(home, client)
    before = tree(home)
    status, out, _ = setup(capsys, client, "--undo")
    assert (status, out.startswith("Nothing to undo")) == (0, True)
    assert tree(home) == before


def test_the_backup_is_the_file_as_it_was_and_its_owners_alone(
    client: str, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = put(home, client)
    file.chmod(0o644)
    setup(capsys, client, "--write")
    backup = file.with_name(f"{file.name}.ullage-backup")
    assert backup.read_text() == FILES[client][1]
    assert stat.S_IMODE(backup.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.stat().st_mode) == 0o644


def test_a_new_file_is_its_owners_alone(client: str, home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    setup(capsys, client, "--write")
    assert {stat.S_IMODE(path.stat().st_mode) for path in home.rglob("*") if path.is_file()} == {0o600}


def test_an_older_backup_is_not_overwritten(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = put(home, "codex")
    file.with_name("config.toml.ullage-backup").write_text("precious")
    setup(capsys, "codex", "--write")
    assert file.with_name("config.toml.ullage-backup").read_text() == "precious"
    assert file.with_name("config.toml.ullage-backup-2").read_text() == FILES["codex"][1]


def test_a_value_that_was_there_comes_back_and_later_edits_stay(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = put(home, "codex", 'openai_base_url = "http://old/v1" # mine\n\n[tools]\nweb_search = true\n')
    setup(capsys, "codex", "--write")
    assert tomllib.loads(file.read_text())["openai_base_url"] == f"{GATEWAY}/v1"
    file.write_text(file.read_text().replace("true", "false") + "# later\n")
    _, out, _ = setup(capsys, "codex", "--undo")
    assert "restored openai_base_url = http://old/v1" in out
    assert file.read_text() == 'openai_base_url = "http://old/v1" # mine\n\n[tools]\nweb_search = false\n# later\n'


def test_later_edits_of_json_stay_too(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = put(home, "claude-code", '{\n  "env": {\n    "ANTHROPIC_BASE_URL": "http://old"\n  }\n}\n')
    setup(capsys, "claude-code", "--write")
    settings = msgspec.json.decode(file.read_bytes())
    settings["model"] = "haiku"
    settings["env"]["BAR"] = "2"
    file.write_bytes(msgspec.json.encode(settings))
    setup(capsys, "claude-code", "--undo")
    assert msgspec.json.decode(file.read_bytes()) == {
        "env": {"ANTHROPIC_BASE_URL": "http://old", "BAR": "2"},
        "model": "haiku",
    }


def test_a_key_that_the_user_changed_since_is_left_alone(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = put(home, "codex")
    setup(capsys, "codex", "--write")
    file.write_text(file.read_text().replace(GATEWAY, "http://mine"))
    _, out, _ = setup(capsys, "codex", "--undo")
    assert "left     openai_base_url, changed since to http://mine/v1" in out
    assert 'openai_base_url = "http://mine/v1"' in file.read_text()


def test_what_the_user_set_between_two_writes_is_what_undo_brings_back(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = put(home, "codex")
    setup(capsys, "codex", "--write")
    file.write_text(file.read_text().replace(GATEWAY, "http://mine"))
    setup(capsys, "codex", "--write")
    setup(capsys, "codex", "--undo")
    assert tomllib.loads(file.read_text())["openai_base_url"] == "http://mine/v1"


def test_a_file_deleted_since_stays_deleted(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = put(home, "codex")
    setup(capsys, "codex", "--write")
    file.unlink()
    assert setup(capsys, "codex", "--undo")[0] == 0
    assert not file.exists()


def test_a_link_stays_a_link(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    real = home / "dotfiles" / "settings.json"
    real.parent.mkdir()
    real.write_text("{}\n")
    link = home / ".claude" / "settings.json"
    link.parent.mkdir()
    link.symlink_to(real)
    setup(capsys, "claude-code", "--write")
    assert link.is_symlink()
    assert GATEWAY in real.read_text()


@pytest.mark.parametrize(
    ("client", "text", "said"),
    [
        ("claude-code", '{\n  // mine\n  "env": {}\n}', ":2 has comments or trailing commas"),
        ("claude-code", '{"env": ', ":1 is not valid JSON"),
        ("claude-code", '{"env": "none"}', ":1 env is not an object"),
        ("pi", "[]", ":1 the file is not an object"),
        ("codex", "a = 1\nb = [\n", ":3 is not TOML"),
        ("aider", "set-env: [A=1]\n", ":1 set-env is not a list with one item a line"),
        ("aider", "openai-api-base: |\n  x\n", ":1 openai-api-base is not one plain value"),
        ("gemini-cli", "\udcff", " is not UTF-8 text"),
    ],
)
def test_a_file_that_cannot_be_edited_is_left_alone_with_what_to_paste(
    client: str, text: str, said: str, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = put(home, client, "")
    file.write_bytes(text.encode("utf-8", "surrogateescape"))
    before = tree(home)
    status, out, err = setup(capsys, client, "--write")
    assert (status, out) == (1, "")
    assert f"{file}{said}" in err
    assert GATEWAY in err
    assert tree(home) == before


def test_an_opencode_file_with_comments_in_its_name_is_the_one_that_counts(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = home / "config" / "opencode" / "opencode.jsonc"
    file.parent.mkdir(parents=True)
    file.write_text("{ /* mine */ }")
    status, _, err = setup(capsys, "opencode", "--write")
    assert status == 1
    assert f"{file}:1 has comments" in err


def test_undo_of_a_file_broken_since_takes_nothing_back_and_names_the_backup(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = put(home, "claude-code")
    setup(capsys, "claude-code", "--write")
    file.write_text("{")
    status, _, err = setup(capsys, "claude-code", "--undo")
    assert status == 1
    assert f"{file.name}.ullage-backup" in err
    assert file.read_text() == "{"


def test_a_record_that_cannot_be_read_is_told(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    setup(capsys, "codex", "--write")
    record = home / "data" / "ullage" / "setup" / "codex.json"
    record.write_text("{")
    status, _, err = setup(capsys, "codex", "--undo")
    assert (status, str(record) in err) == (1, True)


def test_the_address_comes_from_the_settings(
    home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ULLAGE_SERVER__PORT", "9001")
    monkeypatch.setenv("ULLAGE_SERVER__HOST", "::1")
    assert setup_json(capsys, "codex")["url"] == "http://[::1]:9001"
    assert setup_json(capsys, "codex", "--url", "https://localhost:9/v1/")["url"] == "https://localhost:9"


def test_an_address_that_is_not_known_is_a_wrong_call(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ULLAGE_SERVER__PORT", "0")
    status, _, err = setup(capsys, "codex")
    assert (status, "--url" in err) == (2, True)


@pytest.mark.parametrize(
    "url",
    [
        "here",
        "https://gw.example",
        "http://0.0.0.0:8484",
        "http://192.168.1.7:8484",
        "http://127.0.0.1.evil.example",
        "http://me:sesame@127.0.0.1:8484",
        "http://127.0.0.1@evil.example",
        "http://127.0.0.1:8484/?a=sesame",
        "http://127.0.0.1:port",
        "http://[::1",
        "ftp://127.0.0.1",
    ],
)
@pytest.mark.parametrize("action", [[], ["--write"]])
def test_a_client_is_only_pointed_at_this_machine(
    home: Path, url: str, action: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    status, out, err = setup(capsys, "codex", "--url", url, *action)
    assert (status, out) == (2, "")
    assert "of this machine" in err
    assert "hint: For example --url http://127.0.0.1:8484." in err
    assert "sesame" not in err
    assert tree(home) == {}


def test_writing_and_undoing_at_once_is_a_wrong_call(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, _, err = setup(capsys, "codex", "--write", "--undo")
    assert (status, "exclude each other" in err) == (2, True)
    assert tree(home) == {}


def test_every_folder_it_makes_is_the_users_alone(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = {path for path in home.rglob("*") if path.is_dir()}
    assert setup(capsys, "opencode", "--write")[0] == 0
    made = {path for path in home.rglob("*") if path.is_dir()} - before
    assert home / "data" / "ullage" in made
    assert {stat.S_IMODE(path.stat().st_mode) for path in made} == {0o700}


@pytest.mark.parametrize("arguments", [["cursor"], []])
def test_a_wrong_call_is_told(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert setup(capsys, *arguments)[0] == 2


@pytest.mark.parametrize(
    ("text", "status"),
    [
        (None, "unset"),
        ('{"providers": {"openai": {"baseUrl": "http://127.0.0.1:8484/v1"}}}', "partly"),
        ('{"providers": {"openai": {"baseUrl": "http://elsewhere/v1"}}}', "other"),
        ("{", "unreadable"),
    ],
)
def test_the_page_says_how_things_stand(
    text: str | None, status: str, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if text is not None:
        put(home, "pi", text)
    assert setup_json(capsys, "pi")["status"] == status
    assert setup(capsys, "pi")[0] == 0


def test_claude_code_keeps_its_tool_search_only_on_the_way_to_anthropic(
    home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "ENABLE_TOOL_SEARCH" in setup(capsys, "claude-code")[1].split("- ")[0]
    monkeypatch.setenv("ULLAGE_UPSTREAMS__ANTHROPIC", "http://other.example")
    assert "ENABLE_TOOL_SEARCH" not in setup(capsys, "claude-code")[1].split("- ")[0]


def test_a_choice_of_the_users_own_stays(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = put(home, "claude-code", '{"env": {"ENABLE_TOOL_SEARCH": "auto:5"}}')
    setup(capsys, "claude-code", "--write")
    assert msgspec.json.decode(file.read_bytes())["env"]["ENABLE_TOOL_SEARCH"] == "auto:5"


def test_pi_is_asked_to_name_its_session_and_that_is_taken_back(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = '{"providers": {"anthropic": {"compat": {"supportsMessageThreads": false}}}}'
    file = put(home, "pi", before)
    steps = setup_json(capsys, "pi", "--write")["steps"]
    assert msgspec.json.decode(file.read_bytes())["providers"]["anthropic"] == {
        "compat": {"supportsMessageThreads": False, "sendSessionAffinityHeaders": True},
        "baseUrl": GATEWAY,
    }
    assert steps[-1]["key"].endswith("compat.sendSessionAffinityHeaders")
    assert (steps[-1]["value"], steps[-1]["before"]) == ("true", None)
    file.write_text(file.read_text() + "\n")  # no longer what was written, so it is undone key by key
    setup(capsys, "pi", "--undo")
    assert msgspec.json.decode(file.read_bytes()) == msgspec.json.decode(before)


def test_a_session_header_that_the_user_does_not_want_stays_out(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = '{"providers": {"anthropic": {"compat": {"sendSessionAffinityHeaders": false}}}}'
    file = put(home, "pi", text)
    report = setup_json(capsys, "pi", "--write")
    anthropic = msgspec.json.decode(file.read_bytes())["providers"]["anthropic"]
    assert anthropic["compat"] == {"sendSessionAffinityHeaders": False}
    assert (report["status"], report["steps"][-1]["action"], report["steps"][-1]["value"]) == ("set", "kept", "false")


def test_a_truth_value_in_the_place_of_an_address_is_replaced(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = put(home, "pi", '{"providers": {"openai": {"baseUrl": true}}}')
    setup(capsys, "pi", "--write")
    assert msgspec.json.decode(file.read_bytes())["providers"]["openai"]["baseUrl"] == f"{GATEWAY}/v1"


@pytest.mark.parametrize(
    ("variable", "client", "name"),
    [
        ("CLAUDE_CONFIG_DIR", "claude-code", "settings.json"),
        ("CODEX_HOME", "codex", "config.toml"),
        ("PI_CODING_AGENT_DIR", "pi", "models.json"),
        ("XDG_CONFIG_HOME", "opencode", "opencode/opencode.json"),
        ("GEMINI_CLI_HOME", "gemini-cli", ".gemini/.env"),
    ],
)
def test_a_client_that_was_moved_is_found(
    variable: str,
    client: str,
    name: str,
    home: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv(variable, str(home / "moved"))
    setup(capsys, client, "--write")
    assert (home / "moved" / name).is_file()


def test_the_report_for_programs_says_what_was_done(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    report = setup_json(capsys, "codex", "--write")
    assert (report["action"], report["status"]) == ("write", "set")
    assert report["steps"] == [
        {
            "file": str(home / ".codex" / "config.toml"),
            "key": "openai_base_url",
            "action": "set",
            "value": f"{GATEWAY}/v1",
            "before": None,
        }
    ]
    assert setup_json(capsys, "codex", "--undo")["status"] == "unset"
