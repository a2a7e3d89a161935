"""The manual's pages hold together: links lead somewhere, and the commands they show exist as shown."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import click
import pytest

from ullage.cli.app import app

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), ROOT / "benchmarks" / "README.md"])
LINK = re.compile(r"\[[^\]]*\]\(([^)#\s]+)(?:#[^)]*)?\)")
SHELL = re.compile(r"```sh\n(.*?)```", re.DOTALL)
COMMAND = re.compile(r"(?:^|[|;&(]\s*)(ullage(?: [^#|;&\n]*)?)", re.MULTILINE)


def ids(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("page", PAGES, ids=ids)
def test_every_link_to_a_file_leads_to_one(page: Path) -> None:
    targets = [target for target in LINK.findall(page.read_text()) if "://" not in target]
    missing = [target for target in targets if not (page.parent / target).exists()]
    assert missing == []


@pytest.mark.parametrize("page", PAGES, ids=ids)
def test_every_command_shown_exists_with_its_options(page: Path) -> None:
    for block in SHELL.findall(page.read_text()):
        for line in COMMAND.findall(block.replace("\\\n", " ")):
            words = shlex.split(line)[1:]
            if words and not words[0].startswith("-"):
                check_options(words)


def check_options(words: list[str]) -> None:
    """Walks down the groups, then asks for each option by name."""
    command: click.Command = app
    with click.Context(app) as context:
        while isinstance(command, click.Group) and words and not words[0].startswith("-"):
            found = command.get_command(context, words[0])
            if found is None:
                break
            command, words = found, words[1:]
    assert command is not app, f"no such command: {words[0]}"
    known = {name for parameter in command.params for name in (*parameter.opts, *parameter.secondary_opts)} | {"--help"}
    used = {word.partition("=")[0] for word in words if word.startswith("--")}
    assert used <= known, f"{command.name} has no {', '.join(used - known)}"


def test_the_capture_in_the_readme_is_what_the_demo_prints(monkeypatch: pytest.MonkeyPatch) -> None:
    from scripts import readme_capture

    monkeypatch.setattr("sys.argv", ["readme_capture.py"])
    assert readme_capture.main() == 0
