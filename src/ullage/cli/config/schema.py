"""`ullage config schema`: what a settings file may hold, for editors and other programs."""

from __future__ import annotations

from typing import Any

import click
import msgspec

from ullage.cli.output import print_json
from ullage.settings import Settings, catalog

DRAFT = "https://json-schema.org/draft/2020-12/schema"

_TEXTS = {"type": "array", "items": {"type": "string"}}


@click.command()
def command() -> None:
    """Print the JSON Schema of the settings file."""
    print_json(schema())


def schema() -> dict[str, Any]:
    """The schema of the records, with the names that `upstreams` takes and the short forms of some tables, which types cannot
    say."""
    made: dict[str, Any] = msgspec.json.schema(Settings)
    definitions = made["$defs"]
    definitions["Settings"]["properties"]["upstreams"] |= {
        "properties": {
            setting.name: {"type": "string", "description": setting.meaning}
            for setting in catalog().values()
            if setting.section == "upstreams"
        },
        "additionalProperties": False,
    }
    _let_in(definitions["PrivacySettings"]["properties"]["remote_providers"], _TEXTS)
    _let_in(definitions["RoutingSettings"]["properties"]["scenarios"], {"type": "string"}, _TEXTS)
    for record in ("WhenSettings", "ActionSettings"):
        for name, field in definitions[record]["properties"].items():
            if field.get("type") == "array":
                definitions[record]["properties"][name] = {"anyOf": [field, field["items"]]}
    return {"$schema": DRAFT, **made}


def _let_in(table: dict[str, Any], *forms: dict[str, Any]) -> None:
    """Lets the members of a table have these forms too."""
    table["additionalProperties"] = {"anyOf": [table["additionalProperties"], *forms]}
