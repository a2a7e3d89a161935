"""`ullage eval`: how good estimates and choices would have been on what was recorded."""

from __future__ import annotations

from ullage.cli.app import LazyGroup

command = LazyGroup(
    name="eval",
    help="Measure estimates against recordings.",
    table={
        "transcripts": (
            "ullage.cli.eval.transcripts:command",
            "How far estimates are from the prompts that sessions report.",
        ),
        "bench": ("ullage.cli.eval.bench:command", "How much of the evidence for a question plans keep."),
        "routing": ("ullage.cli.eval.routing:command", "What routes would have made of published outcomes of models."),
        "replay": ("ullage.cli.eval.replay:command", "What recorded sessions would have cost with another tail."),
        "tasks": ("ullage.cli.eval.tasks:command", "What your own tasks made of the router, run by run."),
        "tokens": ("ullage.cli.eval.tokens:command", "How far estimates are from what providers counted."),
    },
)
