"""`ullage auto`: what routes of sessions do, and what the user sets for them (routing specification, section 29)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ullage.cli.app import LazyGroup

if TYPE_CHECKING:
    from click import Context

_HELP = frozenset({"-h", "--help"})
_USUAL = "status"


class _Auto(LazyGroup):
    """A group that tells the status where no command is named."""

    def parse_args(self, ctx: Context, args: list[str]) -> list[str]:
        if not ctx.resilient_parsing and (not args or (args[0].startswith("-") and args[0] not in _HELP)):
            args = [_USUAL, *args]
        return super().parse_args(ctx, args)


command = _Auto(
    name="auto",
    help="""Steer where requests for `ullage/auto` go: for one session, or for all.

    Without a command it tells the status. What is set is for the newest routed session unless --session names another one, or
    --default says that it is for all; a session's own setting comes first. A running daemon heeds it with the next request.
    """,
    table={
        "on": ("ullage.cli.auto.on:command", "Choose a target for each task."),
        "off": ("ullage.cli.auto.off:command", "Stay at the target that the session is at."),
        "status": ("ullage.cli.auto.status:command", "Tell what holds now. The usual command."),
        "why": ("ullage.cli.auto.why:command", "Say why the newest task went where it did."),
        "task": ("ullage.cli.auto.task:command", "Tell what the newest task that is over cost and took."),
        "plan": ("ullage.cli.auto.plan:command", "Show where a prompt would go next. Nothing is sent."),
        "mode": ("ullage.cli.auto.mode:command", "Show or set what weighs most: the policy."),
        "pin": ("ullage.cli.auto.pin:command", "Send all requests to one target."),
        "unpin": ("ullage.cli.auto.unpin:command", "Take that back."),
        "pool": ("ullage.cli.auto.pool:command", "Show, set or leave the active pool."),
        "thinking": ("ullage.cli.auto.thinking:command", "Show or set how much models think."),
        "models": ("ullage.cli.auto.models:command", "List the targets that may be chosen now."),
        "providers": ("ullage.cli.auto.providers:command", "List the providers that may be chosen now."),
        "rules": ("ullage.cli.auto.rules:command", "List rules and scenarios, and what is wrong in the settings."),
        "history": ("ullage.cli.history:command", "List the newest decisions."),
        "metrics": ("ullage.cli.auto.metrics:command", "Add up routed calls: successes, times, cost."),
        "quota": ("ullage.cli.quota:command", "Show how near each provider is to its limits."),
        "budget": ("ullage.cli.budget:command", "Show and limit what is spent."),
        "feedback": ("ullage.cli.feedback:command", "Say that a target did well, or badly."),
        "outcome": ("ullage.cli.outcome:command", "Say how a task went."),
        "export": ("ullage.cli.export:command", "Write what is recorded as rows for other programs."),
        "shadow": ("ullage.cli.auto.shadow:command", "Add up what would have been chosen while routing only watched."),
        "doctor": ("ullage.cli.auto.doctor:command", "Look at everything that routes go by."),
    },
)
