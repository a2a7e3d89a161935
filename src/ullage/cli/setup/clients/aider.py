"""aider: an address for OpenAI's models and a variable for Anthropic's, in its own configuration file."""

from __future__ import annotations

from ullage.cli.setup.client import Change, Client, Edit, Place
from ullage.cli.setup.formats import Yaml


def edits(place: Place) -> tuple[Edit, ...]:
    changes = (
        Change(key=("openai-api-base",), value=f"{place.url}/v1"),
        Change(key=("set-env", "ANTHROPIC_API_BASE"), value=place.url),
    )
    return (Edit(file=place.home / ".aider.conf.yml", format=Yaml(), changes=changes),)


def once(place: Place) -> str:
    return f"OPENAI_API_BASE={place.url}/v1 ANTHROPIC_API_BASE={place.url} aider"


CLIENT = Client(
    name="aider",
    title="aider",
    program="aider",
    edits=edits,
    once=once,
    notes=(
        "Your API keys stay in use. Models of other providers are not redirected.",
        "A .aider.conf.yml in the project wins over this file, key by key.",
    ),
)
