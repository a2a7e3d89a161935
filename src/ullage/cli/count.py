"""`ullage count`: how many tokens a request has."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from ullage.core.errors import CallError, InputError, RequestError, UllageError
from ullage.core.wire.jsontext import decode

from .context_input import Request, Wishes
from .inputs import lines_of_input, read_input
from .output import print_json, print_json_line
from .preferences import Preferences, estimator_option, load_preferences
from .records import json_option, print_lines

if TYPE_CHECKING:
    from ullage.core.accounting import Breakdown

TEXT_SHAPE = "tokenize-text"
BY_DEFAULT = Preferences()


@click.command()
@click.argument("file", metavar="[FILE]", required=False)
@click.option("--dialect", metavar="D", help="Shape of the request, if it cannot be told by its keys.")
@click.option("--provider", metavar="P", help="Who serves it.")
@click.option("--model", metavar="M", help="The model, if the request does not name it.")
@estimator_option
@click.option("--batch", metavar="FILE.jsonl", help="Many requests, one object a line; `-` reads standard input.")
@click.option("--exact", is_flag=True, help="Have --provider count it; its key is in its own variable.")
@json_option
def command(
    file: str | None,
    dialect: str | None,
    provider: str | None,
    model: str | None,
    estimator: str | None,
    batch: str | None,
    exact: bool,
    as_json: bool,
) -> int:
    """Estimate the tokens of a request.

    FILE is a request body; without it, or with `-`, standard input is read. A line of a batch is
    {provider, model, api, payload}; its answer, on the same line of the output, is
    {tokens, low, high, method, sections}, or {error}.
    """
    if batch is not None:
        if file is not None or exact:
            what = "--exact" if exact else "FILE"
            raise CallError(f"{what} and --batch exclude each other.", hint="Give one of them.")
        _count_batch(batch, load_preferences(estimator=estimator))
        return 0
    body, preferences = read_input(file), load_preferences(estimator=estimator)
    try:
        breakdown = count_request(body, api=dialect, provider=provider, model=model, preferences=preferences)
    except RequestError as error:
        raise _for_a_file(error) from error
    if exact:
        wishes = Wishes(dialect=dialect, provider=provider, model=model, preferences=preferences)
        return _count_exactly(Request(body, wishes), breakdown, as_json=as_json)
    if as_json:
        print_json(answer(breakdown))
    else:
        click.echo(_sentence(breakdown))
    return 0


def _for_a_file(error: RequestError) -> RequestError:
    """An error of the reader of requests for somebody who may have meant another command."""
    if error.code != RequestError.code:
        return error
    hint = "Give one request body; `ullage context` reads sessions, --batch many requests."
    return RequestError(error.message, hint=hint)


def _count_exactly(request: Request, breakdown: Breakdown, *, as_json: bool) -> int:
    """The provider's count beside our estimate; status 1 if it cannot be true."""
    from .exact import count_exactly, exact_lines, exact_report

    exact = count_exactly(request, apart=False)
    total = exact.total
    if as_json:
        counted = {} if total is None else _figures(total, total, total, f"preflight: {exact.endpoint.provider}")
        print_json({**answer(breakdown), **counted, "exact": exact_report(exact, breakdown.total)})
        return int(exact.failed)
    if total is None:
        click.echo(_sentence(breakdown))
    else:
        click.echo(f"{total:,} tokens for {exact.model}, counted by {exact.endpoint.provider}")
    print_lines(exact_lines(exact, breakdown.total))
    return int(exact.failed)


def count_request(
    body: bytes, *, api: str | None, provider: str | None, model: str | None, preferences: Preferences = BY_DEFAULT
) -> Breakdown:
    """Estimates one request body of the shape `api`. Raises `InputError` or `CallError`."""
    from ullage.core.accounting import account, read_payload

    shape = Request(body, Wishes(dialect=api)).shape
    payload = read_payload(body, shape)
    meter = preferences.meter(dialect=shape, provider=provider, model=model or payload.model, client=None)
    return account(payload.context, meter, options=payload.options)


def count_text(
    text: str, *, provider: str | None, model: str | None, preferences: Preferences = BY_DEFAULT
) -> dict[str, Any]:
    """Estimates a bare text by the model's vocabulary or ratio, without anything around it."""
    amount = preferences.meter(dialect=None, provider=provider, model=model, client=None).rule.prose(text)
    figures = _figures(amount.tokens, amount.low, amount.high, amount.method)
    return {**figures, "sections": [{"id": "text", "title": "Text", "chars": len(text), **figures}]}


def count_line(line: bytes, preferences: Preferences = BY_DEFAULT) -> dict[str, Any]:
    """The answer to one line of a batch; whatever is wrong with it becomes its `error`."""
    try:
        if not line.strip():
            raise InputError("The line is empty.")
        row = decode(line)
        if not isinstance(row, dict):
            raise InputError(f"The line is no JSON object{_reason(line)}.")
        return _count_row(row, preferences)
    except UllageError as error:
        return {"error": error.message}
    except Exception as error:  # noqa: BLE001 - one odd line must not end a batch of thousands
        return {"error": f"{type(error).__name__}: {error}"}


def _reason(line: bytes) -> str:
    """What the JSON decoder says of a line that it cannot read; nothing for legal JSON that is no object."""
    import msgspec

    try:
        msgspec.json.decode(line)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        return f": {str(error).rstrip('.')}"
    return ""


def _count_row(row: dict[str, Any], preferences: Preferences) -> dict[str, Any]:
    import msgspec

    payload = row.get("payload")
    kind = row.get("kind", "request")
    api, provider, model = (_word(row, key) for key in ("api", "provider", "model"))
    if kind == "component-sizes":
        raise InputError(f"A payload of the kind {kind!r} holds no text to count.")
    if not isinstance(payload, dict):
        raise InputError("`payload` is no JSON object.")
    if api == TEXT_SHAPE:
        text = payload.get("text")
        if not isinstance(text, str):
            raise InputError("The payload has no `text`.")
        return count_text(text, provider=provider, model=model, preferences=preferences)
    body = msgspec.json.encode(payload)
    breakdown = count_request(body, api=api, provider=provider, model=model, preferences=preferences)
    return answer(_net_tools(breakdown) if kind == "tool-delta" else breakdown)


def _net_tools(breakdown: Breakdown) -> Breakdown:
    """The tools of a request without what comes once, which is what a difference of two counts leaves."""
    from msgspec.structs import replace

    from ullage.core.accounting.sections import TOOL_BLOCK

    whole = next((section for section in breakdown.sections if section.id == "tools"), None)
    if whole is None:
        raise InputError("The payload has no tools.")
    items = tuple(item for item in whole.items if item.name != TOOL_BLOCK)
    tools = replace(
        whole,
        tokens=sum(item.tokens for item in items),
        low=sum(item.low for item in items),
        high=sum(item.high for item in items),
        chars=sum(item.chars for item in items),
        items=items,
    )
    total = replace(breakdown.total, tokens=tools.tokens, low=tools.low, high=tools.high)
    return replace(breakdown, total=total, sections=(tools,))


def answer(breakdown: Breakdown) -> dict[str, Any]:
    """One estimate as an object of the batch's output."""
    from ullage.core.accounting import report

    total = breakdown.total
    keys = ("id", "title", "tokens", "low", "high", "chars", "method")
    sections = [{key: section[key] for key in keys} for section in report(breakdown)["sections"]]
    method = f"{breakdown.estimator}: {breakdown.family}"
    return {**_figures(total.tokens, total.low, total.high, method), "sections": sections}


def _figures(tokens: int, low: int, high: int, method: str) -> dict[str, Any]:
    return {"tokens": tokens, "low": low, "high": high, "method": method}


def _count_batch(source: str, preferences: Preferences) -> None:
    for line in lines_of_input(source):
        print_json_line(count_line(line, preferences))


def _sentence(breakdown: Breakdown) -> str:
    total = breakdown.total
    bounds = "" if (total.low, total.high) == (total.tokens, total.tokens) else f" ({total.low:,} to {total.high:,})"
    model = f" for {breakdown.model}" if breakdown.model else ""
    notes = "".join(f"\n! {notice.message}" for notice in breakdown.warnings)
    return f"~{total.tokens:,} tokens{bounds}{model}, by {breakdown.estimator}{notes}"


def _word(row: dict[str, Any], key: str) -> str | None:
    value = row.get(key)
    return value if isinstance(value, str) and value else None
