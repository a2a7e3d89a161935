"""A real client in managed mode: three prompts in a window too small for what came before them.

The client is run twice for each of its models. The first time nothing is left out, and the size of its requests is measured. The
second time the gateway is told of a window in which the second prompt fits only without some of the first; the provider refuses
what real ones refuse; and something is pinned that has to be in every request.
"""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ullage.testing import FakeProvider, Recorder, run_in_thread
from ullage.testing.recording import DirectorySink

from .known import AGAIN, PROMPT
from .tee import Tee
from .trial import INSTALLED, Trial, TrialError, ask, check_log, prepare, running_gateway

if TYPE_CHECKING:
    from pathlib import Path

    from ullage.testing.recording import Received

    from .tee import Exchange

ONCE_MORE = "Please use the tool once more: list the files of this folder."
"""The second prompt."""

MARK = "MARK-INSTRUCTIONS"
PIN = "MARK-PIN Never touch generated files."

FILES = 400
"""Files in the project beside those of any trial: what the tool says is then some five thousand tokens."""

FILL = 0.7
"""The share of a window that plans fill unless the settings say otherwise."""

LEAST_OUTPUT = 100
PIN_TOKENS = 200
RECORDED_TRIES = 10


@dataclass
class Size:
    """What the first prompt takes by our own estimate, by which limits are drawn: its largest request, the tool's result in it,
    and the output that the client asks for."""

    prompt: int
    result: int
    output: int

    @property
    def window(self) -> int:
        """A window for one such prompt, the pin, and half of another prompt. It has room for the output, too."""
        most = self.prompt + PIN_TOKENS + self.result // 2
        # What asks for more than this is not taken at its word, see `draw_budget`.
        asks_too_much = self.output > 7 * most
        return max(round(most / FILL), 0 if asks_too_much else most + self.output)


def run_managed(trial: Trial, *, record: Path | None = None) -> None:
    """Runs all of a client's models; checks and screens of all runs are the trial's. Raises `TrialError`."""
    client = trial.client
    if not client.again:
        raise TrialError(f"{client.name} has no second prompt of a session.")
    program = INSTALLED / client.program
    if not program.exists():
        raise TrialError(f"{client.name} is not installed: run scripts/clients/install --all")
    for number, model in enumerate(client.models):
        size = measure(Trial(client, trial.folder / f"{number}-measured"), program, model)
        managed = Trial(client, trial.folder / f"{number}-managed")
        run_small(managed, program, model, size, record)
        trial.checks += managed.checks
        trial.screens |= {f"{title} ({model})": text for title, text in managed.screens.items()}


def measure(trial: Trial, program: Path, model: str) -> Size:
    """What the first prompt takes where nothing is left out."""
    trial.home.mkdir(parents=True)
    trial.project.mkdir()
    with run_in_thread(FakeProvider()) as provider, running_gateway(trial, provider.url) as gateway:
        add_files(trial)
        prepare(trial, gateway)
        ask(trial, program, model, PROMPT, trial.client.answer, f"{model}, measured")
        sections = {one["id"]: one["tokens"] for one in json.loads(once_recorded(trial))["sections"]}
        asked = {one.usage.prompt or 0: output_of(one) for one in provider.requests if one.usage is not None}
    if "tool_outputs" not in sections or not all(check.passed for check in trial.checks):
        raise TrialError(f"{trial.client.name} with {model} cannot be measured: {trial.checks}, {sections}")
    return Size(prompt=sum(sections.values()), result=sections["tool_outputs"], output=asked[max(asked)])


def once_recorded(trial: Trial) -> str:
    """The context of the newest session, as soon as its calls are written down."""
    for _ in range(RECORDED_TRIES):
        try:
            shown = trial.ullage("context", "--json")
        except TrialError:
            time.sleep(0.5)
        else:
            if '"tool_outputs"' in shown:
                return shown
    return trial.ullage("context", "--json")


def run_small(trial: Trial, program: Path, model: str, size: Size, record: Path | None) -> None:
    """Three prompts in the small window, and what is to be checked of them."""
    trial.home.mkdir(parents=True)
    trial.project.mkdir()
    settings = trial.folder / "managed.toml"
    settings.write_text(
        'mode = "managed"\n[models.overrides."*"]\n'
        f"context_window = {size.window}\nmax_output_tokens = {LEAST_OUTPUT}\nsafety_margin_tokens = 0\n"
        "[artifacts]\nenabled = false\n"
    )
    recorder = Recorder(sink=DirectorySink(record) if record else None)
    with (
        run_in_thread(FakeProvider(recorder=recorder, strict=True)) as provider,
        running_gateway(trial, provider.url, "--config", str(settings)) as gateway,
        Tee(gateway) as before,
    ):
        add_files(trial)
        prepare(trial, before.url)
        if trial.client.tells_project:
            trial.ullage("pin", "add", "--project", str(trial.project), PIN)
        ask(trial, program, model, PROMPT, trial.client.answer, f"{model}, managed")
        ask(trial, program, model, ONCE_MORE, trial.client.answer, f"{model}, managed, once more", again=True)
        ask(trial, program, model, AGAIN, AGAIN, f"{model}, managed, again", again=True)
        check_sent(trial, model, before.exchanges(), list(provider.requests))
        check_log(trial)
        trial.screens["ullage why"] = trial.ullage("why")


def check_sent(trial: Trial, model: str, sent: list[Exchange], arrived: list[Received]) -> None:
    """The provider refused nothing, something was left out, nothing was made up, and what was pinned was there."""
    refused = [one for one in arrived if one.status is not None and one.status >= 400 and one.usage is None]
    posted = [one for one in sent if one.request.start.startswith("POST") and one.answer is not None]
    trial.check(
        f"{model}: the provider took every request ({len(posted)})",
        not [one for one in refused if one.method == "POST"],
        ", ".join(f"{one.method} {one.path} {one.status}" for one in refused if one.method == "POST"),
    )
    plans = [one for one in map(named_headers, posted) if "x-ullage-plan" in one]
    statuses = [one["x-ullage-plan"] for one in plans]
    told = [json.loads(trial.ullage("why", one["x-ullage-request"], "--json"))["plan"] for one in plans]
    left_out = [plan["messages"]["excluded"] for plan in told]
    trial.check(f"{model}: something was left out", any(left_out), f"{left_out} messages: {', '.join(statuses)}")
    trial.check(f"{model}: every plan is as it should be", {*statuses} <= {"unchanged", "managed"}, ", ".join(statuses))
    theirs = {text for one in posted for text in messages_of(one.request.body)}
    ours = [text for one in arrived if one.usage is not None for text in messages_of(one.body) if text not in theirs]
    if theirs:
        strange = [text for text in ours if "MARK-PIN" not in text and not is_part_of_one(text, theirs)]
        trial.check(f"{model}: every message is one of the client's, as it came", not strange, "\n".join(strange)[:600])
    marks = {"the instruction file": MARK.encode()}
    if trial.client.tells_project:
        marks["what was pinned"] = b"MARK-PIN"
    for what, mark in marks.items():
        found = sum(mark in one.body for one in arrived)
        trial.check(f"{model}: {what} was in every planned request", found == len(plans), f"{found} of {len(plans)}")


def named_headers(exchange: Exchange) -> dict[str, str]:
    """The headers of an answer by name."""
    return dict(exchange.answer.headers) if exchange.answer is not None else {}


def messages_of(body: bytes) -> list[str]:
    """The messages of a request, each as text that is the same for the same message; none of a body that is compressed."""
    try:
        payload = json.loads(body)
    except ValueError:
        return []
    found = next((payload[key] for key in ("messages", "input", "contents") if key in payload), [])
    return [json.dumps(message, sort_keys=True) for message in found] if isinstance(found, list) else []


def is_part_of_one(text: str, theirs: set[str]) -> bool:
    """Whether it is a message of the client's without thinking that lost what it was made on, or without the words beside its
    instruction file, whose turn has left."""
    blocks = json.loads(text).get("content")
    return isinstance(blocks, list) and any(
        is_without(blocks, json.loads(one).get("content")) for one in theirs if MARK in one or '"thinking"' in one
    )


def is_without(blocks: list[Any], whole: Any) -> bool:
    left = [one for one in whole if one not in blocks] if isinstance(whole, list) else []
    return bool(left) and [one for one in whole if one in blocks] == blocks


def add_files(trial: Trial) -> None:
    """Files with long names, behind those that the answer quotes."""
    for number in range(FILES):
        (trial.project / f"many-{number:03}-{'of-these-' * 4}.txt").write_text("")


def output_of(received: Received) -> int:
    """The output that a request asks for; 0 if it does not say."""
    try:
        payload: dict[str, Any] = json.loads(received.body)
    except ValueError:
        return 0
    config = payload.get("generationConfig") or {}
    names = ("max_tokens", "max_completion_tokens", "max_output_tokens")
    return max([payload.get(name) or 0 for name in names] + [config.get("maxOutputTokens") or 0])
