"""Starting processes and reading the kernel's own figures about them."""

from __future__ import annotations

import contextlib
import os
import platform
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parents[2]


def free_port() -> int:
    """A port that was free a moment ago."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def machine() -> str:
    """One line about the machine."""
    return (
        f"{platform.machine()}, {os.cpu_count()} cores, Linux {platform.release()}, Python {platform.python_version()}"
    )


def environment(**more: str) -> dict[str, str]:
    """The environment of a measured process: byte code may be written, as a user's would be."""
    plain = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    return {**plain, **more}


class Running:
    """A started process that listens on `port`."""

    def __init__(self, name: str, process: subprocess.Popen[bytes], port: int, started: float) -> None:
        self.name = name
        self.process = process
        self.port = port
        self.url = f"http://127.0.0.1:{port}"
        self.ready_s = time.perf_counter() - started

    def cpu_s(self, *, main_thread: bool) -> float:
        """CPU seconds so far, of the main thread or of the others, by the scheduler's clock (nanoseconds)."""
        total = 0
        for task in Path(f"/proc/{self.process.pid}/task").iterdir():
            if (task.name == str(self.process.pid)) == main_thread:
                with contextlib.suppress(OSError):
                    total += int((task / "schedstat").read_text().split()[0])
        return total / 1e9

    def memory_mb(self) -> float:
        """Resident memory now, in MB (10^6 bytes)."""
        for line in Path(f"/proc/{self.process.pid}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) * 1024 / 1e6
        return 0.0


@contextlib.contextmanager
def run(name: str, arguments: list[str], port: int, **env: str) -> Iterator[Running]:
    """Runs a Python module until the block is left; waits until it listens."""
    started = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, *arguments], cwd=ROOT, env=environment(**env), stdout=subprocess.DEVNULL
    )
    try:
        _wait_for(port, process)
        yield Running(name, process, port, started)
    finally:
        process.terminate()
        process.wait(timeout=30)


@contextlib.contextmanager
def provider() -> Iterator[Running]:
    """The canned provider."""
    port = free_port()
    with run("provider", ["-m", "benchmarks.parts.provider", str(port)], port) as running:
        yield running


@contextlib.contextmanager
def thin(upstream: str) -> Iterator[Running]:
    """The thin pass-through in front of `upstream`."""
    port = free_port()
    with run("thin", ["-m", "benchmarks.parts.thin", str(port), upstream], port) as running:
        yield running


@contextlib.contextmanager
def gateway(upstream: str, *, config: str = "", **env: str) -> Iterator[Running]:
    """`ullage serve` as a user starts it, with a data folder and the settings of `config`, TOML, of its own."""
    port = free_port()
    with tempfile.TemporaryDirectory() as folder:
        arguments = ["-m", "ullage", "serve", "--port", str(port), "--data-dir", folder]
        for dialect in ("openai", "anthropic", "gemini"):
            arguments += ["--upstream", f"{dialect}={upstream}"]
        (Path(folder) / "ullage").mkdir()
        (Path(folder) / "ullage" / "config.toml").write_text(config)
        settings = {"XDG_CONFIG_HOME": folder, "ULLAGE_MODELS__REFRESH": "false", **env}
        with run("ullage", arguments, port, **settings) as running:
            yield running


def _wait_for(port: int, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise RuntimeError(f"the process ended with {process.returncode} before it listened")
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
            return
        time.sleep(0.005)
    raise RuntimeError("the process did not listen within 30 s")
