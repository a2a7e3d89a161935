"""One prompt of a real client through the gateway to the fake provider, and what is to be checked of it."""

from __future__ import annotations

import contextlib
import json
import os
import re
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ullage.testing import FakeProvider, Recorder, run_in_thread
from ullage.testing.recording import DirectorySink

from .known import AGAIN, LISTED, PROMPT, TARGET_KEY
from .tee import Exchange, Tee

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .known import Client

ROOT = Path(__file__).resolve().parents[2]
INSTALLED = ROOT / ".clients"
ULLAGE = Path(sys.executable).with_name("ullage")
CLIENT_LIMIT_S = 120
START_LIMIT_S = 15

INSTRUCTIONS = "MARK-INSTRUCTIONS Answer briefly.\n"
SKILL = "---\nname: marked-skill\ndescription: MARK-SKILL Does nothing, and is listed.\n---\nMARK-SKILL-BODY\n"
TOOLS = 'def bash(command: str) -> str:\n    "Run a command"\n    import os\n    return "\\n".join(os.listdir())\n'


class TrialError(Exception):
    """The trial could not be made; the text says what is missing."""


@dataclass
class Check:
    what: str
    passed: bool
    detail: str = ""

    def __str__(self) -> str:
        return f"{'ok' if self.passed else 'FAILED':8}{self.what}" + (f": {self.detail}" if self.detail else "")


@dataclass
class Trial:
    """A client's own home, a project, and a gateway with its data, all in one folder."""

    client: Client
    folder: Path
    checks: list[Check] = field(default_factory=list)
    screens: dict[str, str] = field(default_factory=dict)
    """What our commands printed at the end, by command line."""

    @property
    def home(self) -> Path:
        return self.folder / "home"

    @property
    def project(self) -> Path:
        return self.folder / "project"

    def environment(self) -> dict[str, str]:
        """Sealed: nothing of the user's, no way out but loopback for what obeys a proxy setting."""
        node = INSTALLED / "node_modules" / ".bin"
        inherited = {name: os.environ[name] for name in ("LANG", "LC_ALL", "TMPDIR") if name in os.environ}
        return {
            **inherited,
            "PATH": f"{node}:{os.environ['PATH']}",
            "HOME": str(self.home),
            "TERM": "xterm-256color",
            "NO_COLOR": "1",
            "COLUMNS": "100",
            "HTTPS_PROXY": "http://127.0.0.1:9",
            "NO_PROXY": "127.0.0.1,localhost",
            "TARGET_KEY": TARGET_KEY,
            **{name: value.format(home=self.home) for name, value in self.client.environment.items()},
        }

    def ullage(self, *arguments: str) -> str:
        """Output of one of our commands, run as the user of the sealed home."""
        command = [str(ULLAGE), *arguments]
        done = subprocess.run(
            command, env=self.environment(), cwd=self.project, capture_output=True, text=True, check=False
        )
        if done.returncode != 0:
            raise TrialError(f"{' '.join(['ullage', *arguments])}: {done.stderr.strip() or done.stdout.strip()}")
        return done.stdout

    def check(self, what: str, passed: bool, detail: str = "") -> None:
        self.checks.append(Check(what, passed, detail))


def run_trial(trial: Trial, *, record: Path | None = None, direct: bool = False) -> None:
    """Runs all of a client's models; afterwards the data of the gateway is still in the trial's folder.

    With `direct` there is no gateway, to see what a client does without one. Raises `TrialError`.
    """
    client = trial.client
    trial.home.mkdir(parents=True)
    trial.project.mkdir()
    program = INSTALLED / client.program
    if not program.exists():
        raise TrialError(f"{client.name} is not installed: run scripts/clients/install --all")
    recorder = Recorder(sink=DirectorySink(record) if record else None)
    with (
        run_in_thread(FakeProvider(recorder=recorder)) as provider,
        Tee(provider.url) as behind,
        contextlib.nullcontext(behind.url) if direct else running_gateway(trial, behind.url) as gateway,
        Tee(gateway) as before,
    ):
        prepare(trial, before.url)
        for model, header in client.models.items():
            sent = run_client(trial, program, model, before, behind)
            if client.again:
                sent += run_client(trial, program, model, before, behind, again=True)
            if not direct:
                check_session(trial, model, header, sent)
                check_awareness(trial, model)
                check_context(trial, model)
        if direct:
            return
        check_log(trial)
        for command in ("sessions", "model", "context"):
            trial.screens[f"ullage {command}"] = trial.ullage(command)


@contextlib.contextmanager
def running_gateway(trial: Trial, upstream: str, *options: str) -> Iterator[str]:
    """`ullage serve` with the provider as upstream of every dialect, and further options; gives its address."""
    upstreams = [f"--upstream={dialect}={upstream}" for dialect in ("openai", "anthropic", "gemini")]
    log = (trial.folder / "gateway.log").open("w")
    process = subprocess.Popen(
        [str(ULLAGE), "serve", "--port", "0", *upstreams, *options],
        env={**trial.environment(), "ULLAGE_MODELS__REFRESH": "false"},
        stdout=subprocess.PIPE,
        stderr=log,
        text=True,
    )
    try:
        yield wait_until_ready(process, trial)
    finally:
        process.terminate()
        process.wait(START_LIMIT_S)
        log.close()


def wait_until_ready(process: subprocess.Popen[str], trial: Trial) -> str:
    assert process.stdout is not None
    line = process.stdout.readline()
    address = re.search(r"listening on (http://\S+)", line)
    if address is None:
        log = (trial.folder / "gateway.log").read_text()
        raise TrialError(f"ullage serve did not start: {line}{log}")
    # The commands that ask the daemon find it by the settings, and there is the port only known now.
    settings = trial.home / ".config" / "ullage" / "config.toml"
    settings.parent.mkdir(parents=True)
    settings.write_text(f"[server]\nport = {address.group(1).rpartition(':')[2]}\n")
    return address.group(1)


def prepare(trial: Trial, url: str) -> None:
    """What the user has done before: a project with an instruction file and a skill, and `ullage setup CLIENT --write`."""
    client, project = trial.client, trial.project
    (project / LISTED).write_text("Nothing to see.\n")
    (project / "tools.py").write_text(TOOLS)
    (project / client.instructions).write_text(INSTRUCTIONS)
    if client.skill is not None:
        skill = project / client.skill / "marked-skill" / "SKILL.md"
        skill.parent.mkdir(parents=True)
        skill.write_text(SKILL)
    git = ["git", "-c", "user.name=You", "-c", "user.email=you@example.com"]
    for arguments in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "start"]):
        subprocess.run([*git, *arguments], cwd=project, env=trial.environment(), check=True)
    for name, text in client.files.items():
        file = trial.home / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text.replace("{url}", url))
    if client.set_up:
        trial.ullage("setup", client.name, "--url", url, "--write")


def run_client(
    trial: Trial, program: Path, model: str, before: Tee, behind: Tee, *, again: bool = False
) -> list[Exchange]:
    """One prompt on one model. Checks what went over the wire meanwhile, and gives the client's side of it."""
    seen = len(before.exchanges()), len(behind.exchanges())
    title = f"{model}, again" if again else model
    ask(trial, program, model, AGAIN if again else PROMPT, AGAIN if again else trial.client.answer, title, again=again)
    sent, arrived = before.exchanges()[seen[0] :], behind.exchanges()[seen[1] :]
    check_bytes(trial, title, sent, arrived)
    return sent


def ask(
    trial: Trial, program: Path, model: str, prompt: str, expected: str, title: str, *, again: bool = False
) -> None:
    """One prompt, whose answer is to hold what is expected. `again`: in the session that was last."""
    client = trial.client
    arguments = [part.format(model=model, prompt=prompt) for part in (client.again if again else client.arguments)]
    try:
        done = subprocess.run(
            [str(program), *arguments],
            cwd=trial.project,
            env=trial.environment(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=CLIENT_LIMIT_S,
        )
    except subprocess.TimeoutExpired as error:
        raise TrialError(f"{client.name} with {model} did not end within {CLIENT_LIMIT_S} s") from error
    with (trial.folder / f"{client.name}-{model.replace('/', '-')}.log").open("a") as log:
        log.write(done.stdout + done.stderr)
    answered = done.returncode == 0 and expected in done.stdout
    trial.check(f"{title}: the answer arrived", answered, "" if answered else (done.stdout + done.stderr)[-600:])
    time.sleep(0.2)  # the last bytes of a connection that the client has just closed


def check_bytes(trial: Trial, title: str, sent: list[Exchange], arrived: list[Exchange]) -> None:
    """Every request that the client posted reached the provider as it was, and every answer came back as it was."""
    posted = [exchange for exchange in sent if exchange.request.start.startswith("POST")]
    reached = [exchange for exchange in arrived if exchange.request.start.startswith("POST")]
    changed = Counter(one.request for one in posted) - Counter(one.request for one in reached)
    size = sum(len(exchange.request.body) for exchange in posted)
    trial.check(
        f"{title}: what was sent (requests: {len(posted)}, bytes: {size:,}) reached the provider unchanged",
        bool(posted) and len(posted) == len(reached) and not changed,
        difference(posted, reached, "request"),
    )
    returned = Counter(answer_key(one) for one in posted)
    given = Counter(answer_key(one) for one in reached)
    trial.check(
        f"{title}: their answers came back unchanged",
        returned == given,
        difference(posted, reached, "answer"),
    )


def answer_key(exchange: Exchange) -> tuple[str, Any, bytes] | None:
    """An answer without the headers that the gateway may add."""
    answer = exchange.answer
    if answer is None:
        return None
    headers = tuple(pair for pair in answer.headers if not pair[0].startswith("x-ullage-"))
    return answer.start, headers, answer.body


def difference(sent: list[Exchange], arrived: list[Exchange], side: str) -> str:
    """The first difference, in words; empty if there is none."""
    for one, other in zip(sent, arrived, strict=False):
        mine, theirs = (one.request, other.request) if side == "request" else (one.answer, other.answer)
        if mine is None or theirs is None or mine.start != theirs.start:
            return f"{mine and mine.start} against {theirs and theirs.start}" if mine != theirs else ""
        if mine.body != theirs.body:
            return f"{len(mine.body)} bytes of body against {len(theirs.body)}"
        extra = [pair for pair in {*mine.headers} ^ {*theirs.headers} if not pair[0].startswith("x-ullage-")]
        if extra:
            return f"headers differ: {extra}"
    return "" if len(sent) == len(arrived) else f"{len(sent)} exchanges against {len(arrived)}"


def check_session(trial: Trial, model: str, header: str | None, sent: list[Exchange]) -> None:
    """All requests of a run are one session of this client, under the id that was on the wire if there was one."""
    posted = [exchange.request for exchange in sent if exchange.request.start.startswith("POST")]
    named = {value for request in posted for name, value in request.headers if name == header}
    newest = newest_session(trial)
    expected = {
        "client": trial.client.seen_as or trial.client.name,
        "identity": "client" if header else "fingerprint",
        "calls": len(posted),
        "project": str(trial.project.resolve()) if trial.client.tells_project else None,
        **({"id": next(iter(named), None)} if header else {}),
    }
    found = {name: newest.get(name) for name in expected}
    trial.check(
        f"{model}: one session of the project, known by " + (header or "its fingerprint"),
        found == expected and len(named) <= 1,
        "" if found == expected else f"{found}, not {expected}",
    )


def newest_session(trial: Trial) -> dict[str, Any]:
    """The session that was last active; empty if there is none."""
    sessions = json.loads(trial.ullage("sessions", "list", "--json"))["sessions"]
    return sessions[0] if sessions else {}


def check_awareness(trial: Trial, model: str) -> None:
    """The manifest of the newest session's last turn names the profile of its model, and `ullage model` what that was taught."""
    shown = json.loads(trial.ullage("sessions", "show", newest_session(trial)["id"], "--json"))
    call = next(one for one in shown["newest_calls"] if one["kind"] == "conversation")
    manifest = json.loads(trial.ullage("manifest", call["id"], "--json"))
    profile, sample = manifest["awareness"]["profile"], manifest["sample"]
    known = json.loads(trial.ullage("model", profile["key"], "--json"))
    trial.check(
        f"{model}: its manifest and `ullage model` have its profile",
        profile["model"] == call["model"] and known["target"] == profile["key"],
        f"{profile['key']}, window {profile['context_window']}",
    )
    calibration = known["calibration"]
    trial.check(
        f"{model}: usage taught something where there was any",
        calibration["observed"] > 0 or sample == {"refused": "no_usage"},
        f"{calibration['observed']} samples by {calibration['estimator']}, {calibration['method']}",
    )


def check_log(trial: Trial) -> None:
    """The gateway had nothing to complain about."""
    log = (trial.folder / "gateway.log").read_text()
    complaints = [line for line in log.splitlines() if " ERROR " in line or " WARNING " in line]
    trial.check("the gateway logged no complaint", not complaints, "\n".join(complaints[:5]))


def check_context(trial: Trial, model: str) -> None:
    """The context view of the newest session names the instruction file and the skill, has tools, and adds up."""
    shown = json.loads(trial.ullage("context", "--json"))
    sections = shown["sections"]
    rows = sum(section["tokens"] for section in sections)
    trial.check(f"{model}: rows and gap are the total", rows + (shown["gap"] or 0) == shown["total"])
    if trial.client.skill is None:
        return
    rows_of = {
        kind: [one for one in sections if one["id"].startswith(kind)] for kind in ("context:", "skills", "tools")
    }
    files = [section["id"] for section in rows_of["context:"]]
    trial.check(f"{model}: the instruction file has its row", any(trial.client.instructions in one for one in files))
    trial.check(f"{model}: the skill has its row", "marked-skill" in json.dumps(rows_of["skills"]))
    trial.check(f"{model}: the tools have their row", any(section["tokens"] > 100 for section in rows_of["tools"]))
