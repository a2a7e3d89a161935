"""The click group over the table of commands, and the one place where an error becomes a line on the screen."""

from __future__ import annotations

import importlib
import io
import sys
from typing import TYPE_CHECKING, Any

import click

from ullage._version import __version__
from ullage.core.errors import CallError, UllageError

from . import INTERRUPTED, READER_LEFT
from .faults import forget_output, tell, tell_system_fault
from .table import COMMANDS, SUMMARY, Table, help_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from click import Command, Context, HelpFormatter

CONTEXT_SETTINGS: dict[str, Any] = {"help_option_names": ["-h", "--help"], "max_content_width": 100}


class LazyGroup(click.Group):
    """A group whose commands are imported when they are called; listing them needs the table alone."""

    def __init__(self, *args: Any, table: Table, **kwargs: Any) -> None:
        # A group called bare is a wrong call like any other, not a request for help.
        super().__init__(*args, **{"no_args_is_help": False, **kwargs})
        self.table = table

    def list_commands(self, ctx: Context) -> list[str]:
        return list(self.table)

    def get_command(self, ctx: Context, cmd_name: str) -> Command | None:
        if cmd_name not in self.table:
            return None
        module, _, attribute = self.table[cmd_name][0].partition(":")
        command: Command = getattr(importlib.import_module(module), attribute)
        return command

    def resolve_command(self, ctx: Context, args: list[str]) -> tuple[str | None, Command | None, list[str]]:
        name = args[0]
        if name not in self.table and not ctx.resilient_parsing:
            raise click.UsageError(f"There is no command {name!r}.{suggestion(name, list(self.table))}", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: Context, formatter: HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, summary) for name, (_, summary) in self.table.items()])


class TopGroup(LazyGroup):
    """The group of all commands; its help screen is the one that is printed without click."""

    def get_help(self, ctx: Context) -> str:
        return help_text()

    def invoke(self, ctx: Context) -> Any:
        try:
            return super().invoke(ctx)
        except BrokenPipeError as error:
            raise ReaderLeftError from error


class ReaderLeftError(Exception):
    """A closed pipe under a name that click does not know: click would end with status 1, which means something else here."""


app = TopGroup(name="ullage", table=COMMANDS, help=SUMMARY, context_settings=CONTEXT_SETTINGS)
click.version_option(__version__, message="ullage %(version)s")(app)


def suggestion(name: str, known: list[str]) -> str:
    """` Did you mean …?` for a name that is nearly a known one, else nothing."""
    import difflib  # only when something is wrong: it costs start-up time

    nearest = difflib.get_close_matches(name, known, n=1)
    return f" Did you mean {nearest[0]!r}?" if nearest else ""


def run(arguments: Sequence[str]) -> int:
    """Runs a command and returns its exit status; whatever goes wrong is told in a line or two on standard error."""
    make_printable()
    try:
        result = app.main(list(arguments), prog_name="ullage", standalone_mode=False)
    except click.Abort:
        return INTERRUPTED
    except ReaderLeftError:
        forget_output()
        return READER_LEFT
    except click.ClickException as error:
        tell(usage_message(error), usage_hint(error))
        return error.exit_code
    except UllageError as error:
        tell(error.message, error.hint)
        return 2 if isinstance(error, CallError) else 1
    except OSError as error:
        tell_system_fault(error)
        return 1
    # The outermost place: a fault of ours must not fill the user's screen with our source.
    except Exception as error:  # noqa: BLE001 - see above
        tell(f"Internal error: {type(error).__name__}: {error}", "Set ULLAGE_DEBUG=1 to see where it happened.")
        return 1
    return result if type(result) is int else 0


def make_printable() -> None:
    """Writes what a terminal's encoding lacks as an escape: a name or an arrow must not end a command."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def usage_message(error: click.ClickException) -> str:
    context = getattr(error, "ctx", None)
    command = context.command_path.removeprefix("ullage").strip() if context is not None else ""
    return f"{command}: {error.format_message()}" if command else error.format_message()


def usage_hint(error: click.ClickException) -> str:
    context = getattr(error, "ctx", None)
    return f"See `{context.command_path} --help`." if context is not None else ""
