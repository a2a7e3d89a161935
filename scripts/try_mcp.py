#!/usr/bin/env python3
"""Try `ullage mcp` in one real client: does it connect, and is the model told of the tools?

    scripts/try_mcp.py claude-code|codex|opencode

Needs `scripts/clients/install` once. The client runs unmodified in a home folder of its own, is
told of the server as its how-to page says, and sends one prompt to the fake provider; no key, no
network. Exit status 1: a check failed; 2: the trial could not be made.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from clients.known import CLIENTS
from clients.trial import INSTALLED, ULLAGE, Trial

from ullage.testing import FakeProvider, Recorder, run_in_thread
from ullage.testing.recording import DirectorySink

LIMIT_S = 120
PROMPT = "Say hello."
TOLD = "kept in full: artifact_search finds a phrase in it"
"""From the server's instructions."""


@dataclass(frozen=True)
class Way:
    """How a client is told of the server and of the provider's address; `{url}` is that, `{ullage}` our program."""

    configure: tuple[tuple[str, ...], ...]
    arguments: tuple[str, ...]
    files: tuple[tuple[str, str], ...] = ()
    variables: tuple[tuple[str, str], ...] = ()
    connected: str = ""
    """What the last command of `configure` prints once it has talked to the server."""


WAYS = {
    "claude-code": Way(
        configure=(("mcp", "add", "ullage", "--", "{ullage}", "mcp"), ("mcp", "list")),
        arguments=("-p", "--model", "claude-opus-5", "--", PROMPT),
        variables=(("ANTHROPIC_BASE_URL", "{url}"), ("ENABLE_TOOL_SEARCH", "false")),
        connected="Connected",
    ),
    "codex": Way(
        configure=(("mcp", "add", "ullage", "--", "{ullage}", "mcp"), ("mcp", "list")),
        arguments=(
            *("exec", "--skip-git-repo-check", "--model", "gpt-5.5", "-c", 'model_provider="local"'),
            *(
                "-c",
                'model_providers.local={name="local",base_url="{url}/v1",wire_api="responses",env_key="OPENAI_API_KEY"}',
            ),
            PROMPT,
        ),
        connected="ullage",
    ),
    "opencode": Way(
        configure=(("mcp", "list"),),
        arguments=("run", "--model", "anthropic/claude-opus-5", PROMPT),
        files=(
            (
                "opencode.json",
                (
                    '{"mcp": {"ullage": {"type": "local", "command": ["{ullage}", "mcp"]}},'
                    ' "provider": {"anthropic": {"options": {"baseURL": "{url}/v1"}}}}'
                ),
            ),
        ),
        connected="connected",
    ),
}


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("client", choices=WAYS)
    name = parser.parse_args().client
    trial = Trial(CLIENTS[name], Path(tempfile.mkdtemp(prefix="ullage-trial-")))
    if not (INSTALLED / trial.client.program).exists():
        print(f"try_mcp: {name} is not installed: run scripts/clients/install", file=sys.stderr)
        return 2
    try:
        run(trial, WAYS[name])
    except subprocess.TimeoutExpired as error:
        print(f"try_mcp: {name} did not end within {error.timeout:g} s", file=sys.stderr)
        return 2
    finally:
        shutil.rmtree(trial.folder, ignore_errors=True)
    for check in trial.checks:
        print(check)
    return 0 if all(check.passed for check in trial.checks) else 1


def run(trial: Trial, way: Way) -> None:
    trial.home.mkdir(parents=True)
    trial.project.mkdir()
    recorder = Recorder(sink=DirectorySink(trial.folder / "received"))
    with run_in_thread(FakeProvider(recorder=recorder)) as provider:

        def filled(text: str) -> str:
            return text.replace("{url}", provider.url).replace("{ullage}", str(ULLAGE))

        for file, text in way.files:
            (trial.project / file).write_text(filled(text))
        variables = {key: filled(value) for key, value in way.variables}
        for arguments in way.configure:
            printed = start(trial, [filled(part) for part in arguments], variables)
        trial.check("the client connects to the server", way.connected in printed, printed.strip()[-300:])
        start(trial, [filled(part) for part in way.arguments], variables)
    bodies = (path.read_bytes() for path in (trial.folder / "received").glob("request-*[0-9].json"))
    requests = [json.loads(body) for body in bodies if body]
    told = [request for request in requests if TOLD in json.dumps(request)]
    trial.check("the model is told what the server is for", bool(told))
    names = sorted({tool.get("name") or "" for request in told for tool in request.get("tools", [])})
    ours = [tool for tool in names if "ullage" in tool]
    trial.check("its tools are listed, or fetched when they are asked for", len(ours) in (0, 8), ", ".join(ours))


def start(trial: Trial, arguments: list[str], variables: dict[str, str]) -> str:
    done = subprocess.run(
        [str(INSTALLED / trial.client.program), *arguments],
        env={**trial.environment(), **variables},
        cwd=trial.project,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=LIMIT_S,
    )
    return done.stdout + done.stderr


if __name__ == "__main__":
    sys.exit(main())
