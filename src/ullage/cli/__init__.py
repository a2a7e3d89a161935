"""The command line. Starts in no time: what a command needs is imported once it is known which command that is."""

from __future__ import annotations

import sys

# What a shell reports for a program that was stopped by SIGINT or SIGPIPE: 128 and the signal's number.
INTERRUPTED = 130
READER_LEFT = 141


def main(arguments: list[str] | None = None) -> int:
    """Runs `ullage` and returns its exit status (interface specification, section 1). `None`: the process's own arguments."""
    arguments = sys.argv[1:] if arguments is None else arguments
    try:
        status = answer(arguments)
        if sys.stdout is not None:  # closed by the caller
            sys.stdout.flush()
    except BrokenPipeError:
        from .faults import forget_output

        forget_output()
        return READER_LEFT
    except OSError as error:
        from .faults import tell_system_fault

        tell_system_fault(error)
        return 1
    except KeyboardInterrupt:
        return INTERRUPTED
    return status


def answer(arguments: list[str]) -> int:
    """The help screen and the version come from the table of commands alone, everything else from click: what a shell completes
    too, which it asks for without an argument."""
    if arguments in (["-h"], ["--help"]) or (not arguments and not _completes()):
        from .table import help_text

        print(help_text(), file=sys.stdout if arguments else sys.stderr)
        return 0 if arguments else 2
    if arguments == ["--version"]:
        from ullage._version import __version__

        print(f"ullage {__version__}")
        return 0
    from .app import run

    return run(arguments)


def _completes() -> bool:
    from ullage.settings import environment

    return "_ULLAGE_COMPLETE" in environment()
