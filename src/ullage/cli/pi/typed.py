"""`ullage pi command`: what `/context …` and `/auto-model …` of Pi are answered with.

Both lists of commands (planner specification 31, routing specification 29) are words for commands that there are: here they are
put into those, for the session that asks.
"""

from __future__ import annotations

import difflib
import sys
from typing import TYPE_CHECKING

import click
from msgspec.structs import replace

from ullage.core.errors import CallError
from ullage.core.terminal import safe

from .lines import sort_out, split

if TYPE_CHECKING:
    from .asked import Asked, Group, Row, Table

_USUAL = "status"
_HELP = "help"


@click.command()
@click.argument("name", type=click.Choice(["context", "auto-model"]))
@click.argument("words", default="")
@click.option("--session", default="", help="The session in Pi.")
@click.option("--model", default="", help="The model that Pi is at, as provider/model.")
@click.option("--host", is_flag=True, help="Standard input holds what Pi says of itself.")
def command(name: str, words: str, session: str, model: str, host: bool) -> int:
    """Answer a command that was typed in Pi, as /context or /auto-model; WORDS is what followed it."""
    from .asked import Asked, Host, read_host
    from .words import AUTO_MODEL, CONTEXT

    told = read_host(sys.stdin.buffer.read()) if host else Host()
    asked = Asked(session=session, model=model, host=told)
    return answer_typed(name, CONTEXT if name == "context" else AUTO_MODEL, words, asked)


def answer_typed(name: str, table: Table, line: str, asked: Asked) -> int:
    """Answers a line for a table of commands; an exit status. Raises `CallError` for a line that makes no sense."""
    from ullage.cli import answer

    found = _find(table, line)
    if isinstance(found, str):
        click.echo("\n".join(usage(name, table, found)))
        return 0 if found == _HELP else 2
    title, row, rest = found
    asked = replace(asked, words=(rest,) if rest else ()) if row.raw else _read(asked, row, rest)
    _check_number(f"/{name} {title} {row.takes}".rstrip(), row, len(asked.words))
    answered = row.answer(asked)
    return answered if isinstance(answered, int) else answer(list(answered))


def usage(name: str, table: Table, word: str) -> list[str]:
    """What there is to be typed; what is wrong with `word`, which was, stands last, where a screen that is too small ends."""
    entries = {
        f"{title} {row.takes}".rstrip(): _does(row)
        for first, entry in table.items()
        for title, row in _titles(first, entry)
    }
    width = max(map(len, entries))
    lines = [f"  {one:{width}}  {does}" for one, does in entries.items()]
    wrong = [] if word == _HELP else [_unknown(name, table, word)]
    return [f"/{name} is followed by:", *lines, *wrong]


def _unknown(name: str, table: Table, word: str) -> str:
    known = [title for first, entry in table.items() for title in (first, *(one for one, _ in _titles(first, entry)))]
    like = difflib.get_close_matches(word, known, n=1)
    return f"There is no /{name} {safe(word[:40])}.{f' Did you mean /{name} {like[0]}?' if like else ''}"


def _does(row: Row) -> str:
    options = " ".join(f"--{one}" for one in sorted(row.flags | row.values) if f"[{one}]" not in row.takes)
    return f"{row.does} ({options})" if options else row.does


def _titles(first: str, entry: Row | Group) -> list[tuple[str, Row]]:
    from .asked import Group

    if isinstance(entry, Group):
        return [(f"{first} {second}", row) for second, row in entry.rows.items()]
    return [(first, entry)]


def _find(table: Table, line: str) -> tuple[str, Row, str] | str:
    """The command that a line begins with: its name, what it is, and what follows. A word that is none is given back."""
    from .asked import Group

    first, rest = _cut(line)
    entry = table.get(first or _USUAL)
    if entry is None:
        return first
    if not isinstance(entry, Group):
        return first or _USUAL, entry, rest
    second, after = _cut(rest)
    if not second or second.startswith("--"):
        second, after = entry.usual, rest
    row = entry.rows.get(second)
    return f"{first} {second}" if row is None else (f"{first} {second}", row, after)


def _cut(line: str) -> tuple[str, str]:
    first, *rest = line.strip().split(maxsplit=1) or [""]
    return first, rest[0] if rest else ""


def _read(asked: Asked, row: Row, rest: str) -> Asked:
    words, options = sort_out(split(rest), row)
    return replace(asked, words=words, options=options)


def _check_number(whole: str, row: Row, number: int) -> None:
    if number < row.least or (row.most is not None and number > row.most and not row.raw):
        raise CallError(f"Write {whole}.", hint=row.does)
