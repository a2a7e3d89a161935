"""Makes docs/reference/cli.md from the help screens of all commands."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click
from generated import settle

from ullage.cli.app import CONTEXT_SETTINGS, app

if TYPE_CHECKING:
    from collections.abc import Iterator

WIDTH = 100

INTRODUCTION = """
# Command line

Every command has `--help`. What reports has `--json`: then standard output holds JSON alone, and messages go to standard error.

| exit status | means |
|---|---|
| 0 | done |
| 1 | the thing asked about is wrong: a file, a database, a provider, a check that failed |
| 2 | the call is wrong: an option, an argument, a setting given by a flag |
| 130, 141 | interrupted by Ctrl-C; the reader of the output left |

`ULLAGE_DEBUG=1` shows the traceback of an error.
"""


def main() -> int:
    parts = [INTRODUCTION.strip()]
    for name, command in commands("ullage", app):
        context = click.Context(command, info_name=name, terminal_width=WIDTH, **CONTEXT_SETTINGS)
        parts.append(f"## `{name}`\n\n```text\n{command.get_help(context).rstrip()}\n```")
    return settle("cli.md", "\n\n".join(parts))


def commands(name: str, command: click.Command) -> Iterator[tuple[str, click.Command]]:
    """A command and all below it, with the words that call each."""
    yield name, command
    if isinstance(command, click.Group):
        context = click.Context(command, info_name=name)
        for below in command.list_commands(context):
            found = command.get_command(context, below)
            assert found is not None
            yield from commands(f"{name} {below}", found)


if __name__ == "__main__":
    sys.exit(main())
