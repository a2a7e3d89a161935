"""Oh My Pi with the extension: it lacks some of Pi's programming interface, and has some of its own. Skipped where it is not
installed: `scripts/clients/install-omp`."""

from __future__ import annotations

import json
import shutil
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.pi.host import LIMIT_S, UNUSABLE
from tests.pi.omp import Omp, find_omp
from tests.pi.test_screens import Terminal
from ullage.testing import FakeProvider, Reply, Rule, run_in_thread

pytestmark = pytest.mark.slow

TOOL = "Please use the tool: list the files of this folder."
LONG = f"{TOOL} {'word ' * 3_000}"
ANTHROPIC, OPENAI, GOOGLE = "anthropic/anthropic-model", "openai/openai-model", "google/google-model"
MARKED = "[ullage:local-only]MARK-SECRET[/ullage:local-only]"

Make = Callable[..., Omp]


@pytest.fixture
def provider() -> Iterator[FakeProvider]:
    with run_in_thread(FakeProvider()) as running:
        yield running


@pytest.fixture
def make(provider: FakeProvider, tmp_path: Path) -> Iterator[Make]:
    hosts: list[Omp] = []

    def make_host(**more: Any) -> Omp:
        hosts.append(Omp(tmp_path / "omp", find_omp(), provider.url, **more))
        return hosts[-1]

    yield make_host
    for host in hosts:
        host.stop()


def bodies(provider: FakeProvider) -> list[tuple[str, str]]:
    """What was sent, and where; it asks some providers for their models, too."""
    return [(one.path, one.body.decode()) for one in provider.requests if one.body]


def models(provider: FakeProvider) -> list[str]:
    return [json.loads(body)["model"] for _, body in bodies(provider)]


def test_a_conversation_with_tools_and_a_switch_is_recorded(make: Make, provider: FakeProvider) -> None:
    host = make()
    (host.project / "listed-by-the-tool.txt").touch()
    first = host.run("-p", "--model", ANTHROPIC, "Hello.")
    assert "fake provider" in first.stdout and "xtension" not in first.stderr
    assert "listed-by-the-tool.txt" in host.run("-p", "-c", "--model", OPENAI, TOOL).stdout
    told = host.run("-p", "-c", "/ullage").stdout
    assert "mode observe" in told and "newest request" in told
    lines = host.run("--mode", "json", "-p", "-c", "/auto-model status").stdout.splitlines()
    assert [one["command"] for one in map(json.loads, lines) if one["type"] == "ullage"] == ["auto-model"]
    host.stop()
    session = host.newest_session()
    assert (session["client"], session["calls"], session["project"]) == ("pi", 3, str(host.project))
    shown = json.loads(host.ullage("sessions", "show", session["id"], "--json"))
    assert all(call["usage"]["output"] > 0 for call in shown["newest_calls"])
    assert not list(host.home.glob(".bun/install/cache/@earendil-works*"))  # Bun fetches what it cannot resolve
    host.ullage("pi", "uninstall", "--host", "omp")
    assert "And now?" in host.run("-p", "-c", "--model", OPENAI, "And now?").stdout
    assert "listed-by-the-tool.txt" in bodies(provider)[-1][1]


def test_a_model_is_chosen_for_each_task_until_one_is_selected_by_hand(make: Make, provider: FakeProvider) -> None:
    # The other providers' models that it knows by itself do not go to ours.
    host = make(settings="[routing.constraints]\nprovider_allow = ['anthropic']\n")
    with host.open("--model", "ullage/auto") as omp:
        omp.ask("prompt", message=TOOL)
        omp.ask("prompt", message=TOOL)
        assert omp.ask("new_session")["success"]
        omp.ask("prompt", message="One.")
        omp.ask("prompt", message="Two.")
        newest = omp.ask("get_branch_messages")["data"]["messages"][-1]["entryId"]
        assert omp.ask("branch", entryId=newest)["success"]
        omp.ask("prompt", message="Another two.")
        assert models(provider)[-1] in omp.type("/auto-model why")
        assert omp.ask("set_model", provider="openai", modelId="openai-model")["success"]
        omp.ask("prompt", message="By hand.")
        assert models(provider)[-1] == "openai-model"
        assert [notice for notice in omp.notices if "routing is off" in notice]
    host.stop()
    sessions = json.loads(host.ullage("sessions", "list", "--json"))["sessions"]
    assert sorted(one["calls"] for one in sessions) == [2, 2, 4]
    (branch,) = [one for one in sessions if one["parent"] is not None]
    assert branch["parent"] in {one["id"] for one in sessions}


def test_in_a_small_window_what_is_old_leaves_and_what_is_pinned_stays(make: Make, provider: FakeProvider) -> None:
    window = "context_window = 32000\nmax_output_tokens = 100\nsafety_margin_tokens = 0\n"
    host = make(settings=f'mode = "managed"\n[models.overrides."*"]\n{window}')
    for number in range(400):
        (host.project / f"a-file-with-a-long-name-{number}.txt").touch()
    with host.open("--model", ANTHROPIC) as omp:
        omp.ask("prompt", message="MARK-FIRST")
        assert "Pinned" in omp.type("/ullage pin MARK-PIN Never touch generated files.")
        for turn in range(8):
            omp.ask("prompt", message=f"{LONG} MARK-{turn}")
    newest = bodies(provider)[-1][1]
    assert "MARK-7" in newest and "MARK-PIN" in newest and "MARK-FIRST" not in newest


def test_with_privacy_on_marked_text_reaches_local_models_alone(make: Make, provider: FakeProvider) -> None:
    host = make(settings='[privacy]\nenabled = true\nlocal_providers = ["openai"]\n')
    (host.project / "AGENTS.md").write_text(f"Rules. {MARKED} End.\n")
    for more, model in zip(((), ("-c",), ("-c",)), (OPENAI, ANTHROPIC, GOOGLE), strict=True):
        host.run("-p", *more, "--model", model, f"{TOOL} {MARKED}")
    with host.open("-c", "--model", ANTHROPIC) as omp:
        for _ in range(2):
            omp.ask("prompt", message=f"{MARKED} {LONG}")
        assert omp.ask("compact")["success"]  # two summaries: of what goes, and of what stays
        sent = bodies(provider)
        assert all(("MARK-SECRET" in body) == path.startswith("/v1/chat") for path, body in sent)
        assert sum("withheld by ullage" in body for _, body in sent) == len(sent) - 2  # there and back, with a tool
        host.stop(signal.SIGKILL)
        host.configure(UNUSABLE)  # else it would be started again
        omp.ask("prompt", message="Hello again.")
        assert not omp.ask("compact")["success"]
        assert len(bodies(provider)) == len(sent)
        assert [notice for notice in omp.notices if "nothing was sent" in notice]


def test_an_advisor_sees_what_its_own_model_may(make: Make, provider: FakeProvider) -> None:
    host = make(settings='[privacy]\nenabled = true\nlocal_providers = ["openai"]\n')
    provider.script.add(Rule(reply=Reply(text="Yes.")))  # the advisor reads the answers, too
    with host.open("--model", OPENAI, "--advisor") as omp:
        omp.ask("prompt", message=f"Hello. {MARKED}")
        until = time.monotonic() + LIMIT_S
        while len(bodies(provider)) < 2 and time.monotonic() < until:
            time.sleep(0.05)
    assert {(path, "MARK-SECRET" in body) for path, body in bodies(provider)} == {
        ("/v1/chat/completions", True),
        ("/v1/messages", False),
    }


def test_without_a_daemon_it_goes_on_with_one_notice(make: Make) -> None:
    host = make()
    host.forget_ullage()
    done = host.run("-p", "--model", ANTHROPIC, "Hello.")
    assert "fake provider" in done.stdout
    assert done.stderr.count("ullage:") == 1 and "Pi goes on without it" in done.stderr


def test_panel_footer_and_commands_are_on_its_screen_and_titles_stay_in(make: Make, provider: FakeProvider) -> None:
    if shutil.which("tmux") is None:
        pytest.skip("tmux is not installed")
    constraints = "[routing.constraints]\nprovider_allow = ['anthropic']\n"
    host = make(settings=f"[privacy]\nenabled = true\n{constraints}")
    terminal = Terminal(host, "--model", "ullage/auto")
    try:
        terminal.wait_for("[Context] [summary] → compact → expanded", "Auto ON · no choice yet · ullage/auto")
        terminal.keys("C-o")
        terminal.wait_for("summary → [compact] → expanded")
        terminal.keys(f"Please explain the scheduler of this project. {MARKED}", "Enter")
        terminal.wait_for("You said", "· balanced · ullage/auto", without="[Context]")
        terminal.keys("/ullage status", "Enter")
        terminal.wait_for("mode observe", "newest request")
        terminal.keys("/new", "Enter")
        terminal.wait_for("[Context] [summary] → compact → expanded", "Auto ON · no choice yet · ullage/auto")
    finally:
        terminal.close()
    # It would ask the model of its small tasks for a title.
    assert len(bodies(provider)) == 1 and "MARK-SECRET" not in bodies(provider)[0][1]
