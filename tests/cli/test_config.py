"""`ullage config`: what it prints and what it makes of a wrong file."""

from __future__ import annotations

import os
import tomllib
from pathlib import Path
from typing import Any

import msgspec
import pytest

from ullage.cli import main
from ullage.core.profiles.overrides import ModelOverride
from ullage.settings import DEFAULT_UPSTREAMS, Settings, load_settings


@pytest.fixture
def user_file() -> Path:
    file = Path(os.environ["XDG_CONFIG_HOME"]) / "ullage" / "config.toml"
    file.parent.mkdir(parents=True)
    return file


def call(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    status = main(["config", *arguments])
    printed = capsys.readouterr()
    return status, printed.out, printed.err


def call_json(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    return msgspec.json.decode(call(capsys, *arguments, "--json")[1])


def test_what_show_prints_is_a_settings_file_that_says_the_same(
    user_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    user_file.write_text("server.port = 9000\nupstreams.openai = 'http://h/v1'\n")
    status, shown, _ = call(capsys, "show", "--sources")
    before = load_settings().settings
    user_file.write_text(shown)
    after = load_settings()
    assert status == 0
    assert after.problems == ()
    assert after.settings.server == before.server
    assert after.settings.upstreams == DEFAULT_UPSTREAMS | before.upstreams


ROUTING = """
[providers.corp]
url = "https://llm.corp.example"
dialects = ["openai-chat"]
key = "env:CORP_KEY"
[routing]
models = ["corp/*"]
[routing.constraints]
model_exclude = ["*-preview"]
[routing.aliases."my/cheap"]
policy = "cost"
[routing.targets."corp/gpt-5.4"]
aa = 50.5
[routing.pools.work]
targets = { "corp/gpt-5.4" = 1.5 }
[[routing.rules]]
name = "hotfix"
when = { kinds = ["debug"], prompt_matches = 'down|\\d+' }
then = { minimum_tier = "strong" }
[[routing.rules]]
name = "always"
then = { prefer = ["corp/*"] }
[routing.scenarios]
vision = "cost"
[routing.quota.providers.corp]
max_usd = 1
"""


def test_what_show_prints_of_routing_is_a_settings_file_that_says_the_same(
    user_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    user_file.write_text(ROUTING)
    _, shown, err = call(capsys, "show", "--sources")
    made = tmp_path / "made.toml"
    made.write_text(shown)
    own, again = load_settings(), load_settings(config=made)
    assert (err, own.problems, again.problems) == ("", (), ())
    assert (again.settings.routing, again.settings.providers) == (own.settings.routing, own.settings.providers)
    headers = {line.split("#")[0].strip(): line for line in shown.splitlines() if line.startswith("[")}
    assert headers["[providers.corp]"].endswith(f"# {user_file}:3")
    assert headers['[routing.aliases."my/cheap"]'].endswith(f"# {user_file}:11")


def test_the_schema_has_the_fields_of_rules_and_providers(capsys: pytest.CaptureFixture[str]) -> None:
    definitions = msgspec.json.decode(call(capsys, "schema")[1])["$defs"]
    assert set(definitions["RuleSettings"]["properties"]) == {"name", "when", "then"}
    assert definitions["Settings"]["properties"]["providers"]["additionalProperties"]["$ref"].endswith(
        "ProviderSettings"
    )
    assert definitions["ClassifierSettings"]["properties"]["timeout_ms"]["maximum"] == 2_000
    scenario = definitions["RoutingSettings"]["properties"]["scenarios"]["additionalProperties"]["anyOf"]
    assert [form.get("type") for form in scenario] == [None, "string", "array"]
    assert definitions["ActionSettings"]["properties"]["only"]["anyOf"][1] == {"type": "string"}


def test_show_has_every_setting_and_its_source_behind_it(user_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    user_file.write_text("[server]\nport = 9000\n")
    _, shown, _ = call(capsys, "show", "--sources")
    lines = shown.splitlines()
    assert next(line for line in lines if line.startswith("port ")).endswith(f"# {user_file}:2")
    assert next(line for line in lines if line.startswith("mode ")).endswith("# default")
    tables_alone = {"providers"}
    assert set(tomllib.loads(shown)) == set(Settings.__struct_fields__) - tables_alone


def test_show_names_what_it_could_not_use_beside_its_output(
    user_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    user_file.write_text("server.prot = 1\n")
    status, shown, said = call(capsys, "show")
    assert (status, tomllib.loads(shown)["server"]["port"]) == (0, 8484)
    assert said == f"ullage: {user_file}:1: server.prot is not a setting. Did you mean server.port?\n"


def test_show_for_programs_has_values_sources_problems_and_paths(
    user_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    user_file.write_text("server.port = 9000\nserver.prot = 1\n")
    report = call_json(capsys, "show")
    assert report["settings"]["server"]["port"] == 9000
    assert report["settings"]["upstreams"] == DEFAULT_UPSTREAMS
    assert report["sources"]["server.port"] == {"kind": "user", "file": str(user_file), "line": 1}
    assert report["sources"]["mode"] == {"kind": "default"}
    assert report["problems"][0]["code"] == "unknown_key"
    assert report["paths"]["user_file"] == str(user_file)


def test_check_is_content_with_a_good_file(user_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    user_file.write_text("server.port = 9000\n")
    assert call(capsys, "check") == (0, f"No problems. Checked: {user_file}, the variables ULLAGE_….\n", "")
    assert call(capsys, "check", str(user_file)) == (0, f"No problems. Checked: {user_file}.\n", "")


def test_check_says_where_it_looked(
    user_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    missing = f"No problems. Checked: {user_file} (not there), the variables ULLAGE_….\n"
    assert call(capsys, "check") == (0, missing, "")
    project = tmp_path / ".ullage.toml"
    project.write_text("")
    assert f"(not there), {project}, the" in call(capsys, "check")[1]


@pytest.mark.parametrize(
    "url",
    ["postgresql://me:sesame@db/x", "postgresql://db/x?password=sesame", "me:sesame@db", "sqlite://sesame@x"],
)
def test_an_address_with_a_password_in_it_is_not_repeated(
    url: str, user_file: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    user_file.write_text(
        f'store.url = "{url}"\nserver.host = "{url}"\nserver.port = "{url}"\nupstreams.gemini = "{url}"\n'
    )
    monkeypatch.setenv("ULLAGE_STORE__URL", url)
    monkeypatch.setenv("ULLAGE_MODE", url)
    status, said, _ = call(capsys, "check")
    assert (status, len(said.splitlines())) == (1, 6)
    assert "sesame" not in said
    assert f"{user_file}:1: store.url must be one of sqlite, sqlite:///PATH, memory, not an address" in said
    assert "sesame" not in call(capsys, "check", "--json")[1]
    assert "sesame" not in "".join(call(capsys, "show")[1:])
    for option in (["--store", url], ["--upstream", url], ["--upstream", f"gemini={url}"], ["--host", url]):
        assert main(["serve", *option]) == 2
        assert "sesame" not in capsys.readouterr().err


def test_check_names_every_problem_and_says_so_by_its_status(
    user_file: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ULLAGE_MOED", "observe")
    user_file.write_text("server.prot = 1\n")
    status, said, _ = call(capsys, "check")
    assert status == 1
    assert said.splitlines() == [
        f"{user_file}:1: server.prot is not a setting. Did you mean server.port?",
        "$ULLAGE_MOED: ULLAGE_MOED is not a variable that ullage reads. Did you mean ULLAGE_MODE?",
    ]
    assert [problem["key"] for problem in call_json(capsys, "check")["problems"]] == ["server.prot", "ULLAGE_MOED"]


def test_check_judges_a_named_file_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ULLAGE_MOED", "observe")
    file = tmp_path / "other.toml"
    file.write_text("[server\n")
    status, said, _ = call(capsys, "check", str(file))
    assert (status, said.startswith(f"{file}:1: The file is not TOML")) == (1, True)


def test_check_of_a_file_that_is_not_there_is_a_wrong_call(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, said = call(capsys, "check", str(tmp_path / "none.toml"))
    assert (status, out) == (2, "")
    assert "does not exist" in said


def test_the_schema_knows_every_section_and_lets_nothing_else_in(capsys: pytest.CaptureFixture[str]) -> None:
    schema = msgspec.json.decode(call(capsys, "schema")[1])
    top = schema["$defs"]["Settings"]
    assert set(top["properties"]) == set(Settings.__struct_fields__)
    assert top["additionalProperties"] is False
    assert "anthropic" in top["properties"]["upstreams"]["properties"]
    assert schema["$defs"]["ServerSettings"]["properties"]["port"]["maximum"] == 65535


MODELS = """
[models]
refresh = false
[models.overrides."openrouter/vendor/model"]
context_window = 200000
input_price = 3
[planning]
hard_limit_ratio = 0.85
"""


def test_overrides_of_models_are_shown_with_the_place_of_each(
    user_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    user_file.write_text(MODELS)
    shown = call(capsys, "show", "--sources")[1]
    header = next(line for line in shown.splitlines() if line.startswith("[models.overrides"))
    assert header.split("# ") == [header.split("# ")[0], f"{user_file}:5"]
    user_file.write_text(shown)
    assert load_settings().problems == ()
    assert load_settings().settings.models.overrides == {
        "openrouter/vendor/model": ModelOverride(context_window=200_000, input_price=3)
    }
    report = call_json(capsys, "show")
    assert report["settings"]["models"]["overrides"]["openrouter/vendor/model"]["context_window"] == 200_000
    assert report["sources"]["models.overrides.openrouter/vendor/model"]["kind"] == "user"


def test_check_names_what_is_wrong_between_values(user_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    user_file.write_text(MODELS + "soft_limit_ratio = 0.9\n[calibration]\nlower_bound = 2\n")
    status, said, _ = call(capsys, "check")
    assert status == 1
    assert [line.partition(" is ")[0] for line in said.splitlines()] == [
        f"{user_file}:9: planning.soft_limit_ratio",
        f"{user_file}:8: planning.hard_limit_ratio",
        f"{user_file}:11: calibration.lower_bound",
    ]
    assert {problem["code"] for problem in call_json(capsys, "check")["problems"]} == {"conflict"}


def test_schema_has_the_fields_of_an_override(capsys: pytest.CaptureFixture[str]) -> None:
    definitions = msgspec.json.decode(call(capsys, "schema")[1])["$defs"]
    overrides = definitions["ModelSettings"]["properties"]["overrides"]
    assert overrides["additionalProperties"]["$ref"] == "#/$defs/ModelOverride"
    assert set(definitions["ModelOverride"]["properties"]) == set(ModelOverride.__struct_fields__)
    assert definitions["PlanningSettings"]["properties"]["hard_limit_ratio"]["maximum"] == 1
