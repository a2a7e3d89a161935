"""Pi: the built-in providers keep their models and credentials and get another address."""

from __future__ import annotations

from ullage.cli.setup.client import Change, Client, Edit, Place
from ullage.cli.setup.formats import Json

# What Pi appends to each: nothing, so the API version is part of the address, but for Anthropic's, whose client adds it.
PATHS = {"anthropic": "", "openai": "/v1", "google": "/v1beta"}

# Away from Anthropic's own host Pi tells no session id unless it is asked to; to OpenAI's Responses API it always does, and to
# Google's never.
SESSION_HEADER = Change(
    key=("providers", "anthropic", "compat", "sendSessionAffinityHeaders"), value=True, optional=True
)


def edits(place: Place) -> tuple[Edit, ...]:
    file = place.folder("PI_CODING_AGENT_DIR", ".pi/agent") / "models.json"
    addresses = (
        Change(key=("providers", provider, "baseUrl"), value=place.url + path) for provider, path in PATHS.items()
    )
    return (Edit(file=file, format=Json(), changes=(*addresses, SESSION_HEADER)),)


def once(place: Place) -> str:
    return ""


CLIENT = Client(
    name="pi",
    title="Pi",
    program="pi",
    edits=edits,
    once=once,
    notes=(
        "Your keys and Pi's catalogue of models stay in use; other providers are not touched.",
        "A ChatGPT or Google login has a provider of its own (openai-codex, google-gemini-cli) and is not redirected.",
    ),
)
