"""`ullage doctor`: each thing that can be wrong, and what it says about it."""

from __future__ import annotations

import http.server
import os
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from ullage import __version__
from ullage.cli import main
from ullage.cli.doctor.network import no_proxy_covers
from ullage.core.health import Failure
from ullage.core.quota import QuotaRules
from ullage.engine.health import Health, Outcome
from ullage.engine.quota import Answered, Quotas
from ullage.gateway.token import load_token
from ullage.pi.address import Address, write_address
from ullage.settings.credentials import KEY_VARIABLES
from ullage.stores import SqliteStore

Serve = Callable[[bytes], int]


@pytest.fixture(autouse=True)
def quiet(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No clients on PATH, no proxies, and a port that nobody has."""
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
    monkeypatch.setenv("ULLAGE_SERVER__PORT", str(free_port()))


@pytest.fixture
def serve() -> Iterator[Serve]:
    """Starts a server that answers everything with one body, and gives its port."""
    servers: list[http.server.HTTPServer] = []

    def start(body: bytes) -> int:
        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self.send_response(200)
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def do_HEAD(self) -> None:
                self.send_error(404)

            def log_message(self, *_: object) -> None: ...

        server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        servers.append(server)
        return server.server_address[1]

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def health(version: str) -> bytes:
    return msgspec.json.encode({"service": "ullage", "version": version})


def install(name: str) -> None:
    folder = Path(os.environ["PATH"])
    folder.mkdir(exist_ok=True)
    (folder / name).write_text("#!/bin/sh\n")
    (folder / name).chmod(0o755)


def doctor(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, list[dict[str, Any]]]:
    status = main(["doctor", "--json", *arguments])
    return status, msgspec.json.decode(capsys.readouterr().out)["checks"]


def check(capsys: pytest.CaptureFixture[str], name: str, *arguments: str) -> dict[str, Any]:
    return next(found for found in doctor(capsys, *arguments)[1] if found["id"] == name)


def by_id(capsys: pytest.CaptureFixture[str]) -> dict[str, dict[str, Any]]:
    return {found["id"]: found for found in doctor(capsys)[1]}


def test_a_fresh_installation_is_well(capsys: pytest.CaptureFixture[str]) -> None:
    status, checks = doctor(capsys)
    assert status == 0
    assert {found["status"] for found in checks} == {"ok"}
    assert [found["id"] for found in checks] == [
        "python",
        "packages",
        "settings",
        "data",
        "token",
        "database",
        "catalogues",
        "daemon",
        "upstream",
        "upstream",
        "upstream",
        "routing",
    ]


def test_the_page_has_a_line_a_check_with_the_next_step_below_and_a_sum(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("ok    Python         3.")
    assert any(line.strip() == "→ Run `ullage serve`." for line in lines)
    assert lines[-1] == "12 ok, 0 to look at, 0 broken"


def test_the_versions_of_what_is_needed_are_told(capsys: pytest.CaptureFixture[str]) -> None:
    detail = check(capsys, "packages")["detail"]
    assert detail.startswith(f"ullage {__version__}, ")
    assert "aiohttp " in detail
    assert "pytest" not in detail


def test_a_missing_package_is_broken(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ullage.cli.doctor.installation.required_packages", lambda: ["msgspec", "no-such-package"])
    assert main(["doctor"]) == 1
    assert "fail  Packages       missing: no-such-package" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("text", "status", "exit_status"),
    [("server.prot = 1", "warn", 0), ("upstreams.anthropic = 'nowhere'", "fail", 1), ("[", "fail", 1)],
)
def test_wrong_settings_are_told(text: str, status: str, exit_status: int, capsys: pytest.CaptureFixture[str]) -> None:
    file = Path(os.environ["XDG_CONFIG_HOME"]) / "ullage" / "config.toml"
    file.parent.mkdir(parents=True)
    file.write_text(text)
    found_exit, checks = doctor(capsys)
    found = next(found for found in checks if found["id"] == "settings")
    assert (found["status"], found["next"], found_exit) == (status, "Run `ullage config check`.", exit_status)
    assert found["detail"].startswith(f"{file}:1")


ROUTED = """
[providers.here]
url = "http://127.0.0.1:9000"
dialects = ["openai-chat"]
models = ["a", "b"]
[providers.corp]
url = "https://llm.corp.example"
dialects = ["openai-chat"]
key = "env:CORP_KEY"
"""


def test_who_can_be_chosen_is_told_and_which_key_is_missing(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for names in KEY_VARIABLES.values():
        for name in names:
            monkeypatch.delenv(name, raising=False)
    file = Path(os.environ["XDG_CONFIG_HOME"]) / "ullage" / "config.toml"
    file.parent.mkdir(parents=True)
    file.write_text(ROUTED)
    _, checks = doctor(capsys)
    (routing,) = [found for found in checks if found["id"] == "routing"]
    (lacking,) = [found for found in checks if found["id"] == "provider"]
    assert routing["detail"] == (
        "models by keys of yours or none: 2 at here; by a client's own key also openai, anthropic, google"
    )
    assert (lacking["status"], lacking["detail"]) == ("warn", "corp is not asked: CORP_KEY is not set.")
    file.write_text("routing.models = ['opnai/*', 'openai/gpt-5']")
    assert check(capsys, "scope")["detail"] == "opnai/* names no model of a provider that can be reached"
    file.write_text("routing.enabled = false")
    assert check(capsys, "routing")["detail"].startswith("off: ")


def test_a_settings_file_that_others_can_write_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    file = Path(os.environ["XDG_CONFIG_HOME"]) / "ullage" / "config.toml"
    file.parent.mkdir(parents=True)
    file.touch()
    file.chmod(0o666)
    assert check(capsys, "permissions")["next"] == f"Run `chmod go-w {file}`."


def test_a_data_folder_and_a_token_open_to_others_are_told(capsys: pytest.CaptureFixture[str]) -> None:
    folder = Path(os.environ["XDG_DATA_HOME"]) / "ullage"
    folder.mkdir(parents=True, mode=0o755)
    (folder / "token").touch(mode=0o644)
    assert check(capsys, "data")["next"] == f"Run `chmod 700 {folder}`."
    found = check(capsys, "token")
    assert (found["status"], found["next"]) == ("warn", f"Run `chmod 600 {folder / 'token'}`.")


def test_the_token_and_where_it_is_are_told(capsys: pytest.CaptureFixture[str]) -> None:
    file = Path(os.environ["XDG_DATA_HOME"]) / "ullage" / "token"
    assert check(capsys, "token")["detail"] == f"{file} is made at the first start"
    load_token(file)
    assert check(capsys, "token")["status"] == "ok"
    assert check(capsys, "token")["detail"].startswith(f"{file}, ")
    file.write_text("")
    found = check(capsys, "token")
    assert (found["status"], found["next"]) == ("warn", "Restart `ullage serve`: it makes a new one.")
    file.unlink()
    file.mkdir()
    assert "cannot be read" in check(capsys, "token")["detail"]


def test_a_data_folder_that_is_a_file_is_broken(capsys: pytest.CaptureFixture[str]) -> None:
    folder = Path(os.environ["XDG_DATA_HOME"]) / "ullage"
    folder.parent.mkdir()
    folder.touch()
    assert check(capsys, "data")["status"] == "fail"


def test_a_database_is_read(capsys: pytest.CaptureFixture[str]) -> None:
    folder = Path(os.environ["XDG_DATA_HOME"]) / "ullage"
    folder.mkdir(parents=True, mode=0o700)
    SqliteStore(folder / "ullage.db", clock_ms=lambda: 0).close()
    assert check(capsys, "database")["detail"] == "readable, 0 sessions"


def test_a_database_that_is_none_is_broken(capsys: pytest.CaptureFixture[str]) -> None:
    folder = Path(os.environ["XDG_DATA_HOME"]) / "ullage"
    folder.mkdir(parents=True, mode=0o700)
    (folder / "ullage.db").write_text("not a database, but long enough to be taken for one" * 100)
    assert check(capsys, "database")["status"] == "fail"


def test_a_store_in_memory_has_nothing_to_read(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ULLAGE_STORE__URL", "memory")
    assert check(capsys, "database")["status"] == "ok"


@pytest.mark.parametrize(
    ("body", "status", "said"),
    [
        (health(__version__), "ok", "running on"),
        (health("0.0.1"), "warn", "version 0.0.1 is running on"),
        (b"hello", "fail", "another program has"),
        (b"{}", "fail", "another program has"),
    ],
    ids=["ours", "old", "words", "other JSON"],
)
def test_whoever_has_the_port_is_told(
    body: bytes,
    status: str,
    said: str,
    serve: Serve,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("ULLAGE_SERVER__PORT", str(serve(body)))
    found = check(capsys, "daemon")
    assert (found["status"], found["detail"].startswith(said)) == (status, True)


def test_a_program_that_never_answers_is_another_program(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ullage.cli.doctor.network.LOCAL_TIMEOUT_S", 0.05)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        monkeypatch.setenv("ULLAGE_SERVER__PORT", str(silent.getsockname()[1]))
        assert check(capsys, "daemon")["status"] == "fail"


def test_a_port_picked_at_each_start_is_no_fault(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ULLAGE_SERVER__PORT", "0")
    assert check(capsys, "daemon")["detail"] == "not running; it picks a port at each start"


def test_an_upstream_on_this_machine_must_be_there(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ULLAGE_UPSTREAMS__OPENAI", f"http://127.0.0.1:{free_port()}")
    found = check(capsys, "upstream")
    assert (found["status"], found["detail"].endswith("nobody listens there")) == ("warn", True)


def test_an_upstream_that_is_an_ullage_is_told(
    serve: Serve, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ULLAGE_UPSTREAMS__OPENAI", f"http://127.0.0.1:{serve(health('1'))}")
    assert "that is an ullage itself" in check(capsys, "upstream")["detail"]


def test_an_upstream_on_this_machine_that_answers_is_well(
    serve: Serve, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ULLAGE_UPSTREAMS__OPENAI", f"http://127.0.0.1:{serve(b'provider')}")
    assert check(capsys, "upstream")["status"] == "ok"


def test_our_own_address_as_an_upstream_is_broken(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ULLAGE_SERVER__PORT", "9000")
    monkeypatch.setenv("ULLAGE_UPSTREAMS__ANTHROPIC", "http://localhost:9000")
    found = check(capsys, "settings")
    assert (found["status"], "ullage's own address" in found["detail"]) == ("fail", True)


def test_clear_text_to_another_machine_is_told(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ULLAGE_UPSTREAMS__OPENAI", "http://provider.example")
    assert check(capsys, "upstream")["next"] == "Use https."


def test_a_proxy_to_a_provider_is_named_without_its_password(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("https_proxy", "http://me:secret@proxy.example:3128")
    assert check(capsys, "upstream")["detail"].endswith("through the proxy proxy.example:3128")


def test_providers_are_asked_only_when_that_is_wanted(
    serve: Serve, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    answering, closed = serve(b""), free_port()
    monkeypatch.setenv("ULLAGE_UPSTREAMS__OPENAI", f"http://127.0.0.1:{answering}")
    monkeypatch.setenv("ULLAGE_UPSTREAMS__ANTHROPIC", f"http://127.0.0.1:{closed}")
    monkeypatch.setenv("ULLAGE_UPSTREAMS__GEMINI", f"http://127.0.0.1:{answering}")
    monkeypatch.setenv("ULLAGE_UPSTREAM__USE_PROXY_ENVIRONMENT", "false")
    assert not [found for found in doctor(capsys)[1] if found["id"] == "reach"]
    status, checks = doctor(capsys, "--online")
    assert [found["status"] for found in checks if found["id"] == "reach"] == ["ok", "fail"]
    assert status == 1


def test_a_proxy_in_the_way_of_the_clients_is_told(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", "http://proxy.example:3128")
    assert check(capsys, "proxy")["next"] == "Add 127.0.0.1 to NO_PROXY."
    monkeypatch.setenv("NO_PROXY", "localhost,127.0.0.0/8")
    assert not [found for found in doctor(capsys)[1] if found["id"] == "proxy"]


@pytest.mark.parametrize(
    ("listed", "host", "covered"),
    [
        ("*", "127.0.0.1", True),
        ("127.0.0.1", "127.0.0.1", True),
        ("a, 127.0.0.0/8", "127.0.0.1", True),
        (".localhost", "ullage.localhost", True),
        ("localhost", "127.0.0.1", False),
        ("", "localhost", False),
    ],
)
def test_no_proxy_is_read_as_clients_do(listed: str, host: str, covered: bool) -> None:
    assert no_proxy_covers(host, {"NO_PROXY": listed}) is covered


def test_an_installed_client_is_told_how_to_be_set_up(capsys: pytest.CaptureFixture[str]) -> None:
    install("codex")
    found = check(capsys, "client")
    assert (found["status"], found["next"]) == ("ok", "Run `ullage setup codex`.")


def test_a_client_that_is_set_up_needs_the_daemon(
    serve: Serve, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    install("codex")
    monkeypatch.setenv("ULLAGE_SERVER__PORT", str(serve(health(__version__))))
    main(["setup", "codex", "--write"])
    capsys.readouterr()
    assert check(capsys, "client")["status"] == "ok"
    monkeypatch.setattr("ullage.cli.doctor.addresses.find_daemon", lambda _: _nobody())
    found = check(capsys, "client")
    assert (found["status"], found["next"].startswith("Run `ullage serve`")) == ("warn", True)


def test_a_daemon_that_picked_its_port_is_found_where_it_said_so(
    serve: Serve, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, data_dir: Path
) -> None:
    monkeypatch.setenv("ULLAGE_SERVER__PORT", "0")
    assert check(capsys, "daemon")["detail"].startswith("not running")
    write_address(data_dir, Address(url=f"http://127.0.0.1:{serve(health(__version__))}", token_file=""))
    assert check(capsys, "daemon")["detail"] == "running on the port that it picked"


def _nobody() -> Any:
    from ullage.cli.doctor.network import Listener

    return Listener(kind="nobody")


def test_a_client_that_points_elsewhere_is_told_even_if_it_is_not_installed(
    capsys: pytest.CaptureFixture[str],
) -> None:
    file = Path.home() / ".codex" / "config.toml"
    file.parent.mkdir()
    file.write_text('openai_base_url = "http://elsewhere/v1"\n')
    found = check(capsys, "client")
    assert found["status"] == "warn"
    assert "http://elsewhere/v1" in found["detail"]
    assert found["detail"].endswith("It is not on PATH.")


def test_pi_with_the_extension_is_not_told_to_point_at_the_gateway_as_well(capsys: pytest.CaptureFixture[str]) -> None:
    main(["pi", "install"])
    capsys.readouterr()
    found = check(capsys, "client")
    assert (found["status"], found["detail"], found["next"]) == ("ok", "Pi has the extension.", "")
    main(["setup", "pi", "--write"])
    capsys.readouterr()
    found = check(capsys, "client")
    assert "accounted for twice" in found["detail"]
    assert (found["status"], found["next"]) == ("warn", "Run `ullage setup pi --undo`.")


def test_it_says_how_old_what_is_known_of_models_is(capsys: pytest.CaptureFixture[str]) -> None:
    found = check(capsys, "catalogues")
    assert found["status"] == "ok"
    assert "There is no copy of LiteLLM's catalogue" in found["detail"]
    assert found["next"] == "`ullage serve` renews them in the background."


def test_targets_and_providers_that_are_left_alone_are_told(
    capsys: pytest.CaptureFixture[str], data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now_ms = 1_780_000_000_000
    monkeypatch.setattr("ullage.cli.records.now_ms", lambda: now_ms + 1_000)
    store = SqliteStore(data_dir / "ullage.db", clock_ms=lambda: now_ms)
    assert store.flush()
    checks = by_id(capsys)
    assert (checks["health"]["status"], checks["health"]["detail"]) == (
        "ok",
        "none is left alone for failures or quotas",
    )
    failure = Failure(kind="rate-limit", code="429", status=429, retryable=True, counts=True)
    Health(store, store).note(Outcome(target="a/b", asked_ms=now_ms, at_ms=now_ms, failure=failure))
    quotas = Quotas(QuotaRules(), store, store)
    quotas.note(Answered(provider="openai", status=402, at_ms=now_ms, asked_ms=now_ms - 1))
    quotas.save()
    store.close()
    checks = by_id(capsys)
    assert checks["health"]["status"] == "warn"
    assert "a/b failed lately" in checks["health"]["detail"]
    assert "quota of openai: cooldown" in checks["health"]["detail"]


def test_whether_what_watches_can_be_had_is_told(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert not {"access_log", "opentelemetry"} & set(by_id(capsys))
    monkeypatch.setenv("ULLAGE_TELEMETRY__ACCESS_LOG", str(tmp_path / "logs" / "access.log"))
    monkeypatch.setenv("ULLAGE_TELEMETRY__OPENTELEMETRY", "true")
    checks = by_id(capsys)
    assert (checks["access_log"]["status"], checks["opentelemetry"]["status"]) == ("warn", "ok")
    (tmp_path / "logs").mkdir()
    monkeypatch.setitem(sys.modules, "opentelemetry", None)
    monkeypatch.delitem(sys.modules, "opentelemetry.sdk", raising=False)
    checks = by_id(capsys)
    assert (checks["access_log"]["status"], checks["opentelemetry"]["status"]) == ("ok", "warn")
    assert "ullage[otel]" in checks["opentelemetry"]["next"]
