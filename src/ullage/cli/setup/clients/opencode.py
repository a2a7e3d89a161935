"""opencode: the address of each built-in provider, in the user's own configuration file."""

from __future__ import annotations

from ullage.cli.setup.client import Change, Client, Edit, Place
from ullage.cli.setup.formats import Json

PATHS = {"anthropic": "/v1", "openai": "/v1", "google": "/v1beta"}


def edits(place: Place) -> tuple[Edit, ...]:
    folder = place.folder("XDG_CONFIG_HOME", ".config") / "opencode"
    commented = folder / "opencode.jsonc"
    changes = tuple(
        Change(key=("provider", provider, "options", "baseURL"), value=place.url + path)
        for provider, path in PATHS.items()
    )
    file = commented if commented.exists() else folder / "opencode.json"
    return (Edit(file=file, format=Json(), changes=changes),)


def once(place: Place) -> str:
    return ""


CLIENT = Client(
    name="opencode",
    title="opencode",
    program="opencode",
    edits=edits,
    once=once,
    notes=(
        "Your API keys stay in use; other providers are not touched, and a ChatGPT login is not redirected.",
        "A project's opencode.json wins over this file.",
    ),
)
