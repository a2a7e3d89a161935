"""`ullage config`: the settings as they are, what is wrong with them, what there is to set, and setting it."""

from __future__ import annotations

from ullage.cli.app import LazyGroup

command = LazyGroup(
    name="config",
    help="Show, change or check the settings and where each comes from.",
    table={
        "show": ("ullage.cli.config.show:command", "Print every setting with its value."),
        "set": ("ullage.cli.config.set:command", "Write one setting into a file."),
        "unset": ("ullage.cli.config.unset:command", "Take one setting out of a file."),
        "check": ("ullage.cli.config.check:command", "Say what is wrong with the settings."),
        "import": ("ullage.cli.config.importing:command", "Take over settings of extensions of Pi."),
        "schema": ("ullage.cli.config.schema:command", "Print the JSON Schema of the settings file."),
    },
)
