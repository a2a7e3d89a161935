"""A real client that asks for `ullage/auto`: two prompts in one session, the first with a tool call, to a model that is chosen.

The gateway's usual upstreams lead nowhere; what it may choose from are three models of one provider, with a key of their own. The
client's key must not arrive there, nor the name that stands for the router.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from ullage.testing import FakeProvider, Recorder, run_in_thread
from ullage.testing.recording import DirectorySink

from .known import AGAIN, PROMPT, TARGET_KEY
from .tee import Tee
from .trial import INSTALLED, Trial, TrialError, ask, check_log, prepare, running_gateway

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from ullage.testing.recording import Received

NOWHERE = "http://127.0.0.1:9"

OFFERED = {"claude-haiku-4-5": 1.0, "claude-sonnet-4-5": 3.0, "claude-opus-5": 15.0}
"""USD per million tokens of input."""

SPOKEN = {
    "openai-chat": {"deepseek-chat": 0.3, "gpt-4.1": 2.0, "gpt-5.2": 1.75},
    "openai-responses": {"gpt-5-mini": 0.25, "gpt-5.2": 1.75, "gpt-5.2-pro": 21.0},
    "anthropic": OFFERED,
    "gemini": {"gemini-2.5-flash": 0.3, "gemini-2.5-pro": 1.25, "gemini-3-pro-preview": 2.0},
}
"""Models of a provider that speaks one protocol and no other."""

NAMED = {
    "claude-code": ("ullage/auto",),
    "codex": ("ullage/auto",),
    "pi": ("ullage/auto", "ullage-anthropic/auto", "ullage-responses/auto", "ullage-google/auto"),
    "opencode": ("openai/ullage/auto", "anthropic/ullage/auto", "google/ullage/auto"),
    "gemini-cli": ("ullage/auto",),
    "aider": ("openai/ullage/auto", "anthropic/ullage/auto"),
}
"""How each client is told the name. Pi has a provider that is called `ullage`, and one more for each further protocol."""

PI_PROTOCOLS = {
    "ullage": ("openai-completions", "/v1", {"sendSessionAffinityHeaders": True}),
    "ullage-anthropic": ("anthropic-messages", "", {"sendSessionAffinityHeaders": True}),
    "ullage-responses": ("openai-responses", "/v1", {}),
    "ullage-google": ("google-generative-ai", "/v1beta", {}),
}
"""What Pi calls a protocol, what stands behind the gateway's address, and what makes it send its session."""


def run_routed(trial: Trial, *, record: Path | None = None, dialect: str | None = None) -> None:
    """Runs all ways in which a client may name the router. With a `dialect` the provider speaks nothing else, and refuses what
    real ones do. Raises `TrialError`."""
    client = trial.client
    names = NAMED.get(client.name)
    if names is None:
        raise TrialError(f"{client.name} cannot be told a model by its command line.")
    program = INSTALLED / client.program
    if not program.exists():
        raise TrialError(f"{client.name} is not installed: run scripts/clients/install --all")
    trial.home.mkdir(parents=True)
    trial.project.mkdir()
    recorder = Recorder(sink=DirectorySink(record) if record else None)
    offered, dialects = (OFFERED, tuple(SPOKEN)) if dialect is None else (SPOKEN[dialect], (dialect,))
    with run_in_thread(FakeProvider(recorder=recorder, strict=dialect is not None)) as provider:
        settings = trial.folder / "routed.toml"
        settings.write_text(settings_text(provider.url, offered, dialects))
        with running_gateway(trial, NOWHERE, "--config", str(settings)) as gateway, Tee(gateway) as before:
            prepare(trial, before.url)
            if client.name == "pi":
                add_providers(trial.home / ".pi" / "agent" / "models.json", before.url)
            if client.name == "opencode":
                add_models(trial.home / ".config" / "opencode" / "opencode.json")
            for model in names:
                seen = len(list(provider.requests))
                ask(trial, program, model, PROMPT, client.answer, model)
                if client.again:
                    ask(trial, program, model, AGAIN, AGAIN, f"{model}, again", again=True)
                check_arrived(trial, model, list(provider.requests)[seen:], offered, dialects)
            check_log(trial)
            trial.screens["ullage why"] = trial.ullage("why")


def settings_text(url: str, offered: Mapping[str, float], dialects: Sequence[str]) -> str:
    """The models of one provider, with windows and prices."""
    known = "".join(
        f'[models.overrides."target/{model}"]\ncontext_window = 200000\nmax_output_tokens = 64000\nreasoning = true\n'
        f"images = true\ninput_price = {usd}\noutput_price = {5 * usd}\n"
        for model, usd in offered.items()
    )
    return (
        f'[providers.target]\nurl = "{url}"\nkey = "env:TARGET_KEY"\n'
        f"dialects = {json.dumps(dialects)}\nmodels = {json.dumps(list(offered))}\n{known}"
    )


def add_providers(file: Path, url: str) -> None:
    """Providers of Pi whose only model is the router, as docs/how-to/routed-requests.md has them."""
    settings = json.loads(file.read_text())
    for name, (protocol, path, compat) in PI_PROTOCOLS.items():
        model = {
            "id": "auto",
            "reasoning": True,
            "input": ["text", "image"],
            "contextWindow": 1_000_000,
            "maxTokens": 64_000,
        }
        settings["providers"][name] = {
            "baseUrl": url + path,
            "api": protocol,
            "apiKey": "any",
            "compat": compat,
            "models": [model],
        }
    file.write_text(json.dumps(settings))


def add_models(file: Path) -> None:
    """The router as a model of opencode's providers, as docs/how-to/routed-requests.md has it."""
    settings = json.loads(file.read_text())
    for name in ("openai", "anthropic", "google"):
        settings.setdefault("provider", {}).setdefault(name, {})["models"] = {"ullage/auto": {}}
    file.write_text(json.dumps(settings))


def check_arrived(
    trial: Trial, model: str, arrived: Iterable[Received], offered: Mapping[str, float], dialects: Sequence[str]
) -> None:
    """What the provider got: models that it has, in words that it knows, its own key and no other."""
    asked = [one for one in arrived if one.method == "POST"]
    refused = [f"{one.path} {one.status}" for one in asked if one.status is not None and one.status >= 400]
    trial.check(f"{model}: the provider took every request ({len(asked)})", bool(asked) and not refused, str(refused))
    foreign = {str(one.dialect) for one in asked} - set(dialects)
    trial.check(f"{model}: each in the provider's own protocol", not foreign, ", ".join(sorted(foreign)))
    strange = {one.model for one in asked} - set(offered)
    chosen = sorted({one.model for one in asked if one.model})
    trial.check(f"{model}: a model was chosen for each", not strange, ", ".join(map(str, strange or chosen)))
    without = [one for one in asked if TARGET_KEY.encode() not in b" ".join(value for _, value in one.headers)]
    trial.check(f"{model}: each came with the target's key", not without, f"{len(without)} without")
    leaked = [one for one in asked if any(value in (b"any", b"Bearer any") for _, value in one.headers)]
    trial.check(f"{model}: the client's own key stayed here", not leaked, f"{len(leaked)} with it")
    named = [
        one for one in asked if b"ullage/auto" in one.body and b'"model":"ullage/auto"' in one.body.replace(b" ", b"")
    ]
    trial.check(f"{model}: none named the router", not named, f"{len(named)} did")
