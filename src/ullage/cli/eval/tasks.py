"""`ullage eval tasks`: the user's own tasks with and without the router."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from ullage.cli.inputs import read_input
from ullage.cli.output import is_terminal, print_json
from ullage.cli.records import json_option
from ullage.core.errors import CallError, InputError
from ullage.core.terminal import safe

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ullage.evals.tasks import ArmSummary, Cost, Evaluation, Quality, Suppressed


@click.command()
@click.argument("file", metavar="RUNS.jsonl")
@json_option
def command(file: str, as_json: bool) -> int:
    """Compare runs of your tasks through the router with runs without it.

    A line of RUNS.jsonl is {taskId, revision, arm, accepted, costUsd, durationMs, model}, arm being `router` or `baseline`;
    `accepted` and `costUsd` may be null, `seed` and `synthetic` may be added. Each task needs exactly one run in each arm at each
    revision, otherwise the exit status is 2. Nothing is called, and no task is run.
    """
    from ullage.evals.tasks import evaluate

    try:
        evaluation = evaluate(read_input(file), file, watch=_watch)
    except InputError as error:
        if error.code != "unpaired":
            raise
        raise CallError(error.message, hint=error.hint, code=error.code) from error
    if as_json:
        print_json(evaluation)
    else:
        click.echo("\n".join(_lines(evaluation)))
    return 0


def _watch(draws: range) -> Iterable[int]:
    with click.progressbar(draws, label="comparing", file=sys.stderr, hidden=not is_terminal(sys.stderr)) as bar:
        yield from bar


def _lines(evaluation: Evaluation) -> Iterator[str]:
    from ullage.evals.tables import Table

    made_up = evaluation.provenance.synthetic
    if made_up:
        yield f"SYNTHETIC: {made_up} of {evaluation.provenance.records} runs are made up, so this says nothing of the router."
    yield f"{evaluation.n} {'pair' if evaluation.n == 1 else 'pairs'} of runs"
    arms = {"router": evaluation.router, "baseline": evaluation.baseline}
    rows = tuple((name, *_cells(arm, evaluation.n)) for name, arm in arms.items())
    header = ("arm", "accepted", "cost", "median duration", "models")
    yield Table(header=header, rows=rows).as_text()
    yield _quality_line(evaluation.quality)
    yield _cost_line(evaluation.cost)
    source = evaluation.provenance
    yield (
        f"From {safe(source.file)} (sha256 {source.sha256}): {source.records} runs at {source.revisions} "
        f"{'revision' if source.revisions == 1 else 'revisions'}, as they were handed in."
    )


def _cells(arm: ArmSummary, pairs: int) -> tuple[str, ...]:
    return (
        "not known" if arm.accepted is None else f"{arm.accepted} of {pairs}",
        "not known" if arm.cost_usd is None else f"${arm.cost_usd:,.4f}",
        f"{arm.duration_ms / 1000:,.1f} s",
        ", ".join(f"{safe(model)} {runs}" for model, runs in arm.models.items()),
    )


def _quality_line(quality: Quality | Suppressed) -> str:
    from ullage.evals.tasks import Quality

    if not isinstance(quality, Quality):
        return f"Quality: suppressed, {quality.reason}."
    return (
        f"Quality: {quality.router_only} accepted of the router only, {quality.baseline_only} of the baseline only; "
        f"McNemar's exact p {quality.p:.4g}."
    )


def _cost_line(cost: Cost | Suppressed) -> str:
    from ullage.evals.tasks import Cost

    if not isinstance(cost, Cost):
        return f"Cost: suppressed, {cost.reason}."
    if cost.ratio is None or cost.interval is None:
        return "Cost: no ratio, the baseline cost nothing."
    return (
        f"Cost: the router's runs cost {cost.ratio:.3f} times the baseline's "
        f"(95 %: {cost.interval.low:.3f} to {cost.interval.high:.3f}, {cost.draws:,} paired draws)."
    )
