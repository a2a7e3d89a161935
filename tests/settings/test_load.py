"""The five layers: who wins, what is left out, and what is said about it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from ullage.core.errors import SettingsError
from ullage.settings import Loaded, Settings, check_file, load_settings

if TYPE_CHECKING:
    from pathlib import Path


class Home:
    """A user's home with a project in it, and one call that loads the settings there."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.project = folder / "work" / "project"
        self.user_file = folder / ".config" / "ullage" / "config.toml"
        self.project_file = self.project / ".ullage.toml"
        self.user_file.parent.mkdir(parents=True)
        self.project.mkdir(parents=True)

    def load(self, *, config: Path | None = None, flags: dict[str, Any] | None = None, **variables: str) -> Loaded:
        return load_settings(
            flags=flags, environ={"HOME": str(self.folder), **variables}, cwd=self.project, config=config
        )

    def problem(self, text: str) -> str:
        """The only problem of a user file, without the folder it lies in."""
        self.user_file.write_text(text)
        (problem,) = self.load().problems
        return str(problem).replace(f"{self.user_file.parent}/", "")


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path / "user")


def test_nothing_set_gives_the_defaults_and_says_so(home: Home) -> None:
    loaded = home.load()
    assert loaded.settings == Settings()
    assert {source.kind for source in loaded.sources.values()} == {"default"}
    assert not loaded.problems


def test_a_later_layer_wins_and_every_value_names_its_place(home: Home) -> None:
    home.user_file.write_text("[server]\nport = 1\nmax_connections = 2\nkeep_alive_s = 3\n")
    loaded = home.load(
        ULLAGE_SERVER__MAX_CONNECTIONS="20", ULLAGE_SERVER__KEEP_ALIVE_S="30", flags={"server.keep_alive_s": 300}
    )
    server = loaded.settings.server
    assert (server.port, server.max_connections, server.keep_alive_s) == (1, 20, 300.0)
    assert str(loaded.sources["server.port"]) == f"{home.user_file}:2"
    assert str(loaded.sources["server.max_connections"]) == "$ULLAGE_SERVER__MAX_CONNECTIONS"
    assert str(loaded.sources["server.keep_alive_s"]) == "--keep-alive-s"


def test_a_flag_that_was_not_given_sets_nothing(home: Home) -> None:
    assert home.load(flags={"server.port": None, "upstreams": {}}).settings == Settings()


def test_every_kind_of_value_can_come_from_the_environment(home: Home) -> None:
    settings = home.load(
        ULLAGE_LOG_LEVEL="debug",
        ULLAGE_SERVER__PORT="9",
        ULLAGE_SERVER__KEEP_ALIVE_S="1.5",
        ULLAGE_ACCOUNTING__ENABLED="false",
        ULLAGE_UPSTREAMS__OPENAI_CHAT="http://h/v1",
    ).settings
    assert settings.log_level == "debug"
    assert (settings.server.port, settings.server.keep_alive_s) == (9, 1.5)
    assert settings.accounting.enabled is False
    assert settings.upstreams == {"openai-chat": "http://h"}


def test_an_empty_variable_counts_as_unset_and_the_debug_switch_is_no_setting(home: Home) -> None:
    assert not home.load(ULLAGE_SERVER__PORT="", ULLAGE_DEBUG="1").problems


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[server]\nprot = 1", "config.toml:2: server.prot is not a setting. Did you mean server.port?"),
        ("port = 1", "config.toml:1: port is not a setting. Did you mean server.port?"),
        ("[stroe]", "config.toml:1: stroe is not a setting. Did you mean store?"),
        ("zzz = 1", "config.toml:1: zzz is not a setting. `ullage config show` prints every setting."),
        ("[[server]]\nport = 1", "config.toml:2: server[].port is not a setting. Did you mean server.port?"),
        ("server = 1", "config.toml:1: server is a section, not a value. Write [server] and its keys below it."),
        (
            'server.port = "x"',
            "config.toml:1: server.port must be a whole number from 0 to 65535, not 'x'. For example 8484.",
        ),
        (
            "server.port = true",
            "config.toml:1: server.port must be a whole number from 0 to 65535, not true. For example 8484.",
        ),
        (
            "server.port = 70000",
            "config.toml:1: server.port must be a whole number from 0 to 65535, not 70000. For example 8484.",
        ),
        (
            "server.keep_alive_s = nan",
            "config.toml:1: server.keep_alive_s must be a number above 0 and at most 86400, not nan. For example 120.0.",
        ),
        (
            "server.keep_alive_s = inf",
            "config.toml:1: server.keep_alive_s must be a number above 0 and at most 86400, not inf. For example 120.0.",
        ),
        (
            "log_level = 'loud'",
            "config.toml:1: log_level must be one of debug, info, warning, error, not 'loud'. For example info.",
        ),
        (
            "server.host = '0.0.0.0'",
            "config.toml:1: server.host must be a loopback address, not '0.0.0.0'. For example 127.0.0.1.",
        ),
        (
            "mode = 1979-05-27",
            "config.toml:1: mode must be one of observe, managed, not 1979-05-27. For example observe.",
        ),
    ],
)
def test_a_bad_key_is_named_with_its_line_and_what_would_do(home: Home, text: str, said: str) -> None:
    assert home.problem(text) == said


@pytest.mark.parametrize(
    "text", ["[budget]", "[routing.failover]\n\n[routing]", "routing = {failover = {}}", "[budget.providers]"]
)
def test_a_section_with_nothing_in_it_sets_nothing(home: Home, text: str) -> None:
    home.user_file.write_text(text)
    loaded = home.load()
    assert (loaded.settings, loaded.problems) == (Settings(), ())


def test_a_bad_key_is_left_out_alone(home: Home) -> None:
    home.user_file.write_text("[server]\nport = 'x'\nmax_connections = 5\n")
    settings = home.load().settings
    assert (settings.server.port, settings.server.max_connections) == (8484, 5)


def test_a_bad_value_leaves_the_layer_below_in_place(home: Home) -> None:
    home.user_file.write_text("server.port = 5\n")
    loaded = home.load(ULLAGE_SERVER__PORT="many")
    assert loaded.settings.server.port == 5
    assert loaded.sources["server.port"].kind == "user"


@pytest.mark.parametrize("text", ["\udcff", "x" * 1000, "[" * 1000])
def test_any_text_in_the_environment_is_told_and_no_crash(home: Home, text: str) -> None:
    loaded = home.load(ULLAGE_MODE=text, ULLAGE_DATA_DIR="\udcff", ULLAGE_SERVER__PORT=text)
    assert [problem.code for problem in loaded.problems] == ["bad_value"] * 3
    assert all(len(problem.message) < 150 for problem in loaded.problems)


def test_a_number_of_any_size_is_told_and_no_crash(home: Home) -> None:
    assert "server.port must be" in home.problem(f"server.port = [{10**30}]")


def test_an_unknown_variable_is_told_with_its_likeliest_meaning(home: Home) -> None:
    (problem,) = home.load(ULLAGE_SERVER_PORT="1").problems
    assert problem.hint == "Did you mean ULLAGE_SERVER__PORT?"


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"a = 1\nb = \n", ":2: The file is not TOML: Invalid value"),
        (b"a = [1,\n", ":2: The file is not TOML: Invalid value"),
        (b"a = 1\nb = '\xff'\n", ":2: The file is not UTF-8 text"),
        (b"a = " + b"[" * 5000, ": The file is nested too deeply"),
        (b"a = " + b"9" * 5000, ": The file is not TOML"),
        (b"#" * (1024 * 1024 + 1), ": The file is larger than 1048576 bytes, so not a configuration"),
    ],
)
def test_a_file_that_cannot_be_read_is_a_problem_and_not_a_crash(home: Home, content: bytes, said: str) -> None:
    home.user_file.write_bytes(content)
    loaded = home.load()
    (problem,) = loaded.problems
    assert str(problem).startswith(f"{home.user_file}{said}")
    assert str(problem).endswith(" Nothing in it is used until it is mended.")
    assert problem.blocking
    assert loaded.settings == Settings()


def test_a_folder_in_the_place_of_the_file_is_a_problem(home: Home) -> None:
    home.user_file.mkdir()
    (problem,) = home.load().problems
    assert problem.message == "The file cannot be read: Is a directory."


def test_a_file_may_begin_with_a_byte_order_mark_and_have_any_line_ends(home: Home) -> None:
    home.user_file.write_bytes(b"\xef\xbb\xbf[server]\r\nport = 7\r\n")
    assert home.load().settings.server.port == 7


def test_a_project_file_is_found_upward_and_may_set_the_mode_alone(home: Home) -> None:
    home.project_file.write_text("mode = 'observe'\nlog_level = 'debug'\nupstreams.anthropic = 'http://elsewhere'\n")
    below = home.project / "src" / "deep"
    below.mkdir(parents=True)
    loaded = load_settings(environ={"HOME": str(home.folder)}, cwd=below)
    assert loaded.paths.project_file == home.project_file
    assert str(loaded.sources["mode"]) == f"{home.project_file}:1"
    assert loaded.settings.upstreams == {}
    assert [(p.code, p.key, p.source.line) for p in loaded.problems] == [
        ("not_allowed", "log_level", 2),
        ("not_allowed", "upstreams.anthropic", 3),
    ]
    assert not loaded.blocking


def test_a_wrong_flag_is_refused(home: Home) -> None:
    with pytest.raises(SettingsError, match="must be a loopback address"):
        home.load(flags={"server.host": "192.168.0.1"})


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.9.1", "localhost", "::1", "[::1]"])
def test_every_loopback_address_is_let_in(home: Home, host: str) -> None:
    assert home.load(flags={"server.host": host}).settings.server.host == host.strip("[]")


def test_another_file_can_stand_in_for_the_user_file(home: Home) -> None:
    home.user_file.write_text("server.port = 1\n")
    (home.project / "other.toml").write_text("server.port = 2\n")
    loaded = home.load(config=home.project.relative_to(home.project) / "other.toml")
    assert loaded.settings.server.port == 2
    assert loaded.paths.user_file == home.project / "other.toml"


def test_a_named_file_that_is_not_there_is_refused(home: Home) -> None:
    with pytest.raises(SettingsError, match="There is no settings file"):
        home.load(config=home.project / "missing.toml")


@pytest.mark.parametrize(
    "text",
    [
        "[upstreams]\nanthropic = 'ftp://h'",
        "[upstreams]\nantropic = 'http://h'",
        "server.host = '0.0.0.0'",
        "data_dir = 3",
        "upstreams.gemini = 'http://localhost:8484/v1beta'",
    ],
)
def test_what_has_no_safe_stand_in_keeps_a_daemon_from_starting(home: Home, text: str) -> None:
    home.user_file.write_text(text)
    loaded = home.load()
    assert loaded.blocking
    with pytest.raises(SettingsError, match=f"{home.user_file.name}:"):
        loaded.require_usable()


def test_a_harmless_problem_does_not_keep_a_daemon_from_starting(home: Home) -> None:
    home.user_file.write_text("server.prot = 1\nserver.port = 'x'\n")
    loaded = home.load()
    assert len(loaded.problems) == 2
    loaded.require_usable()


def test_an_upstream_that_is_our_own_address_is_left_out(home: Home) -> None:
    home.user_file.write_text("upstreams.anthropic = 'http://localhost:9000/v1'\n")
    loaded = home.load(ULLAGE_SERVER__PORT="9000")
    assert loaded.settings.upstreams == {}
    (problem,) = loaded.problems
    assert (problem.code, problem.key, problem.source.line) == ("conflict", "upstreams.anthropic", 1)


def test_an_own_address_made_by_a_flag_is_refused(home: Home) -> None:
    with pytest.raises(SettingsError, match="ullage's own address"):
        home.load(flags={"server.port": 9000, "upstreams": {"openai": "http://127.0.0.1:9000"}})


def test_a_short_name_sets_both_dialects_and_gives_way_to_the_long_ones_beside_it(home: Home) -> None:
    home.user_file.write_text("[upstreams]\nopenai-chat = 'http://chat'\nopenai = 'http://both'\n")
    loaded = home.load()
    assert loaded.settings.upstreams == {"openai-chat": "http://chat", "openai-responses": "http://both"}
    assert loaded.sources["upstreams.openai-responses"].line == 3


def test_a_short_name_in_a_later_layer_wins_over_a_long_one_below_it(home: Home) -> None:
    home.user_file.write_text("[upstreams]\nopenai-chat = 'http://chat'\n")
    loaded = home.load(ULLAGE_UPSTREAMS__OPENAI="http://both")
    assert set(loaded.settings.upstreams.values()) == {"http://both"}


@pytest.mark.parametrize(
    ("written", "meant"), [("~/d", "user/d"), ("~", "user"), ("d", "user/.config/ullage/d"), ("/d", "/d")]
)
def test_a_data_folder_may_be_written_relative_to_home_or_to_the_file(home: Home, written: str, meant: str) -> None:
    home.user_file.write_text(f"data_dir = '{written}'\n")
    assert home.load().paths.data_dir == home.folder.parent / meant


def test_a_data_folder_on_the_command_line_starts_at_the_working_folder(home: Home) -> None:
    assert home.load(flags={"data_dir": "d"}).paths.data_dir == home.project / "d"


def test_a_project_file_checked_alone_is_judged_as_one(home: Home) -> None:
    home.project_file.write_text("server.port = 1\n")
    home.user_file.write_text("server.port = 1\n")
    assert [problem.code for problem in check_file(home.project_file)] == ["not_allowed"]
    assert check_file(home.user_file) == ()


def test_every_client_that_is_let_in_can_have_a_connection_to_its_provider() -> None:
    settings = Settings()
    assert settings.upstream.connections >= settings.server.max_connections
