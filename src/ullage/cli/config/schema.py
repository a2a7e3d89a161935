"""`ullage config schema`: what a settings file may hold, for editors and other programs."""

from __future__ import annotations

from typing import Any

import click
import msgspec

from ullage.cli.output import print_json
from ullage.settings import Settings, catalog

DRAFT = "https://json-schema.org/draft/2020-12/schema"


@click.command()
def command() -> None:
    """Print the JSON Schema of the settings file."""
    print_json(schema())


def schema() -> dict[str, Any]:
    """The schema of the records, with the names that `upstreams` takes, which the type of a mapping cannot say."""
    made: dict[str, Any] = msgspec.json.schema(Settings)
    made["$defs"]["Settings"]["properties"]["upstreams"] |= {
        "properties": {
            setting.name: {"type": "string", "description": setting.meaning}
            for setting in catalog().values()
            if setting.section == "upstreams"
        },
        "additionalProperties": False,
    }
    return {"$schema": DRAFT, **made}
