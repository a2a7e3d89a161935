"""Codex: one key that moves its built-in OpenAI provider."""

from __future__ import annotations

from ullage.cli.setup.client import Change, Client, Edit, Place
from ullage.cli.setup.formats import Toml

# A provider of its own (`model_providers`) would do as well, but hides the sessions recorded so far from `codex resume`, which
# lists those of one provider, and needs the user's login arranged anew.
BASE_URL = "openai_base_url"


def edits(place: Place) -> tuple[Edit, ...]:
    file = place.folder("CODEX_HOME", ".codex") / "config.toml"
    return (Edit(file=file, format=Toml(), changes=(Change(key=(BASE_URL,), value=f"{place.url}/v1"),)),)


def once(place: Place) -> str:
    return f"codex -c {BASE_URL}={place.url}/v1"


CLIENT = Client(
    name="codex",
    title="Codex",
    program="codex",
    edits=edits,
    once=once,
    notes=(
        "An API key stays in use. A ChatGPT login does not work through the gateway: its requests belong to chatgpt.com.",
        "It has no effect while model_provider names another provider than the built-in openai.",
        "Codex tries a WebSocket first, is refused, and goes on over HTTP in the same run.",
    ),
)
