"""Writes down what a real Pi says to the daemon: `python -m tests.pi.recorder VERSION` makes `data/VERSION.jsonl`.

What is Pi's own text is left out: the prompt is another one, descriptions of tools are cut. As `recorder.py serve FILE` it is the
daemon that the extension starts, and that writes.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

DATA = Path(__file__).with_name("data")
PROMPTS = ("Please use the tool: list the files of this folder.", "And what did I ask you before?")


def serve(file: str) -> int:
    from ullage.cli import main
    from ullage.pi import PiDoor

    answer = PiDoor.answer

    async def record(self: PiDoor, name: str, body: bytes) -> bytes:
        told = await answer(self, name, body)
        line = {"route": name, "said": _plain(json.loads(body)), "id": json.loads(told).get("id")}
        with Path(file).open("a") as stream:
            stream.write(json.dumps(line, ensure_ascii=False) + "\n")
        return told

    PiDoor.answer = record  # type: ignore[method-assign]
    return main(["serve"])


def record(version: str) -> None:
    from tests.pi.host import Host, find_pi
    from ullage.testing import FakeProvider, run_in_thread

    file = DATA / f"{version}.jsonl"
    file.unlink(missing_ok=True)
    with tempfile.TemporaryDirectory() as folder, run_in_thread(FakeProvider()) as provider:
        host = Host(Path(folder), find_pi(version), provider.url)
        installed = host.agent / "extensions" / "ullage" / "install.json"
        told = json.loads(installed.read_text())
        told["command"] = [sys.executable, __file__, str(file)]
        installed.write_text(json.dumps(told))
        models = ("anthropic/anthropic-model", "openai/openai-model")
        for more, prompt, model in zip(((), ("-c",)), PROMPTS, models, strict=True):
            host.run("-p", *more, "--system-prompt", "Be brief.", "--tools", "bash", "--model", model, prompt)
        host.stop()


def _plain(said: dict[str, Any]) -> dict[str, Any]:
    """Without Pi's own texts and this machine's folders."""
    for tool in said.get("tools") or ():
        tool |= {"description": "Run a command.", "parameters": _undescribed(tool["parameters"])}
    if "models" in said:
        said["models"] = [model for model in said["models"] if model["id"].endswith("-model")]
    if "prompt" in said:
        said["prompt"] = "Be brief."
    if "cwd" in said:
        said["cwd"] = "/project"
    for model in (said.get("model"), *said.get("models", ())):
        if model is not None:
            model["base_url"] = "http://127.0.0.1:9"
    for name in ("headers", "process"):
        said.pop(name, None)
    return said


def _undescribed(value: Any) -> Any:
    if isinstance(value, list):
        return [_undescribed(item) for item in value]
    if isinstance(value, dict):
        return {key: _undescribed(item) for key, item in value.items() if key != "description"}
    return value


if __name__ == "__main__":
    if sys.argv[-1] == "serve":
        sys.exit(serve(sys.argv[1]))
    record(sys.argv[1])
