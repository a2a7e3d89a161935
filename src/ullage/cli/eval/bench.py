"""`ullage eval bench`: how much of the evidence for a question plans keep."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from ullage.cli.output import is_terminal, print_json
from ullage.cli.records import json_option
from ullage.core.errors import CallError


@click.command()
@click.argument("paths", metavar="PATH...", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--limits", metavar="N,...", default="4000,8000,32000", show_default=True, help="Tokens of history to keep."
)
@json_option
def command(paths: tuple[Path, ...], limits: str, as_json: bool) -> int:
    """Measure how much of the evidence for a question plans keep.

    PATH is a folder of conversations.jsonl (or .jsonl.xz) and queries.jsonl, or one above several. For each query a plan chooses
    from the conversation before it, and what it keeps is compared with the messages that answer the query. Tokens are those of
    wire-v1; query and system prompt are outside of the limit. Beside our plan stand truncation and two rankings by words.
    """
    from ullage.evals.bench import find_benches, read_bench
    from ullage.evals.bench_scores import judge_bench, score_bench
    from ullage.evals.bench_tables import conduct_table, recall_table

    tokens = _limits(limits)
    folders = find_benches(paths)
    with click.progressbar(folders, label="planning", file=sys.stderr, hidden=not is_terminal(sys.stderr)) as progress:
        scores = [score for folder in progress for score in score_bench(judge_bench(read_bench(folder), tokens))]
    if as_json:
        print_json(scores)
    else:
        click.echo("Share of the gold evidence that is kept, by tokens of history")
        click.echo(f"{recall_table(scores).as_text()}\n\n{conduct_table(scores).as_text()}")
    return 0


def _limits(text: str) -> tuple[int, ...]:
    words = [word.strip() for word in text.split(",") if word.strip()]
    if not words or not all(word.isdecimal() for word in words):
        raise CallError(f"{text!r} names no limits.", hint="Give whole numbers of tokens, as 4000,8000.")
    return tuple(dict.fromkeys(map(int, words)))
