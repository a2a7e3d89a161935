"""A real Pi with the extension, against the fake provider: what it sends, what is recorded, what happens without a daemon.

Skipped where Pi is not installed: `scripts/clients/install-pi` brings it.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
from typing import Any

import pytest

from tests.pi.conftest import Make
from tests.pi.host import NEWEST, OLDER, UNUSABLE, Host, Rpc
from tests.stores.waiting import wait_until
from ullage.testing import FakeProvider, Fault, Reply, Rule

pytestmark = pytest.mark.slow

TOOL = "Please use the tool: list the files of this folder."
MODELS = ("anthropic/anthropic-model", "openai/openai-model", "responses/responses-model")
GOOGLE = "google/google-model"
BROKEN = Fault(error_event=7)
MARKED = "[ullage:local-only]MARK-SECRET[/ullage:local-only]"
SMALL = """
mode = "managed"
[models.overrides."*"]
context_window = 9000
max_output_tokens = 100
safety_margin_tokens = 0
"""


def sent_to(provider: FakeProvider) -> list[dict[str, Any]]:
    return [json.loads(one.body) for one in provider.requests]


@pytest.mark.parametrize("version", [NEWEST, *OLDER])
def test_a_conversation_with_tools_and_a_switch_is_one_session_with_usage(make: Make, version: str) -> None:
    host = make(version)
    (host.project / "listed-by-the-tool.txt").touch()
    first = host.run("-p", "--model", MODELS[0], TOOL)
    assert "listed-by-the-tool.txt" in first.stdout and not first.stderr
    host.run("-p", "-c", "--model", MODELS[1], "And what did I ask you before?")
    host.run("-p", "-c", "--model", MODELS[2], TOOL)
    host.stop()  # what waits to be written is written
    session = host.newest_session()
    assert (session["client"], session["client_version"]) == ("pi", version)
    assert (session["calls"], session["project"]) == (5, str(host.project))
    shown = json.loads(host.ullage("sessions", "show", session["id"], "--json"))
    assert {call["outcome"] for call in shown["newest_calls"]} == {"ok"}
    assert all(call["usage"]["output"] > 0 for call in shown["newest_calls"])


@pytest.mark.parametrize("version", [NEWEST, *OLDER])
def test_commands_answer_without_a_screen(make: Make, version: str) -> None:
    host = make(version)
    host.run("-p", "--model", MODELS[0], "Hello.")
    told = host.run("-p", "-c", "/context").stdout
    assert "mode observe" in told and "reported" in told
    assert "Total request" in host.run("-p", "-c", "/context tokens").stdout
    assert "There is no /context nonsense." in host.run("-p", "-c", "/context nonsense").stdout


TYPED = {
    "/context status": "newest request .*reported",
    "/context tokens": "host  .*Pi counts",
    "/context model": "calibration",
    "/context manifest": "inventory    complete",
    "/context explain": "tokens are|It was observed|Everything fits",
    "/context included": "current",
    "/context excluded all": "messages excluded",
    "/context retrieved": "Nothing is retrieved",
    "/context project": "Pi's own tools",
    "/context pin --classification=internal 'never  push'": "Pinned pin_",
    "/context pins": "internal",
    "/context memory add Build runner = vitest": "Remembered mem_",
    "/context memory": "build-runner",
    "/context memory sources": "told to others",
    "/context privacy": "Privacy is off",
    "/context artifacts": "No tool result",
    "/context summaries": "Nothing is summarised",
    "/context compaction": "thresholds   *16.4k reserved",
    "/context compact-preview": "nothing to compact",
    "/context continuation": "whole conversation",
    "/context ranking train": "No ranking is learned",
    "/context quality": "not scored",
    "/context metrics": "anthropic/anthropic-model",
    "/context storage": "0 broken",
    "/context health": "^OK",
    "/context rebuild-index": "no index",
    "/context config set --global store.keep_days 30": "store.keep_days is 30 here",
    "/context config show store": "store.keep_days  30",
    "/context config unset --global store.keep_days": "store.keep_days is 90 here",
    "/context history": "the newest 1 of 1",
    "/context history search list the files": "hist_[0-9a-f]{32}  pi, user",
    "/context rebase --dry-run": "does not write a new session",
    "/context adapter": "registerVirtualModel",
    "/context help": "/context is followed by",
    "/context pin 'never": "does not end",
    "/auto-model": "activation  off \\(manual\\): anthropic/anthropic-model is selected",
    "/auto-model mode cost": "The policy is cost",
    "/auto-model plan Why doesn't it work": "Nothing was sent",
    "/auto-model models": "anthropic/anthropic-model",
    "/auto-model providers": "responses",
    "/auto-model pin responses/responses-model": "is pinned",
    "/auto-model unpin": "The pin is none",
    "/auto-model thinking fixed high": "Thinking is high",
    "/auto-model pool": "active  none",
    "/auto-model rules": "No rules",
    "/auto-model doctor": "candidates",
    "/auto-model history": "No decision yet",
    "/auto-model export json": "exports",
    "/auto-model off": "Routing is off",
    "/auto-model on": "Routing is on",
    "/auto-model help": "/auto-model is followed by",
}
"""Each command, and what its answer must say."""


@pytest.mark.parametrize("version", [NEWEST, OLDER[-1]])
def test_every_command_answers_without_a_screen(make: Make, version: str) -> None:
    host = make(version, settings='mode = "managed"')
    host.run("-p", "--model", MODELS[0], TOOL)
    told = [json.loads(line) for line in host.run("--mode", "json", "-c", *TYPED).stdout.splitlines()]
    texts = [one["text"] for one in told if one["type"] == "ullage"]
    assert len(texts) == len(TYPED)
    for (typed, said), text in zip(TYPED.items(), texts, strict=True):
        assert re.search(said, text, re.MULTILINE), f"{typed}: {text}"
    some = [typed for typed in TYPED if " " not in typed.removeprefix("/context ")]
    printed = host.run("-p", "-c", *some[:6]).stdout
    assert all(re.search(TYPED[typed], printed, re.MULTILINE) for typed in some[:6])


def test_in_json_mode_a_command_answers_in_json(make: Make) -> None:
    host = make()
    lines = host.run("--mode", "json", "/auto-model status").stdout.splitlines()
    (told,) = [one for one in map(json.loads, lines) if one["type"] == "ullage"]
    assert told["command"] == "auto-model" and told["text"]


@pytest.mark.parametrize("version", [NEWEST, *OLDER])
@pytest.mark.parametrize("model", MODELS)
def test_in_a_small_window_what_is_old_leaves_and_what_is_pinned_stays(
    make: Make, provider: FakeProvider, version: str, model: str
) -> None:
    if version != NEWEST and model != MODELS[0]:
        pytest.skip("one protocol is enough for the older ones")
    host = make(version, settings=SMALL)
    for number in range(400):
        (host.project / f"a-file-with-a-long-name-{number}.txt").touch()
    host.run("-p", "--model", model, f"MARK-FIRST {TOOL}")
    host.run("-p", "-c", "/context pin MARK-PIN Never touch generated files.")
    host.run("-p", "-c", "--model", model, f"MARK-SECOND {TOOL}")
    host.run("-p", "-c", "--model", model, f"MARK-THIRD {TOOL}")
    newest = json.dumps(sent_to(provider)[-1])
    assert "MARK-THIRD" in newest and "MARK-PIN" in newest and "MARK-FIRST" not in newest
    assert host.newest_manifest()["plan"]["status"] in ("managed", "emergency")
    assert "MARK-FIRST" in next(host.agent.glob("sessions/*/*.jsonl")).read_text()  # canonical history is as it was


@pytest.mark.parametrize("version", [NEWEST, *OLDER])
def test_with_privacy_on_marked_text_reaches_local_models_alone(
    make: Make, provider: FakeProvider, version: str
) -> None:
    host = make(version, settings='[privacy]\nenabled = true\nlocal_providers = ["openai"]\n')
    (host.project / "AGENTS.md").write_text(f"Rules. {MARKED} End.\n")
    for more, model in zip(((), *[("-c",)] * 4), (MODELS[1], MODELS[0], MODELS[2], GOOGLE, MODELS[1]), strict=True):
        host.run("-p", *more, "--model", model, f"{TOOL} {MARKED}")
    sent = [(one.path, one.body.decode()) for one in provider.requests]
    assert all(("MARK-SECRET" in body) == path.startswith("/v1/chat") for path, body in sent)
    withheld = [body.count("withheld by ullage") for path, body in sent if not path.startswith("/v1/chat")]
    assert withheld == [3, 3, 4, 4, 5, 5]  # in the instruction file, and in each prompt so far


@pytest.mark.parametrize("version", [NEWEST, *OLDER])
def test_with_privacy_on_nothing_is_sent_without_the_daemon(make: Make, provider: FakeProvider, version: str) -> None:
    host = make(version, settings="[privacy]\nenabled = true\n")
    host.run("-p", "--model", MODELS[0], "Hello.")
    host.stop(signal.SIGKILL)
    host.forget_ullage()
    before = len(provider.requests)
    done = host.run("-p", "-c", "--model", MODELS[0], "Hello again.", check=False)
    assert done.returncode == 1 and "nothing was sent" in done.stderr
    assert len(provider.requests) == before


@pytest.mark.parametrize("version", [NEWEST, *OLDER])
def test_without_a_daemon_pi_goes_on_with_one_notice(make: Make, version: str) -> None:
    host = make(version)
    host.forget_ullage()
    done = host.run("-p", "--model", MODELS[0], TOOL)
    assert "The tool returned" in done.stdout
    assert done.stderr.count("ullage:") == 1 and "Pi goes on without it" in done.stderr


def test_a_daemon_that_was_killed_is_started_again_and_told_the_whole(make: Make) -> None:
    host = make(settings=SMALL)
    host.run("-p", "--model", MODELS[0], TOOL)
    host.stop(signal.SIGKILL)
    assert not host.run("-p", "-c", "--model", MODELS[0], "And now?").stderr
    assert host.newest_manifest()["plan"]["messages"]["total"] == 5


@pytest.mark.parametrize("model", [MODELS[0], "ullage/auto"])
@pytest.mark.parametrize("version", [NEWEST, OLDER[-1]])
def test_sessions_go_on_without_the_extension(make: Make, provider: FakeProvider, version: str, model: str) -> None:
    host = make(version, settings=SMALL if model == MODELS[0] else "")
    host.run("-p", "--model", model, TOOL)
    host.run("-p", "-c", "/context pin Never push.")
    host.ullage("pi", "uninstall")
    done = host.run("-p", "-c", "--model", MODELS[0], "And now?")
    assert "And now?" in done.stdout and not done.stderr
    assert len(sent_to(provider)[-1]["messages"]) == 5
    assert "As before?" in host.run("-p", "-c", "As before?").stdout
    assert len(sent_to(provider)[-1]["messages"]) == 7
    assert "ullage" not in json.dumps(sent_to(provider)[-1])


@pytest.mark.parametrize("version", [NEWEST, OLDER[-1]])
def test_a_session_of_ullage_auto_opens_without_the_extension(make: Make, provider: FakeProvider, version: str) -> None:
    host = make(version)
    host.run("-p", "--model", "ullage/auto", TOOL)
    host.ullage("pi", "uninstall")
    done = host.run("-p", "-c", "And now?")
    assert "And now?" in done.stdout
    assert TOOL in provider.requests[-1].body.decode()  # whichever model Pi takes in its place


@pytest.mark.parametrize("version", [NEWEST, *OLDER])
def test_ullage_auto_goes_to_a_model_of_pis_which_the_session_names(
    make: Make, provider: FakeProvider, version: str
) -> None:
    host = make(version)
    host.run("-p", "--model", "ullage/auto", f" @medium {TOOL}")
    host.run("-p", "-c", "And now?")
    assert not any("@medium" in one.body.decode() for one in provider.requests)
    entries = [json.loads(line) for line in next(host.agent.glob("sessions/*/*.jsonl")).read_text().splitlines()]
    answers = [one["message"] for one in entries if one.get("message", {}).get("role") == "assistant"]
    assert [one["model"] for one in answers] == [json.loads(one.body)["model"] for one in provider.requests]
    states = [one for one in entries if one.get("customType") in ("pi.virtual-model-state", "ullage.auto-state")]
    # One for a change; before there were models that stand for others, one more for each run.
    assert len(states) <= (1 if version == NEWEST else 2) * len({answer["model"] for answer in answers})
    assert answers[0]["model"] in host.run("-p", "-c", "/auto-model why").stdout
    assert answers[0]["model"] in host.run("-p", "-c", "/auto-model models").stdout


@pytest.mark.parametrize("version", [NEWEST, *OLDER])
def test_a_model_that_fails_gives_way_to_another(make: Make, provider: FakeProvider, version: str) -> None:
    host = make(version)
    if version == NEWEST:  # Pi repeats the request; before, it is another target of the same one
        (host.agent / "settings.json").write_text(json.dumps({"retry": {"baseDelayMs": 10}}))
    provider.script.add(Fault(status=529))
    done = host.run("-p", "--model", "ullage/auto", "Hello.")
    assert "You said" in done.stdout
    first, second = (json.loads(one.body)["model"] for one in provider.requests)
    assert first != second


@pytest.mark.parametrize("version", [NEWEST, *OLDER])
def test_a_model_that_was_selected_by_hand_stays(make: Make, provider: FakeProvider, version: str) -> None:
    host = make(version)
    host.run("-p", "--model", "ullage/auto", "Hello.")
    host.run("-p", "-c", "--model", MODELS[1], "Hello again.")
    host.run("-p", "-c", "And again.")
    assert [json.loads(one.body)["model"] for one in provider.requests][1:] == ["openai-model"] * 2


LONG = f"{TOOL} {'word ' * 3_000}"


@pytest.mark.parametrize("version", [NEWEST, *OLDER])
def test_compaction_and_a_fork_are_routed_and_recorded_as_such(
    make: Make, provider: FakeProvider, version: str
) -> None:
    host = make(version)
    settings = {"compaction": {"enabled": False, "keepRecentTokens": 1_000}}
    (host.agent / "settings.json").write_text(json.dumps(settings))
    with host.open("--model", "ullage/auto") as pi:
        for _ in range(3):
            pi.ask("prompt", message=LONG)
        before = len(provider.requests)
        assert pi.ask("compact")["success"]
        pi.ask("prompt", message="And now?")
        summary, after = (one.body for one in list(provider.requests)[before:])
        assert b"context summar" in summary and len(after) < len(summary)
        newest = pi.ask("get_fork_messages")["data"]["messages"][-1]["entryId"]
        assert pi.ask("fork", entryId=newest)["success"]
        pi.ask("prompt", message="And in the fork?")
        assert not pi.notices
    host.stop()
    sessions = json.loads(host.ullage("sessions", "list", "--json"))["sessions"]
    calls = json.loads(host.ullage("export", "calls", "--format", "json"))
    fork, first = sorted(sessions, key=lambda one: one["calls"])
    assert (fork["parent"], fork["calls"], first["calls"]) == (first["id"], 1, 7)
    (errand,) = (row for row in calls if row["kind"] == "compaction")
    assert not errand["session"]
    events = json.loads(host.ullage("sessions", "show", first["id"], "--json"))["events"]
    assert "rewrite" in [one["kind"] for one in events]


@pytest.mark.parametrize("version", [NEWEST, *OLDER])
def test_routing_is_turned_on_and_off_by_command_and_by_selection(
    make: Make, provider: FakeProvider, version: str
) -> None:
    host = make(version, settings="[routing.constraints]\nprovider_allow = ['responses']\n")

    def sent(pi: Rpc) -> str:
        pi.ask("prompt", message="Hello.")
        return json.loads(provider.requests[-1].body)["model"].split("-")[0]

    with host.open("--model", "ullage/auto") as pi:
        assert sent(pi) == "responses"
        assert pi.ask("set_model", provider="anthropic", modelId="anthropic-model")["success"]
        assert sent(pi) == "anthropic"
        assert "/auto-model on" in pi.notices.pop()
        assert "off (manual): anthropic/anthropic-model is selected" in pi.type("/auto-model")
        assert "Nothing is routed while" in pi.type(f"/auto-model pin {MODELS[2]}")
        assert "Routing is on" in pi.type("/auto-model on")
        assert "activation  on" in pi.type("/auto-model")
        assert sent(pi) == "responses"
        assert "Routing is off" in pi.type("/auto-model off")
        for model in ("anthropic/anthropic-model", "ullage/auto"):
            name, _, model_id = model.partition("/")
            assert pi.ask("set_model", provider=name, modelId=model_id)["success"]
        assert sent(pi) == "responses"
        assert "activation  on" in pi.type("/auto-model")
        assert not pi.errors


def test_the_words_of_context_are_not_asked_for_by_a_list(make: Make) -> None:
    with make().open("--model", MODELS[0]) as pi:
        assert "Write /context pin TEXT" in pi.type("/context pin")


@pytest.mark.parametrize("version", [NEWEST, *OLDER])
def test_a_daemon_that_dies_in_the_middle_is_told_of_once(make: Make, provider: FakeProvider, version: str) -> None:
    host = make(version)
    with host.open("--model", "ullage/auto") as pi:
        pi.ask("prompt", message="One.")
        host.stop(signal.SIGKILL)
        pi.ask("prompt", message="Two.")
        pi.ask("prompt", message="Three.")
    first, *others = [json.loads(one.body)["model"] for one in provider.requests]
    assert others == [first, first]
    assert len(pi.notices) == 1 and "Pi goes on without it" in pi.notices[0]


@pytest.mark.parametrize("model", [MODELS[0], "ullage/auto"])
@pytest.mark.parametrize("version", [NEWEST, OLDER[0]])
def test_with_privacy_on_a_daemon_that_was_killed_is_back_for_the_very_next_prompt(
    make: Make, provider: FakeProvider, version: str, model: str
) -> None:
    host = make(version, settings="[privacy]\nenabled = true\n")
    with host.open("--model", model) as pi:
        pi.ask("prompt", message=f"One. {MARKED}")
        host.stop(signal.SIGKILL)
        pi.ask("prompt", message=f"Two. {MARKED}")
        host.stop(signal.SIGKILL)
        pi.ask("prompt", message=f"Three. {MARKED}")
        assert not pi.notices and not pi.errors
    sent = [one.body.decode() for one in provider.requests]
    assert [("One." in body, "Two." in body, "Three." in body) for body in sent] == [
        (True, False, False),
        (True, True, False),
        (True, True, True),
    ]
    assert not any("MARK-SECRET" in body for body in sent)


def test_with_privacy_on_a_daemon_that_cannot_be_started_is_told_of_and_asked_for_again(
    make: Make, provider: FakeProvider
) -> None:
    host = make(settings="[privacy]\nenabled = true\n")
    set_pause(host, "START_AGAIN_MS", 0)
    with host.open("--model", MODELS[0]) as pi:
        pi.ask("prompt", message="One.")
        host.stop(signal.SIGKILL)
        host.configure(UNUSABLE)
        pi.ask("prompt", message="Two.")
        assert len(provider.requests) == 1
        assert "nothing was sent (it could not be started" in pi.notices[-1]
        host.configure(host.settings)
        pi.notices.clear()
        pi.ask("prompt", message=f"Three. {MARKED}")
        assert pi.notices == ["ullage: the daemon is there again."]
    newest = provider.requests[-1].body.decode()
    assert "Three." in newest and "MARK-SECRET" not in newest


def test_with_privacy_on_a_daemon_that_cannot_be_started_is_not_started_all_the_time(
    make: Make, provider: FakeProvider
) -> None:
    host = make(settings="[privacy]\nenabled = true\n")
    set_pause(host, "START_AGAIN_MS", 3_600_000)
    with host.open("--model", MODELS[0]) as pi:
        pi.ask("prompt", message="One.")
        host.stop(signal.SIGKILL)
        host.configure(UNUSABLE)
        pi.ask("prompt", message="Two.")
        log = (host.data / "daemon.log").read_text()
        pi.ask("prompt", message="Three.")
        assert (host.data / "daemon.log").read_text() == log
        assert "nothing was sent (it could not be started" in pi.notices[-1]
        host.configure(host.settings)
        host.run("-p", "--model", MODELS[0], "Another Pi starts it.")
        pi.ask("prompt", message="Four.")
    assert "Four." in provider.requests[-1].body.decode()
    assert len(provider.requests) == 3


def set_pause(host: Host, name: str, pause_ms: int) -> None:
    """Gives the extension another pause, which it calls so."""
    file = host.agent / "extensions" / "ullage" / "daemon.ts"
    text, found = re.subn(rf"(?<=^const {name} = )[\d_]+", str(pause_ms), file.read_text(), flags=re.MULTILINE)
    assert found == 1
    file.write_text(text)


def test_with_privacy_on_a_daemon_that_has_hung_is_asked_again_with_the_next_prompt(
    make: Make, provider: FakeProvider
) -> None:
    host = make(settings="[privacy]\nenabled = true\n")
    with host.open("--model", MODELS[0]) as pi:
        pi.ask("prompt", message="One.")
        number = json.loads((host.data / "daemon.json").read_text())["pid"]
        os.kill(number, signal.SIGSTOP)
        try:
            pi.ask("prompt", message="Two.")
            assert len(provider.requests) == 1 and "nothing was sent" in pi.notices[-1]
        finally:
            os.kill(number, signal.SIGCONT)
        pi.ask("prompt", message="Three.")
        assert pi.notices[-1] == "ullage: the daemon is there again."
        assert json.loads((host.data / "daemon.json").read_text())["pid"] == number
    assert "Three." in provider.requests[-1].body.decode()


def test_a_daemon_that_is_back_is_told_of_once(make: Make) -> None:
    host = make(settings=SMALL)
    set_pause(host, "ASK_AGAIN_MS", 0)
    with host.open("--model", MODELS[0]) as pi:
        pi.ask("prompt", message="One.")
        host.stop(signal.SIGKILL)
        before = (host.data / "daemon.json").read_text()
        pi.ask("prompt", message="Two.")
        pi.ask("prompt", message="Three, beside which it is started.")
        wait_until(lambda: (host.data / "daemon.json").read_text() != before)
        pi.ask("prompt", message="Four.")
        pi.ask("prompt", message="Five.")
    away, back = pi.notices
    assert "Pi goes on without it" in away and back == "ullage: the daemon is there again."


def test_a_daemon_that_hangs_is_not_waited_for(make: Make) -> None:
    host = make(settings=SMALL)
    with host.open("--model", MODELS[0]) as pi:
        pi.ask("prompt", message="One.")
        number = json.loads((host.data / "daemon.json").read_text())["pid"]
        os.kill(number, signal.SIGSTOP)
        try:
            assert pi.ask("prompt", message="Two.")["success"]
        finally:
            os.kill(number, signal.SIGCONT)
    assert len(pi.notices) == 1 and "did not answer within" in pi.notices[0]


def test_an_extension_that_does_not_fit_says_so_and_does_nothing(make: Make) -> None:
    host = make()
    file = host.agent / "extensions" / "ullage" / "daemon.ts"
    changed = file.read_text().replace("export const PROTOCOL = 1;", "export const PROTOCOL = 0;")
    assert "start: 8000" in changed
    file.write_text(changed.replace("start: 8000", "start: 3_600_000"))  # what does not fit is not waited for
    done = host.run("-p", "--model", MODELS[0], "Hello.")
    assert "You said" in done.stdout
    assert "do not fit together" in done.stderr and "ullage pi install" in done.stderr
    assert "degraded, extension and daemon do not fit" in host.run("-p", "/context").stdout


@pytest.mark.parametrize("version", [NEWEST, *OLDER])
def test_another_extension_may_ask_for_a_route(make: Make, version: str) -> None:
    host = make(version)
    (host.agent / "extensions" / "asks.ts").write_text("""
        import { resolveRouteFromModels } from "./ullage/core.ts";
        export default (pi) => pi.registerCommand("ask", {
            handler: async (args, ctx) => {
                const models = ctx.modelRegistry.getAvailable().filter((model) => model.id.startsWith("claude"));
                const { target, thinking } = await resolveRouteFromModels(models, args, { policy: "cost" });
                console.error(`chosen: ${target.id} ${thinking}, ${target.model.provider}`);
            },
        });
    """)
    assert "chosen: anthropic/claude-" in host.run("-p", "/ask Say hello.").stderr


@pytest.mark.parametrize("version", [NEWEST, *OLDER])
def test_once_something_was_shown_no_other_model_takes_over_in_the_same_request(
    make: Make, provider: FakeProvider, version: str
) -> None:
    host = make(version)
    provider.script.add(Rule(reply=Reply(text="Some words that were shown. " * 200), times=1, fault=BROKEN))
    done = host.run("-p", "--model", "ullage/auto", "Hello.", check=False)
    assert done.returncode == 1
    assert len(provider.requests) == 1
    host.stop()
    assert host.newest_manifest()["outcome"] == "error"


def test_two_pis_share_the_daemon(make: Make) -> None:
    host = make()
    with host.open("--model", MODELS[0]) as one, host.open("--model", MODELS[1]) as another:
        one.ask("prompt", message="One.")
        number = json.loads((host.data / "daemon.json").read_text())["pid"]
        another.ask("prompt", message="Two.")
        one.ask("prompt", message="Three.")
        assert json.loads((host.data / "daemon.json").read_text())["pid"] == number
    host.stop()
    sessions = json.loads(host.ullage("sessions", "list", "--json"))["sessions"]
    assert sorted(one["calls"] for one in sessions) == [1, 2]


@pytest.mark.parametrize("version", [NEWEST, *OLDER])
def test_a_routed_request_is_planned_and_cleared_for_the_model_that_was_chosen(
    make: Make, provider: FakeProvider, version: str
) -> None:
    settings = f"{SMALL}[privacy]\nenabled = true\n[routing.constraints]\nprovider_allow = ['anthropic', 'google']\n"
    host = make(
        version, settings=settings.replace("9000", "24000").replace("output_tokens = 100", "output_tokens = 8192")
    )
    for number in range(900):
        (host.project / f"a-file-with-a-long-name-{number}.txt").touch()
    with host.open("--model", "ullage/auto") as pi:
        for turn in ("FIRST", "SECOND", "THIRD"):
            pi.ask("prompt", message=f"MARK-{turn} {MARKED} {TOOL}")
        assert not pi.notices
    newest = provider.requests[-1].body.decode()
    assert "MARK-THIRD" in newest and "MARK-FIRST" not in newest and "MARK-SECRET" not in newest
    host.stop()
    manifest = host.newest_manifest()
    assert manifest["plan"]["messages"]["excluded"] > 0
    assert manifest["route"]["target"] == manifest["target"]


@pytest.mark.parametrize("version", [NEWEST, *OLDER])
def test_what_is_pinned_stands_in_the_session_and_comes_back_from_there(
    make: Make, provider: FakeProvider, version: str
) -> None:
    host = make(version, settings='mode = "managed"\n')
    host.run("-p", "--model", MODELS[0], "One.")
    host.run("-p", "-c", "/context pin MARK-PIN Never push.")
    host.run("-p", "-c", "/context pins")
    (file,) = host.agent.glob("sessions/*/*.jsonl")
    entries = [json.loads(line) for line in file.read_text().splitlines()]
    (kept,) = [one["data"] for one in entries if one.get("customType") == "ullage.kept"]
    assert kept["payload"]["text"] == "MARK-PIN Never push."
    host.stop()
    shutil.rmtree(host.data)  # another machine, say
    host.run("-p", "-c", "--model", MODELS[0], "Two.")
    assert "MARK-PIN" in host.run("-p", "-c", "/context pins").stdout
    host.run("-p", "-c", "--model", MODELS[0], "Three.")
    assert "MARK-PIN" in provider.requests[-1].body.decode()


@pytest.mark.parametrize("model", ["ullage/auto", MODELS[0]])
@pytest.mark.parametrize("version", [NEWEST, OLDER[-1]])
def test_nothing_is_sent_beyond_a_limit_of_what_may_be_spent(
    make: Make, provider: FakeProvider, version: str, model: str
) -> None:
    prices = "[models.overrides.'*']\ninput_price = 5\noutput_price = 25\n"
    host = make(version, settings=f"{prices}[budget]\nsession_usd = 0.000001\non_exceed = 'block'\n")
    done = host.run("-p", "--model", model, "Hello.", check=False)
    assert done.returncode == 1 and not list(provider.requests)
    assert "session" in done.stderr and "spent" in done.stderr


@pytest.mark.parametrize("model", ["ullage/auto", MODELS[0]])
@pytest.mark.parametrize("version", [NEWEST, *OLDER])
def test_a_summary_is_cleared_for_the_model_that_makes_it(
    make: Make, provider: FakeProvider, version: str, model: str
) -> None:
    routing = "[routing.constraints]\nprovider_allow = ['anthropic']\n"
    host = make(version, settings=f"[privacy]\nenabled = true\n{routing}")
    settings = {"compaction": {"enabled": False, "keepRecentTokens": 1_000}}
    (host.agent / "settings.json").write_text(json.dumps(settings))
    with host.open("--model", model) as pi:
        for _ in range(3):
            pi.ask("prompt", message=f"{MARKED} {LONG}")
        assert pi.ask("compact")["success"]
        summary = provider.requests[-1].body
        assert b"context summar" in summary and b"MARK-SECRET" not in summary and b"withheld by ullage" in summary
        assert not pi.notices
        for _ in range(3):
            pi.ask("prompt", message=f"{MARKED} {LONG}")
        host.stop(signal.SIGKILL)
        host.configure(UNUSABLE)  # else it would be started again
        before = len(provider.requests)
        assert not pi.ask("compact")["success"]
        assert len(provider.requests) == before and "cannot be cleared" in pi.notices[-1]


@pytest.mark.parametrize("version", [NEWEST, *OLDER])
def test_the_summary_of_a_branch_is_cleared_as_well(make: Make, provider: FakeProvider, version: str) -> None:
    host = make(version, settings="[privacy]\nenabled = true\n")
    (host.agent / "extensions" / "goes.ts").write_text("""
        export default (pi) => pi.registerCommand("back", {
            handler: async (args, ctx) => {
                const first = ctx.sessionManager.getEntries().find((one) => one.message?.role === "user");
                await ctx.navigateTree(first.id, { summarize: true });
                ctx.ui.notify("went back", "info");
            },
        });
    """)
    with host.open("--model", MODELS[0]) as pi:
        for _ in range(2):
            pi.ask("prompt", message=f"{MARKED} {TOOL}")
        assert pi.type("/back") == "went back"
    summary = provider.requests[-1].body
    assert b"summary" in summary and b"MARK-SECRET" not in summary and b"withheld by ullage" in summary
