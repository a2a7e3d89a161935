"""What may come between two words of a real Pi and its daemon: another daemon, a long answer, another width of the screen."""

from __future__ import annotations

import json
import signal
import sys

import pytest

from tests.pi.conftest import Make
from tests.pi.host import NEWEST, OLDER
from ullage.testing import FakeProvider

pytestmark = pytest.mark.slow

MODEL = "anthropic/anthropic-model"
MARKED = "[ullage:local-only]MARK-SECRET[/ullage:local-only]"


@pytest.mark.parametrize("version", [NEWEST, *OLDER])
def test_a_daemon_that_was_started_anew_is_met_at_once_and_what_it_says_holds(
    make: Make, provider: FakeProvider, version: str
) -> None:
    host = make(version)
    with host.open("--model", MODEL) as pi:
        pi.ask("prompt", message="One.")
        address = json.loads((host.data / "daemon.json").read_text())["url"]
        host.stop()
        host.environment["ULLAGE_SERVER__PORT"] = address.rpartition(":")[2]  # as with settings that name it
        host.configure("[privacy]\nenabled = true\n")
        host.run("-p", "--model", MODEL, "Another Pi starts it.")
        pi.ask("prompt", message=f"Two. {MARKED}")
        assert not pi.notices
    newest = provider.requests[-1].body.decode()
    assert "Two." in newest and "MARK-SECRET" not in newest


def test_a_daemon_that_dies_while_a_request_is_made_is_back_for_what_leaves(make: Make, provider: FakeProvider) -> None:
    """Between the list of messages and the body."""
    host = make(settings="[privacy]\nenabled = true\n")
    (host.agent / "extensions" / "kills.ts").write_text(f"""
        import {{ readFileSync }} from "node:fs";
        export default (pi) => pi.on("before_provider_request", ({{ payload }}) => {{
            const {{ pid }} = JSON.parse(readFileSync("{host.data / "daemon.json"}", "utf8"));
            if (JSON.stringify(payload).includes("Two.")) process.kill(pid, "SIGKILL");
        }});
    """)
    (host.project / "AGENTS.md").write_text(f"Rules. {MARKED} End.\n")
    with host.open("--model", MODEL) as pi:
        pi.ask("prompt", message="One.")
        before = json.loads((host.data / "daemon.json").read_text())["pid"]
        pi.ask("prompt", message="Two.")
        assert json.loads((host.data / "daemon.json").read_text())["pid"] != before
        assert not pi.notices
    newest = provider.requests[-1].body.decode()
    assert "Two." in newest and "withheld by ullage" in newest and "MARK-SECRET" not in newest


def test_a_summary_is_cleared_by_a_daemon_that_was_started_for_it(make: Make, provider: FakeProvider) -> None:
    host = make(settings="[privacy]\nenabled = true\n")
    settings = {"compaction": {"enabled": False, "keepRecentTokens": 1_000}}
    (host.agent / "settings.json").write_text(json.dumps(settings))
    with host.open("--model", MODEL) as pi:
        for _ in range(2):
            pi.ask("prompt", message=f"{MARKED} {'word ' * 3_000}")
        host.stop(signal.SIGKILL)
        assert pi.ask("compact")["success"]
    summary = provider.requests[-1].body
    assert b"<conversation>" in summary and b"MARK-SECRET" not in summary and b"withheld by ullage" in summary


@pytest.mark.parametrize("version", [NEWEST, OLDER[-1]])
def test_what_is_summarised_before_the_daemon_was_met_is_cleared_as_well(
    make: Make, provider: FakeProvider, version: str
) -> None:
    host = make(version, settings="[privacy]\nenabled = true\n")
    settings = {"compaction": {"enabled": False, "keepRecentTokens": 1_000}}
    (host.agent / "settings.json").write_text(json.dumps(settings))
    for more in ((), ("-c",)):
        host.run("-p", *more, "--model", MODEL, f"{MARKED} {'word ' * 3_000}")
    host.stop()
    (host.data / "daemon.json").unlink()  # nothing tells yet that privacy is on
    with host.open("-c", "--model", MODEL) as pi:
        assert pi.ask("compact")["success"]
    summary = provider.requests[-1].body
    assert b"<conversation>" in summary and b"MARK-SECRET" not in summary and b"withheld by ullage" in summary


@pytest.mark.parametrize("version", [NEWEST, OLDER[-1]])
def test_a_long_answer_of_a_command_is_printed_whole(make: Make, version: str) -> None:
    """A pipe takes 64 KiB at once."""
    host = make(version)
    file = host.agent / "extensions" / "ullage" / "install.json"
    command = [sys.executable, "-c", "print('word ' * 100_000)"]
    file.write_text(json.dumps({**json.loads(file.read_text()), "command": command}))
    assert host.run("-p", "/context").stdout.count("word") == 100_000


def test_a_plan_holds_where_another_extension_changes_the_list_of_messages(make: Make, provider: FakeProvider) -> None:
    """Since Pi asks whom it goes to before it lets others change what is sent."""
    host = make(settings="[routing.constraints]\nprovider_allow = ['anthropic']\n")
    (host.agent / "extensions" / "adds.ts").write_text("""
        const added = { role: "user", content: [{ type: "text", text: "Added before." }], timestamp: 1 };
        export default (pi) => pi.on("context", ({ messages }) => {
            const kept = messages.filter((one) => !JSON.stringify(one.content).includes("LEFT-OUT"));
            return { messages: [added, ...kept] };
        });
    """)
    host.run("-p", "--model", "ullage/auto", " @high Hello.")
    host.run("-p", "-c", "LEFT-OUT by another extension.")
    for one in provider.requests:
        texts = json.dumps([said["content"] for said in json.loads(one.body)["messages"] if said["role"] == "user"])
        assert "Added before." in texts and "Hello." in texts
        assert "@high" not in texts and "LEFT-OUT" not in texts


@pytest.mark.parametrize("version", [NEWEST, OLDER[-1]])
def test_where_no_daemon_was_ever_there_privacy_is_as_it_was_at_the_installation(
    make: Make, provider: FakeProvider, version: str
) -> None:
    host = make(version, settings="[privacy]\nenabled = true\n")
    host.forget_ullage()
    done = host.run("-p", "--model", MODEL, "Hello.", check=False)
    assert done.returncode == 1 and "nothing was sent" in done.stderr
    assert not list(provider.requests)


@pytest.mark.parametrize("version", [NEWEST, OLDER[-1]])
def test_a_project_s_settings_are_nobody_else_s_and_its_privacy_is_never_passed_over(
    make: Make, provider: FakeProvider, version: str
) -> None:
    host = make(version)
    (host.project / ".ullage.toml").write_text("mode = 'managed'\n")
    host.run("-p", "--model", MODEL, "The daemon is started from here.")
    host.run("-p", "-c", "/context")  # waits until it is recorded
    assert host.newest_manifest()["mode"] == "observe"
    before = len(provider.requests)
    (host.project / ".ullage.toml").write_text("[privacy]\nenabled = true\n")
    done = host.run("-p", "--model", MODEL, "Hello.", check=False)
    assert done.returncode == 1 and "turns privacy on, and the daemon runs without" in done.stderr
    assert len(provider.requests) == before
    host.stop()
    host.configure("[privacy]\nenabled = true\n")
    assert "You said" in host.run("-p", "--model", MODEL, f"Hello. {MARKED}").stdout
    assert "MARK-SECRET" not in provider.requests[-1].body.decode()
