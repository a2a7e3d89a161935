"""How commands print: JSON alone on standard output, colour and progress only where a person looks."""

from __future__ import annotations

import re
from typing import Any, TextIO

import click
import msgspec

# Control characters behind ASCII (JSON escapes those before), and marks that reorder a line.
_STEERING = re.compile(r"[\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def print_json(value: Any) -> None:
    """Prints what msgspec can encode; anything else (a path) as its text."""
    click.echo(_plain(msgspec.json.format(msgspec.json.encode(value, enc_hook=str), indent=2)))


def print_json_line(value: Any) -> None:
    """The same on one line, without any space."""
    click.echo(_plain(msgspec.json.encode(value, enc_hook=str)))


def _plain(text: bytes) -> str:
    """JSON that no terminal is driven by: what would do so is escaped, which is the same JSON."""
    return _STEERING.sub(lambda match: f"\\u{ord(match[0]):04x}", text.decode())


def is_terminal(stream: TextIO | None) -> bool:
    """Whether a person looks at it. `None` is a stream that the caller has closed."""
    return stream is not None and stream.isatty()
