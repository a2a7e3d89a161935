"""`ullage budget`: limits of what may be spent, and what is (routing specification, sections 17 and 29)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ullage.cli.app import LazyGroup

if TYPE_CHECKING:
    from click import Context

_HELP = frozenset({"-h", "--help"})
_USUAL = "show"


class _Budget(LazyGroup):
    """A group that shows where no command is named."""

    def parse_args(self, ctx: Context, args: list[str]) -> list[str]:
        if not ctx.resilient_parsing and (not args or (args[0].startswith("-") and args[0] not in _HELP)):
            args = [_USUAL, *args]
        return super().parse_args(ctx, args)


command = _Budget(
    name="budget",
    help="""Show and limit what is spent.

    Without a command it shows every limit with what is spent and reserved of it. Limits for all stand in `[budget]` of the
    settings; one session may have its own.
    """,
    table={
        "show": ("ullage.cli.budget.show:command", "Show limits, what is spent and when they free. The usual command."),
        "set": ("ullage.cli.budget.set:command", "Limit what one session may spend."),
        "clear": ("ullage.cli.budget.clear:command", "Take that back."),
        "import": ("ullage.cli.budget.take:command", "Take over what Pi Auto Model has spent."),
    },
)
