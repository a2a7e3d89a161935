"""Gemini CLI: a variable in its own `.env`, and the kind of login that obeys it."""

from __future__ import annotations

from ullage.cli.setup.client import Change, Client, Edit, Place
from ullage.cli.setup.formats import Dotenv, Json

BASE_URL = "GOOGLE_GEMINI_BASE_URL"


def edits(place: Place) -> tuple[Edit, ...]:
    folder = place.folder("GEMINI_CLI_HOME", ".") / ".gemini"
    # With an address set and no kind of login chosen, Gemini CLI 0.61 refuses to start: "Invalid auth method selected".
    login = Change(key=("security", "auth", "selectedType"), value="gemini-api-key", optional=True)
    return (
        Edit(file=folder / ".env", format=Dotenv(), changes=(Change(key=(BASE_URL,), value=place.url),)),
        Edit(file=folder / "settings.json", format=Json(), changes=(login,)),
    )


def once(place: Place) -> str:
    return f"{BASE_URL}={place.url} gemini"


CLIENT = Client(
    name="gemini-cli",
    title="Gemini CLI",
    program="gemini",
    edits=edits,
    once=once,
    notes=(
        "An API key (GEMINI_API_KEY) stays in use. A login with Google talks to another service and is not redirected.",
        "The file is read in trusted folders only, and a .env of the project or of a folder above it takes its place.",
    ),
)
