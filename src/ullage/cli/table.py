"""Every command by name: where it lives and what it does in a line. Nothing here imports a command."""

from __future__ import annotations

Table = dict[str, tuple[str, str]]

COMMANDS: Table = {
    "serve": ("ullage.cli.serve:command", "Run the daemon between your agents and their providers."),
    "demo": ("ullage.cli.demo:command", "Try it all without keys or network."),
    "setup": ("ullage.cli.setup:command", "Point a coding agent at the daemon, or undo it."),
    "context": ("ullage.cli.context:command", "Show what fills the context window."),
    "count": ("ullage.cli.count:command", "Estimate the tokens of a request."),
    "plan": ("ullage.cli.plan:command", "Show what managed mode would send, and why."),
    "route": ("ullage.cli.route:command", "Show which model a prompt would go to, and why."),
    "auto": ("ullage.cli.auto:command", "Steer where requests for ullage/auto go."),
    "history": ("ullage.cli.history:command", "List the newest decisions of routes."),
    "feedback": ("ullage.cli.feedback:command", "Say that a target did well, or badly."),
    "outcome": ("ullage.cli.outcome:command", "Say how a task went."),
    "quota": ("ullage.cli.quota:command", "Show how near each provider is to its limits."),
    "budget": ("ullage.cli.budget:command", "Show and limit what is spent."),
    "spend": ("ullage.cli.budget:command", "Show and limit what is spent."),
    "probe": ("ullage.cli.probe:command", "Measure a request's sections at any upstream."),
    "sessions": ("ullage.cli.sessions:command", "List the sessions seen, or show one."),
    "manifest": ("ullage.cli.manifest:command", "Show the record of one call."),
    "why": ("ullage.cli.why:command", "Say why a call was sent as it was."),
    "metrics": ("ullage.cli.metrics:command", "Show attempts, times, cost and caches of recorded calls."),
    "export": ("ullage.cli.export:command", "Write what is recorded as rows for other programs."),
    "pin": ("ullage.cli.pin:command", "Keep a text in every request of a session or project."),
    "memory": ("ullage.cli.memory:command", "Note claims that later requests are told of."),
    "pi": ("ullage.cli.pi:command", "Bring all of it into the Pi coding agent."),
    "mcp": ("ullage.cli.mcp:command", "Serve an agent by MCP: recall, artifacts, pins."),
    "model": ("ullage.cli.model:command", "Show what is known of a model and what was learned."),
    "eval": ("ullage.cli.eval:command", "Measure estimates against recordings."),
    "config": ("ullage.cli.config:command", "Show or check the settings and where each comes from."),
    "db": ("ullage.cli.db:command", "Check, copy, prune or rebuild the databases of records."),
    "doctor": ("ullage.cli.doctor:command", "Check the installation and say what to do next."),
}

USAGE = "ullage [OPTIONS] COMMAND [ARGS]..."
SUMMARY = "See, fit and steer what a coding agent sends to a model."
OPTIONS = {"--version": "Show the version and exit.", "-h, --help": "Show this message and exit."}


def help_text() -> str:
    """The screen of `ullage --help`."""
    commands = {name: summary for name, (_, summary) in COMMANDS.items()}
    return "\n".join(
        [f"Usage: {USAGE}", "", f"  {SUMMARY}", "", "Options:", *rows(OPTIONS), "", "Commands:", *rows(commands)]
    )


def rows(entries: dict[str, str]) -> list[str]:
    width = max(len(name) for name in entries)
    return [f"  {name:{width}}  {summary}" for name, summary in entries.items()]
