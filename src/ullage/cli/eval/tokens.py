"""`ullage eval tokens`: estimates against the counts that providers returned."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click

from ullage.cli.output import print_json
from ullage.cli.records import json_option
from ullage.core.errors import CallError, InputError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ullage.evals.tokens import Aspect, Evaluation

DEFAULT = "provider,size,kind"


@click.command()
@click.argument("file", metavar="FILE.jsonl", type=click.Path(path_type=Path))
@click.option(
    "--by",
    metavar="ASPECT,...",
    default=DEFAULT,
    show_default=True,
    help="What the rows are: provider, model, family, kind (of content), size.",
)
@json_option
def command(file: Path, by: str, as_json: bool) -> int:
    """Measure estimates against the counts that providers returned.

    Each line of FILE is {provider, model, api, payload, tokens}, as in `ullage count --batch`, with the tokens that the provider
    counted. The estimate sees the payload alone. A line that cannot be read is named and the rest goes on.
    """
    from ullage.evals.tokens import evaluate

    aspects = _aspects(by)
    evaluation = evaluate(_lines(file))
    if as_json:
        print_json(_data(evaluation, aspects))
    else:
        for note in _left_out(evaluation):
            click.echo(f"ullage: left out {note}", err=True)
        click.echo("\n".join(_screen(evaluation, aspects)))
        if not evaluation.scored:
            click.echo("hint: Give a file whose lines are `{provider, model, api, payload, tokens}`.", err=True)
    return 0 if evaluation.scored else 1


def _aspects(by: str) -> tuple[Aspect, ...]:
    from ullage.evals.tokens import ASPECTS

    names = [name.strip() for name in by.split(",") if name.strip()]
    unknown = [name for name in names if name not in ASPECTS]
    if unknown or not names:
        raise CallError(
            f"There are no rows by {', '.join(unknown) or 'nothing'}.", hint=f"Give some of {', '.join(ASPECTS)}."
        )
    return cast("tuple[Aspect, ...]", tuple(dict.fromkeys(names)))


def _lines(path: Path) -> Iterator[bytes]:
    """The lines of the file, a bar over its bytes meanwhile."""
    try:
        file = path.open("rb")
    except OSError as error:
        raise InputError(
            f"{path} cannot be read: {error.strerror or error}.", hint="Give a file that is there.", code="not_found"
        ) from error
    with (
        file,
        click.progressbar(
            length=path.stat().st_size, label="estimating", file=sys.stderr, hidden=not sys.stderr.isatty()
        ) as bar,
    ):
        for line in file:
            yield line
            bar.update(len(line))


def _left_out(evaluation: Evaluation) -> Iterator[str]:
    """Lines that are no cases, those of one reason together."""
    numbers: dict[str, list[int]] = {}
    for skipped in evaluation.skipped:
        numbers.setdefault(skipped.reason, []).append(skipped.line)
    for reason, lines in numbers.items():
        if len(lines) == 1:
            yield f"line {lines[0]}: {reason}"
        else:
            yield f"{len(lines):,} lines, {lines[0]} the first: {reason}"


def _data(evaluation: Evaluation, aspects: tuple[Aspect, ...]) -> dict[str, Any]:
    from ullage.evals.tokens import qualities, quality

    return {
        "all": quality(evaluation.scored, {}) if evaluation.scored else None,
        "groups": qualities(evaluation.scored, aspects),
        "skipped": evaluation.skipped,
    }


def _screen(evaluation: Evaluation, aspects: tuple[Aspect, ...]) -> Iterator[str]:
    from ullage.evals.token_tables import quality_table

    if not evaluation.scored:
        yield "No line of this file is a payload with its count."
        return
    yield "Estimates of payloads alone against what providers counted; errors relative to the count"
    yield f"{quality_table(evaluation.scored, aspects).as_text()}\n"
    yield "exact: without error. held: the interval holds the count. width: median width of the interval."
    yield "÷ 4: median and 90th percentile of four characters a token."
