"""`--exact`: a request counted by its provider, for `ullage context` and `ullage count`."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Any, NamedTuple

from ullage.core.errors import CallError, InputError

from .online import progress_bar, run_online, say
from .records import now_ms, table

if TYPE_CHECKING:
    from ullage.core.accounting import Breakdown, Total
    from ullage.core.accounting.isolation import Isolation
    from ullage.core.wire import Dialect
    from ullage.engine.exact import Agenda, Count
    from ullage.settings import Settings
    from ullage.stores.counts import CountCache
    from ullage.upstream import UpstreamClient
    from ullage.upstream.asking import Target
    from ullage.upstream.counting import CountEndpoint, CountRequest

    from .context_input import Request, Wishes


class Unsent(NamedTuple):
    """A count request that we build and do not send."""

    endpoint: CountEndpoint
    model: str
    request: CountRequest

    total: None = None
    failed: bool = False


class Exact(NamedTuple):
    """What a provider counted of a request, and what the request's sections cost by that if they were counted apart."""

    endpoint: CountEndpoint
    model: str
    agenda: Agenda
    counts: dict[str, Count]
    isolation: Isolation | None

    @property
    def whole(self) -> Count:
        """The count of the request itself, or of what the endpoint takes of it."""
        return self.counts["full"]

    @property
    def total(self) -> int | None:
        """The tokens of the whole request; `None` if the count was refused, or if a part of the request is not in it."""
        return None if self.agenda.lost else self.whole.tokens

    @property
    def failed(self) -> bool:
        """Whether a count was refused."""
        return bool(self.refusals)

    @property
    def refusals(self) -> dict[str, str]:
        """Why counts are not used, by case."""
        return {case: count.refused for case, count in self.counts.items() if count.refused is not None}


def count_exactly(request: Request, *, apart: bool) -> Exact | Unsent:
    """Counts a request, with `apart` its sections too.

    What will be sent is told on standard error before it is. Raises `CallError` without a provider, a model or an endpoint,
    `SettingsError` without a key, `UpstreamError` when the provider does not count.
    """
    from ullage.settings.credentials import provider_name
    from ullage.upstream.counting import bedrock_request, find_endpoint

    if request.wishes.provider is None:
        raise CallError(
            "--exact asks a provider, and the shape of a request does not tell which one.",
            hint="Name it, for example --provider anthropic.",
            code="no_provider",
        )
    endpoint = find_endpoint(provider_name(request.wishes.provider), request.shape)
    if endpoint.not_sent:
        model = needed_model(request.wishes.model)
        return Unsent(endpoint, model, bedrock_request(request.body, endpoint, model))
    return _ask(request, endpoint, apart=apart)


def read_exactly(source: str | None, wishes: Wishes) -> tuple[Breakdown, Exact | Unsent, Total]:
    """The breakdown of a request body with what its provider counted in it, the counts themselves, and what we estimated.

    Raises `InputError` for a source that holds no request: what the client sent cannot be made up from a session's record.
    """
    from ullage.core.accounting.counted import with_counts

    from .context_input import account_request, find_request, named

    request = find_request(source, wishes) if source is not None else None
    if source is None or request is None:
        raise InputError(
            "--exact needs a request as it was sent: a body, or a folder with a captured request.",
            hint="Neither a session file nor the daemon's records hold one.",
            code="no_request",
        )
    breakdown = named(account_request(request), source)
    exact = count_exactly(request, apart=True)
    if isinstance(exact, Exact) and exact.isolation is not None and exact.agenda.plan is not None:
        chars = exact.agenda.plan.system_chars
        counted = with_counts(breakdown, full=exact.total, isolation=exact.isolation, system_chars=chars)
        return counted, exact, breakdown.total
    return breakdown, exact, breakdown.total


def needed_model(model: str | None) -> str:
    """The model. Raises `CallError` where none is named."""
    if model:
        return model
    raise CallError("The request names no model.", hint="Name it with --model.", code="no_model")


def exact_report(exact: Exact | Unsent, estimate: Total) -> dict[str, Any]:
    """The counts as plain data, beside our own `estimate` of the same request."""
    if isinstance(exact, Unsent):
        return _unsent_report(exact)
    agenda = exact.agenda
    return {
        "provider": exact.endpoint.provider,
        "model": exact.model,
        "method": exact.whole.method,
        "coverage": agenda.coverage,
        "tokens": exact.whole.tokens,
        "estimate": {"tokens": estimate.tokens, "low": estimate.low, "high": estimate.high},
        "counts": len(exact.counts),
        "cached": sum(count.cached for count in exact.counts.values()),
        "lost": list(agenda.lost),
        "left_out": list(agenda.left_out),
        "refused": [{"id": case, "reason": reason} for case, reason in exact.refusals.items()],
        "isolation": isolation_report(exact.isolation) if exact.isolation is not None else None,
    }


def isolation_report(isolation: Isolation) -> dict[str, Any]:
    """The costs of an isolation as plain data, in tokens."""
    return {
        "baseline": isolation.baseline,
        "system": isolation.system,
        "tools": isolation.tools,
        "tool_block": isolation.block,
        "tools_net": isolation.tools_net,
        "rest": isolation.rest,
        "full": isolation.full,
        "denominators": {"text": isolation.text_denominator, "tools": isolation.tools_denominator},
        "tool_costs": [
            {
                "name": cost.name,
                "chars": cost.chars,
                "tokens": cost.net,
                "above_baseline": cost.marginal,
                **({"state": "deferred"} if cost.deferred else {}),
            }
            for cost in isolation.tool_costs
        ],
    }


def exact_lines(exact: Exact | Unsent, estimate: Total) -> list[str]:
    """The counts for people, beside our own `estimate` of the same request."""
    if isinstance(exact, Unsent):
        sizes = f"{len(exact.request.body):,} bytes for {exact.request.path}"
        return [f"! Built and not sent: {sizes}. {exact.endpoint.not_sent}. `--json` prints it."]
    lines = [f"! {exact.endpoint.provider}'s count is refused ({case}): {why}" for case, why in exact.refusals.items()]
    if exact.agenda.lost:
        what = ", ".join(exact.agenda.lost)
        tokens = f": {exact.whole.tokens:,} tokens" if exact.whole.tokens is not None else ""
        lines.append(f"! Counted without {what}{tokens}, which is no count of the whole request.")
    if exact.agenda.over_cap:
        lines.append("! More tools than may be counted one by one: their block is not known.")
    if exact.isolation is not None:
        lines += [*isolation_lines(exact.isolation, f"Counted by {exact.endpoint.provider}"), ""]
    if exact.total is not None:
        lines.append(f"estimated here: ~{estimate.tokens:,} ({_error(estimate.tokens, exact.total)})")
    if exact.agenda.left_out:
        lines.append(f"left out, since the endpoint does not take it: {', '.join(exact.agenda.left_out)}")
    return lines


def isolation_lines(isolation: Isolation, title: str) -> list[str]:
    """The costs of an isolation for people; single tools only where their own costs are known."""
    rows = [
        ["System prompt", _tokens(isolation.system), _density(isolation.text_denominator)],
        ["Tools", _tokens(isolation.tools), _density(isolation.tools_denominator)],
    ]
    if isolation.block is not None:
        rows.append(["  tool block, once", _tokens(isolation.block), ""])
        costs = sorted(isolation.tool_costs, key=lambda cost: (-(cost.net or 0), cost.name))
        rows += [[f"  {cost.name}", _tokens(cost.net), "deferred" if cost.deferred else ""] for cost in costs]
    rows += [
        ["Messages and framing", _tokens(isolation.rest), ""],
        ["Whole request", _tokens(isolation.full), ""],
    ]
    return table([title, "tokens", ""], rows, right=(1,))


def _ask(request: Request, endpoint: CountEndpoint, *, apart: bool) -> Exact:
    from ullage.core.accounting.isolation import isolate
    from ullage.core.wire import DIALECTS, parse_request
    from ullage.engine.exact import known_counts, plan_counts
    from ullage.settings import load_settings
    from ullage.stores.counts import CountCache

    dialect = next(dialect for dialect in DIALECTS if dialect == endpoint.shape)
    conversation = parse_request(request.body, dialect)
    model = needed_model(request.wishes.model or conversation.model)
    agenda = plan_counts(conversation, endpoint, model, apart=apart)
    loaded = load_settings()
    loaded.require_usable()
    with closing(CountCache(loaded.paths.cache_dir, now_ms)) as cache:
        counts = _counts(agenda, endpoint, dialect, loaded.settings, cache)
        if cache.problem is not None:
            say(cache.problem)
    isolation = isolate(agenda.plan, known_counts(counts)) if agenda.plan is not None else None
    return Exact(endpoint, model, agenda, counts, isolation)


def _counts(
    agenda: Agenda, endpoint: CountEndpoint, dialect: Dialect, settings: Settings, cache: CountCache
) -> dict[str, Count]:
    from ullage.engine.exact import Counter
    from ullage.settings import resolve_upstreams

    root = resolve_upstreams(settings)[dialect]
    target = _target(root, dialect, endpoint, agenda, cache)

    async def work(client: UpstreamClient) -> dict[str, Count]:
        counter = Counter(client=client, target=target, endpoint=endpoint, cache=cache)
        with progress_bar(len(agenda.asks), "counting") as step:
            return await counter.count_all(agenda.asks, step)

    return run_online(settings, root, work)


def _target(root: str, dialect: Dialect, endpoint: CountEndpoint, agenda: Agenda, cache: CountCache) -> Target:
    """Where to ask, told on standard error. Where nothing has to be asked, no key is looked for."""
    from ullage.engine.exact import MAX_CALLS, uncounted
    from ullage.settings.credentials import need_credential
    from ullage.upstream.asking import Target
    from ullage.upstream.keys import check_destination

    keyless = Target(root, dialect, None)
    questions = uncounted(agenda.asks, keyless, cache)
    known = len(agenda.asks) - len(questions)
    if not questions:
        say(f"nothing is sent: {_counts_text(known)} known from before")
        return keyless
    check_destination(endpoint.provider, root)
    credential = need_credential(endpoint.provider)
    chars = sum(len(question.request.body.decode("utf-8", "replace")) for question in questions)
    kept = f", {known} more known from before" if known else ""
    say(
        f"asks {keyless.host} with {credential} for {_counts_text(len(questions))} (of at most {MAX_CALLS}),"
        f" {chars:,} characters{kept}"
    )
    return Target(root, dialect, credential)


def _counts_text(number: int) -> str:
    return f"{number} count" if number == 1 else f"{number} counts"


def _unsent_report(unsent: Unsent) -> dict[str, Any]:
    import msgspec

    return {
        "provider": unsent.endpoint.provider,
        "sent": False,
        "reason": unsent.endpoint.not_sent,
        "left_out": list(unsent.request.left_out),
        "request": {"method": "POST", "path": unsent.request.path, "body": msgspec.Raw(unsent.request.body)},
    }


def _error(estimate: int, count: int) -> str:
    if estimate == count:
        return "exact"
    share = f"{100 * abs(estimate - count) / count:.1f} % " if count else ""
    return f"{share}{'too low' if estimate < count else 'too high'}"


def _tokens(tokens: int | None) -> str:
    return "-" if tokens is None else f"{tokens:,}"


def _density(denominator: float | None) -> str:
    return "" if denominator is None else f"{denominator:g} characters a token"
