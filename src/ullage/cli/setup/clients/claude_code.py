"""Claude Code: a variable in the `env` table of its settings, which wins over the shell's."""

from __future__ import annotations

from ullage.cli.setup.client import Change, Client, Edit, Place
from ullage.cli.setup.formats import Json

BASE_URL = "ANTHROPIC_BASE_URL"

# Away from Anthropic's own hosts older versions (seen in 2.1.197) send every tool in full instead of on demand: 76 kB in place of
# 48 kB in a first request. A relay that changes no byte can keep the short form, if Anthropic is what it relays to. 2.1.332 keeps
# it by itself.
TOOL_SEARCH = "ENABLE_TOOL_SEARCH"


def edits(place: Place) -> tuple[Edit, ...]:
    changes = [Change(key=("env", BASE_URL), value=place.url)]
    if "anthropic" in place.public:
        changes.append(Change(key=("env", TOOL_SEARCH), value="true", optional=True))
    file = place.folder("CLAUDE_CONFIG_DIR", ".claude") / "settings.json"
    return (Edit(file=file, format=Json(), changes=tuple(changes)),)


def once(place: Place) -> str:
    tool_search = f"{TOOL_SEARCH}=true " if "anthropic" in place.public else ""
    return f"{BASE_URL}={place.url} {tool_search}claude"


CLIENT = Client(
    name="claude-code",
    title="Claude Code",
    program="claude",
    edits=edits,
    once=once,
    notes=(
        "Your login stays in use, a subscription as well as an API key.",
        "A project's .claude/settings.json wins over this file.",
        "ENABLE_TOOL_SEARCH keeps requests of older versions (2.1.197) as short as without a gateway; 2.1.332 needs it no more.",
    ),
)
