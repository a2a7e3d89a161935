"""How commands print: JSON alone on standard output, colour and progress only where a person looks."""

from __future__ import annotations

import sys
from typing import Any, TextIO

import click
import msgspec

from ullage.core.terminal import safe_json


def print_json(value: Any) -> None:
    """Prints what msgspec can encode; anything else (a path) as its text."""
    click.echo(safe_json(msgspec.json.format(msgspec.json.encode(value, enc_hook=str), indent=2).decode()))


def print_json_line(value: Any) -> None:
    """The same on one line, without any space."""
    click.echo(safe_json(msgspec.json.encode(value, enc_hook=str).decode()))


def is_terminal(stream: TextIO | None) -> bool:
    """Whether a person looks at it. `None` is a stream that the caller has closed."""
    return stream is not None and stream.isatty()


def wants_color() -> bool:
    """Whether a view is painted: on a terminal, unless `NO_COLOR` asks for none."""
    from ullage.settings import environment

    return is_terminal(sys.stdout) and not environment().get("NO_COLOR")
