"""`ullage eval routing`: routes on published outcomes of models."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import click

from ullage.cli.output import is_terminal, print_json
from ullage.cli.records import json_option

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from ullage.core.profiles import Layer
    from ullage.evals.routing import RoutingEvaluation

_T = TypeVar("_T")


@click.command()
@click.argument("folder", metavar="DATA", type=click.Path(path_type=Path))
@json_option
def command(folder: Path, as_json: bool) -> int:
    """Measure routes on published outcomes of models.

    DATA is a folder with some of swe_bench_verified.csv, llmrouter_nine_models.jsonl(.xz), gsm8k_two_models.jsonl(.xz) and
    aider_polyglot.csv. Published totals are found again first. Then our router stands beside each model alone, lots, the cheapest
    and an oracle, with paired 95 % intervals; what it learned comes from other folds than it is judged on. Nothing is called.

    The exit status is 1 where a published total is not found again.
    """
    from ullage.evals.routing import evaluate

    evaluation = evaluate(folder, _layers(), watch=_watch)
    if as_json:
        print_json(evaluation)
    else:
        for name in evaluation.missing:
            click.echo(f"ullage: {folder} has no {name}, which is left out", err=True)
        click.echo("\n".join(_lines(evaluation)))
    return int(any(check.agrees is False for check in evaluation.checks))


def _watch(label: str, work: Sequence[_T], /) -> Iterable[_T]:
    with click.progressbar(work, label=label, file=sys.stderr, hidden=not is_terminal(sys.stderr)) as bar:
        yield from bar


def _layers() -> Callable[[str, str], tuple[Layer, ...]]:
    """What the catalogues say here of a provider's model."""
    from ullage.catalogs import load_now
    from ullage.settings import load_settings

    loaded = load_settings()
    return load_now(loaded.paths.cache_dir, refresh=loaded.settings.models.refresh).layers


def _lines(evaluation: RoutingEvaluation) -> Iterator[str]:
    from ullage.evals import routing_tables as tables

    yield "Published figures, found again"
    yield f"{tables.checks_table(evaluation.checks).as_text()}\n"
    yield "What the router knows of the models"
    yield f"{tables.knowledge_table(evaluation.knowledge).as_text()}\n"
    for score in evaluation.sets:
        yield f"{score.name}: {score.tasks:,} tasks, spend in {score.unit} ({score.source}; {score.licence})"
        yield f"{tables.set_table(score).as_text()}\n"
        yield f"{tables.share_table(score).as_text()}\n"
    if evaluation.thresholds:
        yield "Which tasks need the stronger of two models"
        yield f"{tables.threshold_table(evaluation.thresholds).as_text()}\n"
    if evaluation.switching is not None:
        yield "Staying or switching, with the calls of real runs"
        yield f"{tables.switch_table(evaluation.switching).as_text()}\n"
    yield "same shares: against a lot that sends as many tasks to each model. equal spend: against the best lot for that money."
    yield f"Differences in points of a hundred, 95 % intervals of {evaluation.draws:,} paired draws."
    yield from tables.verdicts(evaluation)
