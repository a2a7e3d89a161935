"""The command line as a whole: help, wrong calls, errors, and how fast it starts."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import click
import pytest

from ullage import __version__
from ullage.cli import INTERRUPTED, READER_LEFT, main
from ullage.cli.app import app
from ullage.cli.table import COMMANDS, help_text
from ullage.core.errors import InputError, SettingsError, StoreError, UpstreamError

SESSION = Path(__file__).parents[1] / "golden" / "views" / "session.in.jsonl"
PROGRAM = [sys.executable, "-c", "import sys; from ullage.cli import main; sys.exit(main())"]


@pytest.fixture
def failing(monkeypatch: pytest.MonkeyPatch) -> list[BaseException]:
    """`ullage fail` raises the one error that a test puts in."""
    errors: list[BaseException] = []

    @click.command()
    def command() -> None:
        raise errors[0]

    monkeypatch.setitem(COMMANDS, "fail", (f"{__name__}:failing_command", "Fail."))
    monkeypatch.setattr(sys.modules[__name__], "failing_command", command, raising=False)
    return errors


def test_help_is_the_same_with_and_without_click(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    assert capsys.readouterr().out == help_text() + "\n"
    assert app.get_help(click.Context(app)) == help_text()


def test_help_lists_every_command() -> None:
    assert all(f"\n  {name} " in help_text() for name in COMMANDS)


def test_a_bare_call_is_a_wrong_call_that_shows_the_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    assert capsys.readouterr() == ("", help_text() + "\n")


@pytest.mark.parametrize("call", [["--version"], ["--version", "serve"]])
def test_the_version_is_told(call: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(call) == 0
    assert capsys.readouterr().out == f"ullage {__version__}\n"


def test_an_unknown_command_is_met_with_the_likeliest_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["docter"]) == 2
    assert capsys.readouterr().err == (
        "ullage: There is no command 'docter'. Did you mean 'doctor'?\nhint: See `ullage --help`.\n"
    )


def test_a_wrong_option_is_told_with_the_command_it_was_given_to(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "--jsn"]) == 2
    said = capsys.readouterr().err
    assert said.startswith("ullage: doctor: No such option")
    assert said.endswith("hint: See `ullage doctor --help`.\n")


@pytest.mark.parametrize(
    ("error", "status"),
    [(InputError, 1), (StoreError, 1), (UpstreamError, 1), (SettingsError, 2)],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_an_error_of_ours_is_a_line_and_a_next_step(
    failing: list[BaseException], error: type[InputError], status: int, capsys: pytest.CaptureFixture[str]
) -> None:
    failing.append(error("It broke.", hint="mend it"))
    assert main(["fail"]) == status
    assert capsys.readouterr() == ("", "ullage: It broke.\nhint: mend it\n")


def test_a_fault_of_ours_shows_no_traceback(failing: list[BaseException], capsys: pytest.CaptureFixture[str]) -> None:
    failing.append(ZeroDivisionError("by nought"))
    assert main(["fail"]) == 1
    assert capsys.readouterr().err == (
        "ullage: Internal error: ZeroDivisionError: by nought\nhint: Set ULLAGE_DEBUG=1 to see where it happened.\n"
    )


def test_the_debug_switch_shows_where_it_happened(
    failing: list[BaseException], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ULLAGE_DEBUG", "1")
    failing.append(InputError("It broke."))
    assert main(["fail"]) == 1
    assert "Traceback" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (
            PermissionError(13, "Permission denied", "/etc/shadow"),
            "/etc/shadow: Permission denied.\nhint: Check that the file and its folder are yours to use.\n",
        ),
        (
            OSError(28, "No space left on device", "/data/x"),
            "/data/x: No space left on device.\nhint: Free some space, or name another place.\n",
        ),
        (
            OSError(24, "Too many open files"),
            "The system refused: Too many open files.\nhint: Close other programs, or raise the limit (`ulimit -n`).\n",
        ),
        (
            OSError(5, "Input/output error"),
            "The system refused: Input/output error.\nhint: Try it again; if it stays so, try another file or folder.\n",
        ),
        (OSError("odd"), "The system refused: odd.\nhint: Try it again; if it stays so, try another file or folder.\n"),
    ],
    ids=["permission", "space", "files", "input", "no number"],
)
def test_an_error_of_the_system_is_plain_words_and_a_next_step(
    failing: list[BaseException], error: OSError, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    failing.append(error)
    assert main(["fail"]) == 1
    assert capsys.readouterr().err == f"ullage: {said}"


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full here")  # noqa: PTH110 - the plain call is what is tested
@pytest.mark.parametrize("unbuffered", ["", "1"], ids=["buffered", "unbuffered"])
@pytest.mark.parametrize("call", [["--help"], ["doctor", "--help"], ["context", str(SESSION)]])
def test_an_output_that_cannot_be_written_is_told_once(call: list[str], unbuffered: str) -> None:
    environment = os.environ | {"PYTHONUNBUFFERED": unbuffered}
    with open("/dev/full", "wb") as full:  # noqa: PTH123 - the plain call is what is tested
        ended = subprocess.run([*PROGRAM, *call], stdout=full, stderr=subprocess.PIPE, env=environment, check=False)
    assert ended.returncode == 1
    assert ended.stderr.decode().splitlines() == [
        "ullage: The output cannot be written: No space left on device.",
        "hint: Free some space, or send the output elsewhere.",
    ]


@pytest.mark.parametrize("error", [KeyboardInterrupt(), click.Abort()], ids=["interrupt", "abort"])
def test_an_interrupt_ends_quietly(
    failing: list[BaseException], error: BaseException, capsys: pytest.CaptureFixture[str]
) -> None:
    failing.append(error)
    assert main(["fail"]) == INTERRUPTED
    assert capsys.readouterr().err.strip() == ""


@pytest.mark.parametrize("call", [["--help"], ["doctor", "--help"]])
def test_a_reader_that_left_ends_it_quietly(call: list[str]) -> None:
    read_end, write_end = os.pipe()
    os.close(read_end)
    with os.fdopen(write_end, "wb") as gone:
        ended = subprocess.run([*PROGRAM, *call], stdout=gone, stderr=subprocess.PIPE, check=False)
    assert (ended.returncode, ended.stderr) == (READER_LEFT, b"")


def test_a_command_that_runs_into_a_closed_pipe_ends_quietly(
    failing: list[BaseException], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    forgotten: list[bool] = []
    monkeypatch.setattr("ullage.cli.app.forget_output", lambda: forgotten.append(True))
    failing.append(BrokenPipeError(32, "Broken pipe"))
    assert main(["fail"]) == READER_LEFT
    assert forgotten == [True]
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("call", [["--help"], ["context", str(SESSION)], ["count", "--batch", str(SESSION)]])
def test_a_missing_standard_output_is_no_fault(call: list[str]) -> None:
    ended = subprocess.run([*PROGRAM, *call], preexec_fn=lambda: os.close(1), stderr=subprocess.PIPE, check=False)
    assert (ended.returncode, ended.stderr) == (0, b"")


@pytest.mark.parametrize(("call", "status"), [(["context", str(SESSION)], 0), (["docter"], 2)])
def test_a_missing_standard_error_changes_nothing_else(call: list[str], status: int) -> None:
    ended = subprocess.run([*PROGRAM, *call], preexec_fn=lambda: os.close(2), stdout=subprocess.PIPE, check=False)
    assert ended.returncode == status
    assert bool(ended.stdout) == (status == 0)


@pytest.mark.parametrize("call", [["context", "-"], ["count"], ["count", "--batch", "-"]])
def test_a_missing_standard_input_is_told_with_a_next_step(call: list[str]) -> None:
    ended = subprocess.run([*PROGRAM, *call], preexec_fn=lambda: os.close(0), capture_output=True, check=False)
    assert (ended.returncode, ended.stdout) == (1, b"")
    assert ended.stderr == b"ullage: Standard input is closed.\nhint: Give the path of a file.\n"


@pytest.mark.parametrize("name", COMMANDS)
def test_the_table_says_what_the_command_says(name: str) -> None:
    command = app.get_command(click.Context(app), name)
    assert command is not None
    assert command.help


def test_help_imports_no_command_and_no_click() -> None:
    code = (
        "import sys; from ullage.cli import main; main(['--help']); "
        "print([name for name in sys.modules if name.split('.')[0] in ('click', 'msgspec', 'asyncio')])"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ended.stdout.endswith("[]\n")


@pytest.mark.slow
def test_help_starts_within_five_times_an_empty_program() -> None:
    def fastest(*call: str) -> float:
        times = []
        for _ in range(10):
            started = time.perf_counter()
            subprocess.run(call, stdout=subprocess.DEVNULL, check=True)
            times.append(time.perf_counter() - started)
        return min(times)

    assert fastest(*PROGRAM, "--help") < 5 * fastest(sys.executable, "-c", "pass")
