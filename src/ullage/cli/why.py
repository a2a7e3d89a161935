"""`ullage why`: what was left out of a call and why, what it cost or saved, and what to do about it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from ullage.core.terminal import safe

from . import records
from .awareness_text import budget_text, calibration_text, drift_text, miss_text, switch_text
from .manifest import find_record
from .output import print_json
from .plan_text import tell_plan, tell_privacy
from .records import ago, data_dir_option, json_option, open_records, print_lines, tokens
from .routed_text import tell_routed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ullage.core.profiles import Prices
    from ullage.stores import CallRecord


@click.command()
@click.argument("call_id", metavar="[ID]", required=False)
@json_option
@data_dir_option
def command(call_id: str | None, as_json: bool, data_dir: str | None) -> None:
    """Say why a call was sent as it was: what was left out, what the limits were, what the prompt cache did.

    ID is a call's id or its beginning (`ullage sessions show` lists them); without it, the newest call.
    """
    call = find_record(open_records(data_dir), call_id)
    lines = list(explain(call))
    if as_json:
        print_json(
            {"call": call.id, "session": call.session, "route": call.route, "plan": call.plan, "sentences": lines}
        )
    else:
        print_lines(map(safe, lines))


def explain(call: CallRecord) -> Iterator[str]:
    """Sentences, one a line; what is not known is left out."""
    yield _heading(call)
    awareness = call.awareness
    if call.route is not None:
        yield from tell_routed(call.route, call.dialect)
    if is_planned(call):
        assert call.plan is not None, "it has a status"
        estimator = awareness["calibration"]["estimator"] if awareness is not None else call.estimator or "?"
        yield from tell_plan(call.plan, estimator)
    elif call.route is None:
        yield "It was observed: the client's own request went out as it came."
    if call.plan is not None and "privacy" in call.plan:
        yield from tell_privacy(call.plan["privacy"])
    if awareness is not None:
        yield from _limits(awareness)
    yield from _cache(call.cache or {})
    yield from _money(call)


def is_planned(call: CallRecord) -> bool:
    """Whether the call was managed. An observed one may have a record of privacy in the plan's place."""
    return call.plan is not None and "status" in call.plan


def _heading(call: CallRecord) -> str:
    from ullage.stores.report import target_of

    planned = f", {call.plan['status']}" if call.plan is not None and is_planned(call) else ""
    return f"Call {call.id} to {target_of(call)}, {ago(call.created_ms, records.now_ms())}{planned}."


def _limits(awareness: dict[str, Any]) -> Iterator[str]:
    calibration, window = awareness["calibration"], awareness["profile"]["context_window"]
    if window is None:
        yield "No limit was drawn: the model's context window is not known. Set it under [models.overrides]."
        return
    yield f"Of the window of {tokens(window)} tokens: {budget_text(awareness['budget'], calibration['estimator'])}."
    yield f"What is known of its tokens: {calibration_text(calibration)}."
    for told in (drift_text(awareness["drift"]), switch_text(awareness["switch"])):
        if told:
            yield f"{told[0].upper()}{told[1:]}."


def _cache(cache: dict[str, Any]) -> Iterator[str]:
    expected, read = cache.get("expected"), cache.get("read")
    if read is None:
        return
    if expected:
        yield f"~{tokens(expected)} were expected in the provider's cache, {tokens(read)} were read from it."
    else:
        yield f"{tokens(read)} were read from the provider's cache."
    if cache.get("miss") is not None:
        yield f"The cache {miss_text(cache['miss'])}."


def cost_of(call: CallRecord) -> int | None:
    """What the call cost, in nano-USD; `None` where nobody knows."""
    from ullage.stores import metrics
    from ullage.stores.route_records import facts_of

    return metrics.cost_of(facts_of(call))


def _prices(call: CallRecord) -> Prices | None:
    from msgspec import convert

    from ullage.core.profiles import Prices

    prices = (call.awareness or {}).get("profile", {}).get("prices")
    return convert(prices, Prices) if prices else None


def _money(call: CallRecord) -> Iterator[str]:
    """What the call cost, and what the messages that were left out would have."""
    known, cost = _prices(call), cost_of(call)
    if cost is not None:
        yield f"It cost ${cost / 1e9:.4f}."
    spared = _spared_tokens(call.plan or {})
    if spared and known is not None and known.input is not None:
        most = spared * known.input / 1e6
        warm = f", ${spared * known.cache_read / 1e6:.4f} out of the cache" if known.cache_read is not None else ""
        yield f"What was left out would have cost ${most:.4f} more as fresh input{warm}."


def _spared_tokens(plan: dict[str, Any]) -> int:
    inventory = plan.get("inventory")
    if inventory is not None:
        return int(inventory["excluded"]["tokens"]["items"])
    return sum(item["tokens"] for item in plan.get("excluded", ()))
