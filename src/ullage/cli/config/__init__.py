"""`ullage config`: the settings as they are, what is wrong with them, and what there is to set."""

from __future__ import annotations

from ullage.cli.app import LazyGroup

command = LazyGroup(
    name="config",
    help="Show or check the settings and where each comes from.",
    table={
        "show": ("ullage.cli.config.show:command", "Print every setting with its value."),
        "check": ("ullage.cli.config.check:command", "Say what is wrong with the settings."),
        "import": ("ullage.cli.config.importing:command", "Take over settings of extensions of Pi."),
        "schema": ("ullage.cli.config.schema:command", "Print the JSON Schema of the settings file."),
    },
)
