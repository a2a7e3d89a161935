"""The extension on Pi's screen: a real Pi in a terminal that tmux keeps. Skipped where Pi or tmux is missing."""

from __future__ import annotations

import shlex
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.pi.host import NEWEST, OLDER, Host, find_pi, wait_until_gone
from ullage.testing import FakeProvider, run_in_thread

pytestmark = pytest.mark.slow

LIMIT_S = 40


class Terminal:
    """Pi in a terminal of its own."""

    def __init__(self, host: Host, *arguments: str) -> None:
        self._socket = str(host.folder / "tmux")
        start = " ".join(f"{name}={shlex.quote(value)}" for name, value in host.environment_of_pi().items())
        script = host.folder / "start"
        script.write_text(f"exec env -i {start} {shlex.quote(str(host.pi))} {shlex.join(arguments)}\n")
        size = ("-x", "110", "-y", "60", "-c", str(host.project))
        self._tmux("-f", "/dev/null", "new-session", "-d", "-s", "pi", *size, f"sh {script}")

    def resize(self, columns: int) -> None:
        self._tmux("resize-window", "-t", "pi", "-x", str(columns), "-y", "60")

    def keys(self, *keys: str) -> None:
        self._tmux("send-keys", "-t", "pi", *keys)

    def wait_for(self, *texts: str, without: str = "\0") -> str:
        """The screen once it shows all of the texts."""
        screen, until = "", time.monotonic() + LIMIT_S
        while time.monotonic() < until:
            screen = self._tmux("capture-pane", "-p", "-t", "pi")
            if all(text in screen for text in texts) and without not in screen:
                return screen
            time.sleep(0.1)
        raise AssertionError(f"{texts} did not come:\n{screen}")

    def close(self) -> None:
        """Ends Pi and waits until it is gone: it would start the daemon that is stopped next again."""
        number = int(self._tmux("list-panes", "-t", "pi", "-F", "#{pane_pid}") or 0)
        self._tmux("kill-server")
        if number:
            wait_until_gone(number)

    def _tmux(self, *arguments: str) -> str:
        done = subprocess.run(["tmux", "-S", self._socket, *arguments], capture_output=True, text=True, check=False)
        return done.stdout


@pytest.fixture(params=[NEWEST, *OLDER])
def terminal(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Terminal]:
    pi = find_pi(request.param)
    if shutil.which("tmux") is None:
        pytest.skip("tmux is not installed")
    with run_in_thread(FakeProvider(strict=True)) as provider:
        host = Host(tmp_path / "pi", pi, provider.url, settings="[routing.constraints]\nprovider_allow = ['openai']\n")
        opened = Terminal(host, "--model", "ullage/auto")
        yield opened
        opened.close()
        host.stop()


def test_panel_footer_and_commands_are_on_the_screen(terminal: Terminal) -> None:
    terminal.wait_for(
        "[Context] [summary] → compact → expanded", "Total request", "Auto ON · no choice yet · ullage/auto"
    )
    terminal.keys("C-o")
    terminal.wait_for("summary → [compact] → expanded")
    terminal.keys("C-o")
    terminal.wait_for("summary → compact → [expanded]")
    terminal.keys("C-o")
    terminal.wait_for("[summary] → compact → expanded")
    terminal.keys("Hello there.", "Enter")
    terminal.wait_for("You said", "· balanced · ullage/auto", without="[Context]")
    terminal.keys("/context", "Enter")
    terminal.wait_for("mode observe", "newest request")
    terminal.keys("/auto-model mode", "Enter")
    terminal.wait_for("balanced", "best", "cost", "fast")
    terminal.keys("Down", "Enter")
    terminal.wait_for("best", "session", without="cost")
    terminal.keys("/auto-model off")
    terminal.keys("Enter")
    terminal.wait_for("Auto OFF · ", "Routing is off")
    terminal.keys("/auto-model on")
    terminal.keys("Enter")
    terminal.wait_for("Auto ON · ", "Routing is on")
    terminal.keys("/model openai/openai-other", "Enter")
    terminal.wait_for("Auto OFF (manual) · ", "routing is off for this session")  # below what Pi says of it
    terminal.keys("/auto-model on")
    terminal.keys("Enter")
    terminal.wait_for("Auto ON · ", "Routing is on", "· ullage/auto")
    terminal.keys("/context token")
    terminal.wait_for("→ tokens")
    terminal.keys("s")
    terminal.wait_for("/context tokens", without="→ tokens")  # in full: Enter runs it, and takes nothing of a list
    terminal.keys("Enter")
    terminal.wait_for("calibration", "host ", "window ")
    terminal.keys("/reload", "Enter")
    terminal.wait_for("[Context] [summary]", "pi · model openai/")  # as who has answered last
    for command in ("/new", "/new", "/reload"):  # the panel is there when its session ends
        terminal.keys(command, "Enter")
        terminal.wait_for("[Context] [summary] → compact → expanded")


@dataclass
class WideHost(Host):
    """A Pi in a folder whose short name has characters that take two columns."""

    short: Path = Path("/tmp")

    @property
    def project(self) -> Path:
        return self.short / ("漢字" * 20)


@pytest.mark.parametrize("version", [NEWEST, *OLDER])
def test_on_a_narrow_screen_wide_characters_are_cut(tmp_path: Path, version: str) -> None:
    """A line that is wider than the screen ends some versions of Pi."""
    pi = find_pi(version)
    if shutil.which("tmux") is None:
        pytest.skip("tmux is not installed")
    with run_in_thread(FakeProvider(strict=True)) as provider, tempfile.TemporaryDirectory() as short:
        host = WideHost(tmp_path / "pi", pi, provider.url, short=Path(short))
        (host.project / "AGENTS.md").write_text("Rules.")
        terminal = Terminal(host, "--model", "ullage/auto")
        try:
            terminal.wait_for("[Context] [summary]")
            for view in ("[compact]", "[expanded]"):
                terminal.keys("C-o")
                terminal.wait_for(view)
            terminal.resize(30)
            terminal.wait_for("Framing", "Total request", without="[expanded]")
            terminal.keys("C-o")
            terminal.wait_for("[Context] [summary]", "Total request")
        finally:
            terminal.close()
            host.stop()
