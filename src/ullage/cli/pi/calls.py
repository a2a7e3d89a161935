"""How rows of the two lists are answered: by a command of ours with these arguments, by a screen, or by what there is to say."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from .asked import Asked


def plain(*arguments: str) -> Callable[[Asked], Sequence[str]]:
    return lambda asked: (*arguments, *asked.passed(), *asked.words)


def of_session(*arguments: str) -> Callable[[Asked], Sequence[str]]:
    return lambda asked: (*arguments, *asked.passed(), *asked.words, *asked.of_session)


def one_text(*arguments: str, before: int = 0) -> Callable[[Asked], Sequence[str]]:
    """The words from a place on are one text."""
    return lambda asked: (
        *arguments,
        *asked.passed(classification="class"),
        "--",
        *asked.words[:before],
        " ".join(asked.words[before:]),
    )


def with_reason(*arguments: str) -> Callable[[Asked], Sequence[str]]:
    """The first word is an id, those behind it say why."""

    def row(asked: Asked) -> Sequence[str]:
        reason = " ".join(asked.words[1:])
        return (*arguments, asked.words[0], *asked.passed(), *(("--reason", reason) if reason else ()))

    return row


def screen(module: str, name: str) -> Callable[[Asked], int]:
    """What prints the answer itself; it is loaded when it is asked for."""

    def row(asked: Asked) -> int:
        show: Callable[[Asked], int] = getattr(importlib.import_module(f"ullage.cli.pi.{module}"), name)
        return show(asked)

    return row


def auto(name: str) -> Callable[[Asked], int]:
    """A command of `ullage auto` for this session, which chooses among Pi's own models."""

    def row(asked: Asked) -> int:
        from .auto_screens import run

        return run(asked, "auto", name, *asked.passed(), *asked.of_session, "--", *asked.words)

    return row


def steering(name: str) -> Callable[[Asked], int]:
    """A command of `ullage auto` that sets what holds for the routes of this session."""

    def row(asked: Asked) -> int:
        from .auto_screens import steer

        return steer(asked, "auto", name, *asked.passed(), *asked.of_session, "--", *asked.words)

    return row


def told(*sentences: str) -> Callable[[Asked], int]:
    """What there is nothing to show of, told as it is."""

    def row(_: Asked) -> int:
        from ullage.cli.records import print_lines

        print_lines(sentences)
        return 0

    return row


def pin(asked: Asked) -> Sequence[str]:
    """`--classification` is Pi's word for `--class`."""
    return ("pin", "add", *asked.of_session, *asked.passed(classification="class"), "--", asked.text)


def remember(asked: Asked) -> Sequence[str]:
    """What is remembered is for the project, unless its scope is said."""
    scope = () if asked.has("scope") else ("--scope", "project")
    return ("memory", "add", *asked.of_session, *scope, *asked.passed(classification="class"), "--", asked.text)


def model(asked: Asked) -> Sequence[str]:
    from .newest import model_of

    return ("model", *asked.passed(), *(asked.words or (model_of(asked),)))


def newest(command: str) -> Callable[[Asked], Sequence[str]]:
    def row(asked: Asked) -> Sequence[str]:
        from .newest import newest_call

        return (command, *asked.passed(), *(asked.words or (newest_call(asked.session).id,)))

    return row


def show_settings(asked: Asked) -> Sequence[str]:
    return ("config", "show", "--defaults", *asked.words)


def setting(command: str) -> Callable[[Asked], Sequence[str]]:
    """A setting of the project in this folder, or with `--global` of the user."""
    return lambda asked: (
        "config",
        command,
        *(() if asked.has("global") else ("--project",)),
        "--",
        *asked.words[:1],
        *((" ".join(asked.words[1:]),) if asked.words[1:] else ()),
    )
