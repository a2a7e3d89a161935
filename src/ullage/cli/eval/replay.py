"""`ullage eval replay`: recorded sessions, sent again by other policies through a played prompt cache."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ullage.cli.output import is_terminal, print_json
from ullage.cli.records import json_option

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from ullage.core.profiles import ModelProfile
    from ullage.evals.replay import Replay
    from ullage.evals.replay_policies import PolicyName

_NAMES = ("as-recorded", "sliding", "epoch-v1", "auto", "all")


@click.command()
@click.argument("paths", metavar="PATH...", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--policy",
    type=click.Choice(_NAMES),
    default="all",
    show_default=True,
    help="What the tail of each request goes by; the sliding one is always played.",
)
@click.option(
    "--tail", type=click.IntRange(min=0), default=64_000, show_default=True, help="Limit of the recent tail in tokens."
)
@click.option("--window", type=click.IntRange(min=1), help="Context window in tokens; without it each model's own.")
@json_option
def command(paths: tuple[Path, ...], policy: str, tail: int, window: int | None, as_json: bool) -> int:
    """Send recorded sessions again by other policies.

    PATH is a session file of a supported agent, or a folder of them. Every request is planned anew and sent to a played
    prompt cache of its provider: what it would have cost, and what would have been kept. As recorded, the cache must read
    what the provider reported.
    """
    from ullage.evals.files import find_files
    from ullage.evals.replay import replay

    found = find_files(paths)
    with click.progressbar(
        found.paths, label="replaying", file=sys.stderr, hidden=not is_terminal(sys.stderr)
    ) as files:
        made = replay(files, _profiles(), tail=tail, window=window, policies=_policies(policy), skipped=found.skipped)
    if as_json:
        from ullage.evals.replay_tables import report_replay

        print_json(report_replay(made))
    else:
        for skipped in made.skipped:
            click.echo(f"ullage: left out {skipped.path}: {skipped.reason}", err=True)
        click.echo("\n".join(_lines(made)))
        if not made.traces:
            click.echo("hint: Give session files of Pi, Claude Code or Codex with usage, or their folders.", err=True)
    return 0 if made.traces else 1


def _policies(name: str) -> Sequence[PolicyName]:
    from ullage.evals.replay_policies import POLICIES

    return tuple(policy for policy in POLICIES if name in (policy, "all") or policy == "sliding")


def _profiles() -> Callable[[str | None, str | None, str | None], ModelProfile]:
    """What is known of a model here: by the settings and the catalogues."""
    from ullage.catalogs import load_now
    from ullage.settings import load_settings
    from ullage.settings.resolving import resolve_by

    loaded = load_settings()
    catalogs = load_now(loaded.paths.cache_dir, refresh=loaded.settings.models.refresh)

    def profile_of(provider: str | None, model: str | None, dialect: str | None) -> ModelProfile:
        layers = catalogs.layers(provider or "", model or "")
        return resolve_by(loaded.settings, provider or "", model or "", dialect=dialect, layers=layers)

    return profile_of


def _lines(made: Replay) -> Iterator[str]:
    from ullage.evals import replay_tables as tables
    from ullage.evals.replay import ALL

    if not made.traces:
        yield "No session among these has calls to replay."
        return
    yield "What the played cache reads of the requests as they were sent, beside what providers reported"
    yield f"{tables.validation_table(made).as_text()}\n"
    for line in tables.disagreements(made):
        yield f"off by more than 5 %, or not to be told: {line}"
    if ALL not in made.pooled:
        yield f"No history among these is longer than the tail of {made.tail:,} tokens: every policy sends all of it."
        return
    yield f"\nEach session whose history is longer than the tail of {made.tail:,} tokens"
    yield f"{tables.trace_table(made).as_text()}\n"
    for name, policies in made.pooled.items():
        yield f"{'All clients' if name == ALL else name}"
        yield f"{tables.policy_table(policies).as_text()}\n"
    yield "cost: beside that of the sliding tail; of prompts alone. kept a call: tokens of messages in a request."
    yield "evidence: of what a reply draws on, the part that was sent. of sliding: of the sliding tail's messages, the part sent."
    if any(trace.reaches and not trace.priced for trace in made.traces):
        yield "Where no price is known, a million tokens of input is taken to cost 1 USD."
    if any(trace.reaches and trace.headless for trace in made.traces):
        yield "History from before a file begins is sent as recorded, and by no other policy."
