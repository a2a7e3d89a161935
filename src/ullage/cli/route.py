"""`ullage route`: which model a prompt would go to, and why. Nothing is sent."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click
from msgspec.structs import replace

from ullage.core.errors import CallError
from ullage.core.terminal import safe_json

from .inputs import STDIN, lines_of_input, read_input
from .output import is_terminal, print_json
from .records import json_option, print_lines

if TYPE_CHECKING:
    from .route_asking import Ask, Router


@click.command()
@click.argument("prompt", metavar="[PROMPT]", required=False)
@click.option(
    "--context-tokens",
    metavar="N",
    type=click.IntRange(min=0),
    default=0,
    help="Tokens of the session before the prompt.",
)
@click.option("--images", is_flag=True, help="The prompt has pictures.")
@click.option("--policy", metavar="P", help="balanced, best, cost or fast. Default: as the settings say.")
@click.option("--models", metavar="FILE", help="The models to choose among, as JSON. Default: those of the settings.")
@click.option("--config", metavar="FILE", help="An auto-model.json in place of the settings of routing.")
@click.option("--alias", metavar="NAME", help="Choose as for this name of `routing.aliases`.")
@click.option("--current", metavar="TARGET", help="The target that the session is at.")
@click.option("--cold", is_flag=True, help="No cache holds the session's prefix any more.")
@click.option(
    "--cache-model",
    type=click.Choice(["horizon", "v1"]),
    help="How caches are priced: over all calls of the task, or over one. Default: horizon.",
)
@click.option("--batch", metavar="FILE.jsonl", help="Many prompts, one object a line; `-` reads standard input.")
@click.option("--explain", is_flag=True, help="Add every figure, and what would have turned the choice.")
@json_option
def command(
    prompt: str | None,
    context_tokens: int,
    images: bool,
    policy: str | None,
    models: str | None,
    config: str | None,
    alias: str | None,
    current: str | None,
    cold: bool,
    cache_model: str | None,
    batch: str | None,
    explain: bool,
    as_json: bool,
) -> int:
    """Show which model a prompt would go to, and why. Nothing is sent.

    PROMPT may begin with a pin (`@high`, `@model:provider/model`); `-` reads it from standard input. --models is a list of
    {provider, id, inputs, context_window, max_output_tokens, prices}; without it, the models of the providers are weighed that
    can be reached: with a key of yours, on this machine, or with the client's own key where calls went lately. The exit status is
    1 where none of them may take the prompt.

    A line of a batch is {id, prompt, context_tokens, images, policy, current, cold}; its answer, on the same line of the output,
    is the route with this id, or {id, error}. What a line lacks is as the options say. The exit status is 1 where a line has an
    error.
    """
    from .route_asking import Ask, load_router

    if (prompt is None) == (batch is None):
        raise CallError("route: Give either a PROMPT or --batch.", hint="See `ullage route --help`.")
    router, usual_policy = load_router(models, config, alias, cache_model, explain=explain)
    ask = Ask(
        context_tokens=context_tokens, images=int(images), policy=policy or usual_policy, current=current, cold=cold
    )
    if prompt is None:
        assert batch is not None
        return _route_batch(batch, router, ask)
    text = read_input(STDIN).decode("utf-8", "replace") if prompt == STDIN else prompt
    return _route_one(router, replace(ask, prompt=text), as_json=as_json)


def _route_one(router: Router, ask: Ask, *, as_json: bool) -> int:
    route = router.resolve(ask)
    if as_json:
        print_json(router.report(route))
    else:
        from .route_text import tell_route

        print_lines(tell_route(route, explain=router.explain))
    return int(route.target is None)


def _route_batch(batch: str, router: Router, ask: Ask) -> int:
    from .route_asking import answer_line

    readable = is_terminal(sys.stdout)
    lines = errors = 0
    for line in lines_of_input(batch):
        answer = answer_line(line, router, ask)
        lines += 1
        errors += not answer.is_route
        click.echo(safe_json(answer.text.decode()) if readable else answer.text)
    if not lines:
        click.echo("ullage: The batch holds no lines; `ullage route --help` says what a line is.", err=True)
    if errors:
        click.echo(f"ullage: {errors:,} of {lines:,} lines cannot be used; each has its `error`.", err=True)
    return int(errors > 0)
