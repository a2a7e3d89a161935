"""How commands print JSON: alone on standard output, indented, in the order of the record."""

from __future__ import annotations

from typing import Any

import click
import msgspec


def print_json(value: Any) -> None:
    """Prints what msgspec can encode; anything else (a path) as its text."""
    click.echo(msgspec.json.format(msgspec.json.encode(value, enc_hook=str), indent=2))
