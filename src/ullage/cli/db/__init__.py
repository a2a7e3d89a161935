"""`ullage db`: the databases of records: are they well, copies of them, room."""

from __future__ import annotations

from ullage.cli.app import LazyGroup

command = LazyGroup(
    name="db",
    help="Check, copy, prune or rebuild the databases of records.",
    table={
        "check": ("ullage.cli.db.check:command", "Say whether the databases are sound, and how large."),
        "backup": ("ullage.cli.db.backup:command", "Copy all databases, also while the daemon runs."),
        "prune": ("ullage.cli.db.prune:command", "Remove old records."),
        "rebuild": ("ullage.cli.db.rebuild:command", "Make damaged databases anew from what can be read."),
    },
)
