"""`ullage probe`: what a request's sections cost at an upstream that has no count endpoint."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from ullage.core.errors import CallError, InputError
from ullage.core.terminal import safe

from .exact import isolation_lines, isolation_report, needed_model
from .online import progress_bar, run_online, say
from .output import is_terminal, print_json
from .records import json_option, print_lines

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ullage.core.accounting.isolation import Isolation
    from ullage.core.wire import Conversation, Dialect
    from ullage.engine.probe import ProbePlan, ProbeResult, Skipped
    from ullage.settings import Settings
    from ullage.upstream import UpstreamClient
    from ullage.upstream.asking import Target

_MAX_CALLS, _MAX_TOKENS, _MAX_CHARS = 40, 200_000, 1_000_000
_NAMED_CASES = 3


class Job(NamedTuple):
    """One probe as it was asked for."""

    conversation: Conversation
    model: str
    target: Target
    settings: Settings


@click.command()
@click.argument("source", metavar="[SOURCE]", required=False)
@click.option("--request", "file", metavar="FILE", help="The request body, in place of SOURCE.")
@click.option("--upstream", metavar="DIALECT=URL", help="Where to send it, if not to the configured upstream.")
@click.option("--model", metavar="M", help="The model to measure, if not the one the request names.")
@click.option("--provider", metavar="P", help="Whose key to send, from its own variable. Without it none is sent.")
@click.option("--dialect", metavar="D", help="Shape of the request, if it cannot be told by its keys.")
@click.option(
    "--max-calls", metavar="N", type=click.IntRange(2), default=_MAX_CALLS, show_default=True, help="Most calls."
)
@click.option(
    "--max-tokens",
    metavar="N",
    type=click.IntRange(1),
    default=_MAX_TOKENS,
    show_default=True,
    help="Most tokens of all calls together, prompts and answers.",
)
@click.option(
    "--max-chars",
    metavar="N",
    type=click.IntRange(1),
    default=_MAX_CHARS,
    show_default=True,
    help="Most characters sent.",
)
@click.option("--yes", is_flag=True, help="Send without asking.")
@json_option
def command(
    source: str | None,
    file: str | None,
    upstream: str | None,
    model: str | None,
    provider: str | None,
    dialect: str | None,
    max_calls: int,
    max_tokens: int,
    max_chars: int,
    yes: bool,
    as_json: bool,
) -> int:
    """Measure what a request's sections cost, by tiny generations.

    SOURCE is a request body (`-` reads it from standard input) or a folder with a captured request. Each section is sent once
    before a message that only says hi, with thinking off and an answer of a token or so; what the upstream reports as prompt,
    less the same for that message alone, is its cost. The calls are paid for like any other: how many there will be is told
    first. Nothing of the request and nothing of the answers is printed or kept.
    """
    from ullage.engine.probe import Limits, plan_probe

    if (source is None) == (file is None):
        raise CallError("Give one request to measure: SOURCE or --request FILE.", hint="See `ullage probe --help`.")
    job = _job(source or file or "", upstream=upstream, model=model, provider=provider, dialect=dialect)
    limits = Limits(calls=max_calls, tokens=max_tokens, chars=max_chars)
    plan = plan_probe(job.conversation, job.model, limits, lambda part: _most_tokens(part, provider, job.model))
    _state(plan, job)
    if not yes:
        _ask_leave()
    result = _run(job, plan)
    if as_json:
        print_json(probe_report(job, plan, result))
    else:
        print_lines(probe_lines(job, plan, result))
    return 0 if result.stopped is None else 1


def _job(source: str, *, upstream: str | None, model: str | None, provider: str | None, dialect: str | None) -> Job:
    from ullage.core.wire import DIALECTS, parse_request
    from ullage.settings import load_settings

    from .context_input import Wishes, find_request

    request = find_request(source, Wishes(dialect=dialect, provider=provider, model=model))
    if request is None:
        raise InputError(
            f"{source} is no request body.",
            hint="A probe needs a request as it was sent; a session file does not hold one.",
            code="no_request",
        )
    spoken = next((name for name in DIALECTS if name == request.shape), None)
    if spoken is None:
        raise CallError(f"No upstream takes {request.shape} requests from here.", hint=f"One of {', '.join(DIALECTS)}.")
    conversation = parse_request(request.body, spoken)
    loaded = load_settings()
    loaded.require_usable()
    target = _target(_root(upstream, spoken, loaded.settings), spoken, provider)
    return Job(conversation, needed_model(request.wishes.model or conversation.model), target, loaded.settings)


def _root(upstream: str | None, dialect: Dialect, settings: Settings) -> str:
    from ullage.settings import parse_upstream_flag, resolve_upstreams

    if upstream is None:
        return resolve_upstreams(settings)[dialect]
    roots = parse_upstream_flag(upstream)
    if dialect not in roots:
        raise CallError(
            f"The request is {dialect}, the upstream is given for {', '.join(roots)}.",
            hint="Give the upstream of the request's own dialect, or name the --dialect.",
        )
    return roots[dialect]


def _target(root: str, dialect: Dialect, provider: str | None) -> Target:
    from ullage.settings.credentials import need_credential, provider_name
    from ullage.upstream.asking import Target
    from ullage.upstream.keys import check_destination

    if provider is None:
        return Target(root, dialect, None)
    name = provider_name(provider)
    check_destination(name, root)
    return Target(root, dialect, need_credential(name))


def _most_tokens(conversation: Conversation, provider: str | None, model: str) -> int:
    """The upper bound of our estimate."""
    from ullage.core.accounting import account, make_meter, read_options
    from ullage.core.wire import read_context

    meter = make_meter(dialect=conversation.dialect, provider=provider, model=model, client=None)
    return account(read_context(conversation), meter, options=read_options(conversation)).total.high


def _state(plan: ProbePlan, job: Job) -> None:
    """What will be sent, before it is."""
    from ullage.engine.probe import RUNAWAY_TOKENS

    key = f"with {job.target.credential}" if job.target.credential is not None else "without a key"
    cap = plan.planned[0].tiny.output_cap
    say(
        f"sends at most {plan.calls} calls to {job.target.host} {key}, for {job.model}, each with its answer capped at {cap}"
        f" (at most {RUNAWAY_TOKENS} if the upstream ignores the cap: a longer answer ends the probe)"
    )
    say(
        f"at most {plan.chars:,} characters and, by our estimate, {plan.tokens:,} tokens;"
        f" nothing is sent any more once {plan.limits.tokens:,} tokens would be exceeded"
    )
    for line in _skipped_lines(plan.skipped):
        say(line)


def _ask_leave() -> None:
    """Goes on only with a yes. Raises `CallError` where nobody can give one."""
    if not is_terminal(sys.stdin):
        raise CallError("A probe costs money, and nobody is there to allow it.", hint="Add --yes.", code="not_allowed")
    click.confirm("Send them?", abort=True, err=True)


def _run(job: Job, plan: ProbePlan) -> ProbeResult:
    from ullage.engine.probe import run_probe

    async def work(client: UpstreamClient) -> ProbeResult:
        with progress_bar(len(plan.planned), "measuring") as step:
            return await run_probe(plan, client=client, target=job.target, model=job.model, progress=step)

    return run_online(job.settings, job.target.root, work)


def probe_report(job: Job, plan: ProbePlan, result: ProbeResult) -> dict[str, Any]:
    """What was measured as plain data: sizes and names, no text."""
    from ullage.upstream.tiny import left_out

    return {
        "dialect": job.target.dialect,
        "upstream": job.target.host,
        "model": job.model,
        "answered_by": result.answered_by,
        "method": "usage-delta",
        "coverage": "full-request",
        "limits": {"calls": plan.limits.calls, "tokens": plan.limits.tokens, "chars": plan.limits.chars},
        "planned": {"calls": plan.calls, "tokens": plan.tokens, "chars": plan.chars},
        "spent": {
            "calls": result.calls,
            "chars": result.chars,
            "prompt_tokens": result.prompt_tokens,
            "output_tokens": result.output_tokens,
        },
        "sizes": {"system_chars": plan.isolation.system_chars, "tools_chars": plan.isolation.tools_chars},
        "isolation": isolation_report(_isolation(plan, result)),
        "left_out": list(left_out(job.conversation)),
        "not_measured": [{"id": skipped.case, "reason": skipped.reason} for skipped in result.skipped],
        "stopped": result.stopped,
    }


def probe_lines(job: Job, plan: ProbePlan, result: ProbeResult) -> list[str]:
    """What was measured, for people."""
    lines = isolation_lines(_isolation(plan, result), f"Measured with {result.answered_by}")
    lines += ["", f"{result.calls} calls, {result.prompt_tokens:,} prompt and {result.output_tokens:,} output tokens"]
    lines += [f"! {line}" for line in _skipped_lines(result.skipped)]
    if result.stopped is not None:
        lines.append(f"! ended early: {result.stopped}")
    return [safe(line) for line in lines]


def _skipped_lines(skipped: Iterable[Skipped]) -> list[str]:
    """One line for each reason, with the first few cases it holds for."""
    by_reason: dict[str, list[str]] = {}
    for one in skipped:
        by_reason.setdefault(one.reason, []).append(one.case)
    lines = []
    for reason, cases in by_reason.items():
        more = f" and {len(cases) - _NAMED_CASES} more" if len(cases) > _NAMED_CASES else ""
        lines.append(f"not measured: {', '.join(cases[:_NAMED_CASES])}{more} ({reason})")
    return lines


def _isolation(plan: ProbePlan, result: ProbeResult) -> Isolation:
    from ullage.core.accounting.isolation import isolate

    return isolate(plan.isolation, result.prompts)
