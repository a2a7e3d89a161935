"""`ullage pi command`: what `/context …` and `/auto-model …` of Pi are answered with.

Both lists of commands (planner specification 31, routing specification 29) are words for commands that there are: here they are
put into those, for the session that asks.
"""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

import click

from ullage.core.errors import CallError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


@click.command()
@click.argument("name", type=click.Choice(["context", "auto-model"]))
@click.argument("words", default="")
@click.option("--session", default="", help="The session in Pi.")
@click.option("--model", default="", help="The model that Pi is at, as provider/model.")
def command(name: str, words: str, session: str, model: str) -> int:
    """Answer a command that was typed in Pi, as /context or /auto-model; WORDS is what followed it."""
    from ullage.cli import answer

    from .words import AUTO_MODEL, CONTEXT, Asked

    asked = Asked(session=session, model=model, words=tuple(split(words)))
    table = CONTEXT if name == "context" else AUTO_MODEL
    first = asked.words[0] if asked.words else "status"
    row: Callable[[Asked], Sequence[str] | int] | None = table.get(first)
    if row is None:
        raise CallError(f"/{name} {first[:40]}: there is no such command.", hint=f"Known: {', '.join(table)}.")
    found = row(asked)
    return found if isinstance(found, int) else answer(list(found))


def split(words: str) -> list[str]:
    """The words of a line: quotes group, a backslash escapes. Raises `CallError` for a quote that does not end."""
    try:
        return shlex.split(words)
    except ValueError as error:
        raise CallError(f"What was typed cannot be read: {error}.", hint="Close the quote.") from error
