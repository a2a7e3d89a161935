"""`ullage eval transcripts`: estimates against the prompts that recorded sessions report."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ullage.cli.output import is_terminal, print_json
from ullage.cli.records import json_option

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ullage.evals.transcripts import Evaluation


@click.command()
@click.argument("paths", metavar="PATH...", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--min-calls", type=click.IntRange(min=2), default=2, show_default=True, help="Leave out shorter transcripts."
)
@json_option
def command(paths: tuple[Path, ...], min_calls: int, as_json: bool) -> int:
    """Measure estimates against the prompts that recorded sessions report.

    PATH is a session file of a supported agent, or a folder of them. Every call is estimated from what was known before it was
    sent: the usage of the call before, and what came since. Beside it stand estimates of the whole text: with one constant
    that is fitted to the transcript, and with the ratio that the calls before would have taught.
    """
    from ullage.evals.files import find_files
    from ullage.evals.transcripts import evaluate

    found = find_files(paths)
    with click.progressbar(
        found.paths, label="reading sessions", file=sys.stderr, hidden=not is_terminal(sys.stderr)
    ) as files:
        evaluation = evaluate(files, min_calls=min_calls, skipped=found.skipped)
    if as_json:
        print_json(evaluation)
    else:
        for skipped in evaluation.skipped:
            click.echo(f"ullage: left out {skipped.path}: {skipped.reason}", err=True)
        click.echo("\n".join(_lines(evaluation)))
        if not evaluation.transcripts:
            click.echo(
                "hint: Give session files of Pi, Claude Code, Codex or OpenHands with usage, or their folders.",
                err=True,
            )
    return 0 if evaluation.transcripts else 1


def _lines(evaluation: Evaluation) -> Iterator[str]:
    from ullage.evals import tables
    from ullage.evals.transcripts import ALL

    if not evaluation.transcripts:
        yield "No session among these has calls to measure by."
        return
    yield "Each file: relative error of the estimates of the whole text, then of the next prompt from the last usage"
    yield f"{tables.file_table(evaluation).as_text()}\n"
    if evaluation.summary:
        yield "The whole text, with one constant fitted to each transcript"
        yield f"{tables.summary_table(evaluation).as_text()}\n"
    for client, scores in evaluation.pooled.items():
        yield f"The next prompt, {'all clients' if client == ALL else client}"
        yield f"{tables.method_table(scores).as_text()}\n"
    yield from _calibrated_lines(evaluation)
    yield "By client"
    yield f"{tables.client_table(evaluation).as_text()}\n"
    yield "Where the error of growth-v1 lies"
    yield f"{tables.miss_table(evaluation).as_text()}\n"
    yield "What was learned"
    yield f"{tables.law_table(evaluation).as_text()}\n"
    yield f"Not estimated from a last usage: {_counted(evaluation.unscored)}"


def _calibrated_lines(evaluation: Evaluation) -> Iterator[str]:
    from ullage.evals import tables
    from ullage.evals.calibrated import AFTER

    if not evaluation.calibrated:
        return
    yield f"The whole request, raw and with the ratio of the calls before: relative errors behind {AFTER[-1]} calls, median / p90"
    yield f"{tables.calibrated_table(evaluation.calibrated, AFTER[-1]).as_text()}\n"
    yield f"{tables.calibrated_summary(evaluation.calibrated).as_text()}\n"


def _counted(unscored: dict[str, int]) -> str:
    words = {"first": "without a call before", "switched": "after a switch of the model", "lossy": "with a text gone"}
    return ", ".join(f"{number:,} {words[reason]}" for reason, number in unscored.items()) or "none"
