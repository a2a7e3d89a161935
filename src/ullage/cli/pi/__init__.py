"""`ullage pi`: the extension that brings all of it into the Pi coding agent."""

from __future__ import annotations

from ullage.cli.app import LazyGroup

command = LazyGroup(
    name="pi",
    help="""Put the extension for the Pi coding agent in place, or take it away.

    It brings accounting and planning into Pi, and /context and /auto-model. Pi sends its requests itself, with its own
    credentials; the daemon tells it what to send.
    """,
    table={
        "install": ("ullage.cli.pi.install:command", "Put the extension where Pi finds it."),
        "uninstall": ("ullage.cli.pi.uninstall:command", "Take it away again."),
        "status": ("ullage.cli.pi.status:command", "Say what is in place, and whether it fits."),
        "command": ("ullage.cli.pi.typed:command", "Answer a command that was typed in Pi."),
    },
)
