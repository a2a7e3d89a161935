"""A real Pi with a home of its own, the extension in it, and a fake provider in place of all others."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
CLIENTS = ROOT / ".clients"
NODES = (CLIENTS / "node_modules" / ".bin", CLIENTS / "node" / "node_modules" / ".bin")
"""Where our scripts put a Node: with all clients, and for Pi alone."""

NEWEST = "1.6.0"
OLDER = ("0.85.1", "0.74.0")
LIMIT_S = 60

UNUSABLE = "[privacy]\nenabled = 'perhaps'\n"
"""Settings that no daemon starts with."""

APIS = {
    "anthropic": ("anthropic-messages", ""),
    "openai": ("openai-completions", "/v1"),
    "responses": ("openai-responses", "/v1"),
    "google": ("google-generative-ai", "/v1beta"),
}


def find_pi(version: str) -> Path:
    """The program of a version; the test is skipped where it, or a Node that it runs on, is not installed."""
    with_all = [CLIENTS / "node_modules"] if version == NEWEST else []
    for modules in (*with_all, CLIENTS / "pi" / version / "node_modules"):
        package = modules / "@earendil-works" / "pi-coding-agent" / "package.json"
        if package.exists() and json.loads(package.read_text())["version"] == version and has_node():
            return modules / ".bin" / "pi"
    pytest.skip(f"Pi {version} or its Node is not installed: run `scripts/clients/install-pi {version}`")


@lru_cache
def has_node() -> bool:
    """Whether the Node that Pi will find is one that it runs on: 22.19 or later."""
    node = shutil.which("node", path=search_path())
    if node is None:
        return False
    told = subprocess.run([node, "--version"], capture_output=True, text=True, check=False).stdout
    return tuple(map(int, re.findall(r"\d+", told)[:2])) >= (22, 19)


def search_path() -> str:
    """Where Pi finds programs."""
    return os.pathsep.join([*map(str, NODES), os.environ["PATH"]])


class Rpc:
    """A running Pi. `notices` is what its extensions have told the user, `errors` where they have failed."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self.notices: list[str] = []
        self.errors: list[str] = []

    def type(self, command: str) -> str:
        """What a command of an extension, as `/context`, tells the user."""
        self.ask("prompt", ends="extension_ui_request", message=command)
        return self.notices.pop()

    def ask(self, command: str, *, ends: str = "agent_end", **more: Any) -> dict[str, Any]:
        """The answer to a command; a prompt is answered once Pi has ended its work."""
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(json.dumps({"type": command, **more}) + "\n")
        self._process.stdin.flush()
        answer: dict[str, Any] | None = None
        over = False
        for line in self._process.stdout:
            event = json.loads(line)
            is_notice = event["type"] == "extension_ui_request" and event["method"] == "notify"
            self.notices += [event["message"]] if is_notice else []
            self.errors += [event["error"]] if event["type"] == "extension_error" else []
            over = over or is_notice if ends == "extension_ui_request" else over or event["type"] == ends
            if event["type"] == "response" and event["command"] == command:
                answer = event
            if answer is not None and (command != "prompt" or over or not answer["success"]):
                return answer
        raise AssertionError(f"Pi ended before it answered {command}")


@dataclass
class Host:
    """Pi as its user has set it up: three providers, which are all the fake one at `provider`."""

    folder: Path
    pi: Path
    provider: str
    settings: str = ""
    """Ours, beside a port that is free."""

    window: int = 200_000
    environment: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.agent.mkdir(parents=True)
        self.project.mkdir()
        providers = {name: self._provider(name, *of) for name, of in APIS.items()}
        (self.agent / "models.json").write_text(json.dumps({"providers": providers}))
        (self.agent / "settings.json").write_text(
            json.dumps({"retry": {"enabled": False}, "compaction": {"enabled": False}})
        )
        self.configure(self.settings)
        self.install()

    def configure(self, settings: str) -> None:
        """Writes our settings, which the next daemon has."""
        file = self.home / ".config" / "ullage" / "config.toml"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"{settings}\n[server]\nport = 0\n")

    def install(self) -> None:
        """Puts the extension in place."""
        self.ullage("pi", "install")

    @property
    def home(self) -> Path:
        return self.folder / "home"

    @property
    def agent(self) -> Path:
        return self.home / ".pi" / "agent"

    @property
    def project(self) -> Path:
        return self.folder / "project"

    @property
    def data(self) -> Path:
        return self.home / ".local" / "share" / "ullage"

    def run(self, *arguments: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        """Pi with these arguments, until it ends."""
        done = subprocess.run(
            [str(self.pi), *arguments],
            env=self.environment_of_pi(),
            cwd=self.project,
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
            timeout=LIMIT_S,
            check=False,
        )
        assert not check or done.returncode == 0, done.stdout + done.stderr
        return done

    @contextlib.contextmanager
    def open(self, *arguments: str) -> Iterator[Rpc]:
        """Pi, spoken to by its own protocol, with these arguments."""
        with (self.folder / "errors").open("w") as errors:
            process = subprocess.Popen(
                [str(self.pi), "--mode", "rpc", *arguments],
                env=self.environment_of_pi(),
                cwd=self.project,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
            )
            try:
                yield Rpc(process)
            finally:
                assert process.stdin is not None and process.stdout is not None
                process.stdin.close()
                process.wait(LIMIT_S)
                process.stdout.close()

    def ullage(self, *arguments: str) -> str:
        """What one of our commands prints, run as Pi's user."""
        done = subprocess.run(
            [sys.executable, "-m", "ullage", *arguments],
            env=self.environment_of_pi(),
            cwd=self.project,
            capture_output=True,
            text=True,
            timeout=LIMIT_S,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def stop(self, how: signal.Signals = signal.SIGTERM) -> None:
        """Ends the daemon that Pi has started, if it runs, and waits for that."""
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            number = json.loads((self.data / "daemon.json").read_text())["pid"]
            os.kill(number, how)
            wait_until_gone(number)

    def forget_ullage(self) -> None:
        """Leaves the extension without a daemon that it could start."""
        file = self.agent / "extensions" / "ullage" / "install.json"
        file.write_text(json.dumps({**json.loads(file.read_text()), "command": ["/nonexistent"]}))

    def newest_session(self) -> dict[str, Any]:
        """The session that was last active."""
        found: dict[str, Any] = json.loads(self.ullage("sessions", "list", "--json"))["sessions"][0]
        return found

    def newest_manifest(self) -> dict[str, Any]:
        """The record of the newest request."""
        found: dict[str, Any] = json.loads(self.ullage("manifest", "--json"))
        return found

    def _provider(self, name: str, api: str, path: str) -> dict[str, Any]:
        model = {"id": f"{name}-model", "contextWindow": self.window, "maxTokens": 4096, "reasoning": False}
        models = [model, {**model, "id": f"{name}-other"}]
        return {"api": api, "baseUrl": self.provider + path, "apiKey": "any", "models": models}

    def environment_of_pi(self) -> dict[str, str]:
        """What Pi sees of the world: nothing of ours but the programs."""
        return {
            "PATH": search_path(),
            "HOME": str(self.home),
            "TERM": "xterm-256color",
            "NO_COLOR": "1",
            "PI_OFFLINE": "1",
            "COLUMNS": "100",
            "NO_PROXY": "127.0.0.1,localhost",
            "ULLAGE_MODELS__REFRESH": "false",
            **self.environment,
        }


def wait_until_gone(number: int) -> None:
    """Waits for the end of a process; one that does not end is killed, and that is a failure."""
    until = time.monotonic() + LIMIT_S
    while _runs(number):
        if time.monotonic() > until:
            os.kill(number, signal.SIGKILL)
            raise AssertionError(f"process {number} did not end in {LIMIT_S} s")
        time.sleep(0.02)


def _runs(number: int) -> bool:
    """Whether a process runs; one that has ended and that nobody asks about any more does not."""
    try:
        return Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False
