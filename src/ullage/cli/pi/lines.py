"""A line that was typed in Pi, as words and options (planner specification, section 31)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ullage.core.errors import CallError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .asked import Row


def split(line: str) -> list[str]:
    """The words of a line: blanks separate, single and double quotes group, a backslash escapes the next character.

    Raises `CallError` for a quote that does not end, and for a backslash with nothing behind it.
    """
    words: list[str] = []
    word: str | None = None
    quote = ""
    characters = iter(line)
    for one in characters:
        if one == "\\":
            following = next(characters, None)
            if following is None:
                raise CallError("The line ends with a backslash, so nothing was done.", hint="Write it twice.")
            word = (word or "") + following
        elif one == quote:
            quote = ""
        elif quote or not (one in "\"'" or one.isspace()):
            word = (word or "") + one
        elif one in "\"'":
            quote, word = one, word or ""
        elif word is not None:
            words.append(word)
            word = None
    if quote:
        raise CallError(f"The quote {quote} does not end, so nothing was done.", hint=f"Close it, or write \\{quote}.")
    return words if word is None else [*words, word]


def sort_out(words: Sequence[str], row: Row) -> tuple[tuple[str, ...], dict[str, tuple[str, ...]]]:
    """The words of a command, and its options: `--name=value`, `--name value`, `--name` alone; `--` ends them.

    Raises `CallError` for an option that the command does not have, and for one without the value that it needs.
    """
    plain: list[str] = []
    options: dict[str, tuple[str, ...]] = {}
    left = list(words)
    while left:
        word = left.pop(0)
        if word == "--":
            return (*plain, *left), options
        if not word.startswith("--"):
            plain.append(word)
            continue
        name, has_value, value = word[2:].partition("=")
        if name not in row.flags | row.values:
            known = ", ".join(f"--{one}" for one in sorted(row.flags | row.values))
            hint = f"Known: {known}." if known else "It has none."
            raise CallError(
                f"There is no option --{name[:40]} here, so nothing was done.", hint=f"{hint} -- ends options."
            )
        if name in row.values and not has_value:
            if not left or left[0].startswith("--"):
                raise CallError(f"--{name} needs a value, so nothing was done.", hint=f"Write --{name} VALUE.")
            value = left.pop(0)
        if name in row.values or is_set(name, value):
            options[name] = (*options.get(name, ()), value if name in row.values else "")
    return tuple(plain), options


def is_set(flag: str, value: str) -> bool:
    """Whether a flag is set: alone it is. Raises `CallError` for a value that says neither."""
    if value not in ("", "true", "false"):
        raise CallError(f"--{flag} is on or off, so nothing was done.", hint=f"Write --{flag} alone.")
    return value != "false"
