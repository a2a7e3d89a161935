"""`ullage model`: what is known of a model and what was learned of it, and the limits that follow."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from ullage.core.errors import CallError
from ullage.core.terminal import safe

from . import records
from .awareness_text import (
    CATEGORIES,
    USAGE_PARTS,
    auto_tune_text,
    calibration_text,
    counted,
    drift_text,
    ratio_text,
    samples_text,
    switch_text,
    usage_text,
)
from .output import print_json
from .records import ago, data_dir_option, json_option, print_lines, table, tokens

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ullage.engine.known import Growth, Learned

_LABEL_WIDTH = 13
_FIELDS = (
    ("context window", "context_window"),
    ("longest input", "max_input_tokens"),
    ("longest answer", "max_output_tokens"),
    ("safety margin", "safety_margin_tokens"),
    ("least cached", "cache_minimum_tokens"),
    ("reasoning", "reasoning"),
    ("images", "images"),
    ("tools", "tools"),
    ("estimator", "token_estimator"),
    ("family", "family"),
)
_PRICES = ("input", "output", "cache_read", "cache_write", "cache_write_1h")
_SPACE = (
    ("context window", "context_window"),
    ("for the answer", "output_reserve"),
    ("for errors", "safety_margin"),
    ("left for input", "model_input_hard"),
)


@click.command()
@click.argument("target", metavar="[P/M]", required=False)
@json_option
@data_dir_option
def command(target: str | None, as_json: bool, data_dir: str | None) -> None:
    """Show what is known of a model and what its usage taught.

    P/M is a provider and a model, as anthropic/claude-opus-4-8: window, prices and where each comes from, what was learned from
    the usage that the provider reported, and the limits drawn from both. Without it, all models that went through the daemon.
    """
    from .model_knowledge import open_knowledge

    known = open_knowledge(data_dir, now_ms=records.now_ms())
    if target is None:
        models = [known.learned(provider, model) for provider, model in known.seen()]
        if as_json:
            print_json({"models": [report_in_list(one) for one in models]})
        else:
            print_lines(list_models(models))
        return
    provider, _, model = target.partition("/")
    if not (provider and model):
        raise CallError(
            f"{safe(target)!r} names no provider and model.",
            hint="Write both, as anthropic/claude-opus-4-8; `ullage model` lists those that were used.",
        )
    learned = known.learned(provider, model)
    if as_json:
        print_json(report(learned))
    else:
        print_lines(describe(learned))


def report(learned: Learned) -> dict[str, Any]:
    """Everything as plain data: the parts of a call's `awareness`, and what only looking back tells."""
    from ullage.core.planning import report_awareness
    from ullage.stores.report import iso_time

    switch = learned.switch.awareness["switch"] if learned.switch is not None and learned.switch.awareness else None
    return {
        "target": learned.awareness.profile.key,
        **report_awareness(learned.awareness, switch),
        "growth": [report_growth(one) for one in learned.growth],
        "latest": _report_latest(learned),
        "last_at": iso_time(learned.last_ms) if learned.last_ms is not None else None,
    }


def report_growth(growth: Growth) -> dict[str, Any]:
    """The law in force for one client; `pairs` were learned from."""
    state = growth.state
    return {
        "client": growth.client,
        "estimator": growth.estimator,
        "k": state.law.k,
        "b": state.law.b,
        "each": state.law.each,
        "a": state.law.a,
        "replay": state.replay,
        "pairs": len(state.pairs),
    }


def report_in_list(learned: Learned) -> dict[str, Any]:
    """One model in a list of many."""
    from ullage.stores.report import iso_time

    aware = learned.awareness
    whole = report(learned)
    return {
        "target": aware.profile.key,
        "context_window": aware.profile.context_window,
        "calibration": whole["calibration"],
        "drift": whole["drift"],
        "auto_tune": whole["auto_tune"],
        "last_at": iso_time(learned.last_ms) if learned.last_ms is not None else None,
    }


def list_models(models: list[Learned]) -> list[str]:
    """A row for each model, the last used first."""
    if not models:
        return [
            "No model was used yet. Send a prompt through `ullage serve`; `ullage model P/M` shows what is known of one."
        ]
    rows = [_row(learned) for learned in models]
    return table(("model", "window", "ratio", "samples", "estimator", "drift", "last"), rows, right=(1, 2, 3))


def describe(learned: Learned) -> list[str]:
    """The whole screen: profile, learning, limits."""
    whole = report(learned)
    return [
        *_profile_lines(whole["profile"]),
        "",
        *_learning_lines(learned, whole),
        "",
        *_limit_lines(whole),
    ]


def _row(learned: Learned) -> tuple[str, ...]:
    whole = report_in_list(learned)
    calibration, drift = whole["calibration"], whole["drift"]
    window_origin = learned.awareness.profile.sources["context_window"]
    return (
        whole["target"],
        tokens(whole["context_window"], estimated=not window_origin.exact and whole["context_window"] is not None),
        ratio_text(calibration["applied_ratio"]) if calibration["calibrated"] else "-",
        f"{calibration['accepted']}/{calibration['observed']}",
        calibration["estimator"],
        f"{drift['code']}, {drift['severity']}" if drift is not None else "",
        ago(learned.last_ms, records.now_ms()) if learned.last_ms is not None else "-",
    )


def _profile_lines(profile: dict[str, Any]) -> list[str]:
    rows = [
        (words, _value_text(profile[field]), _origin_text(profile["sources"][field]))
        for words, field in _FIELDS
        if profile[field] is not None or field != "max_input_tokens"  # mostly the window alone holds
    ]
    for name in _PRICES:
        if name in profile["prices"]:
            price = f"${profile['prices'][name]:g}"
            rows.append((f"{name.replace('_', ' ')} price", price, _origin_text(profile["sources"][f"{name}_price"])))
    if profile["prices"].get("tiers"):
        tiers = ", ".join(f"above {tokens(tier['above'])}" for tier in profile["prices"]["tiers"])
        rows.append(("other prices", tiers, _origin_text(profile["sources"]["price_tiers"])))
    return [
        _line("model", profile["key"]),
        _line("overrides", ", ".join(profile["override_keys"]) or "none"),
        "",
        *table(("known", "value", "from"), rows, right=(1,)),
        *(["prices are USD per million tokens"] if profile["prices"] else []),
    ]


def _learning_lines(learned: Learned, whole: dict[str, Any]) -> Iterator[str]:
    calibration = whole["calibration"]
    yield _line("calibration", calibration_text(calibration))
    yield _line("samples", samples_text(calibration) if calibration["observed"] else "nothing learned yet")
    bounds = f"{calibration['lower_bound']:g} to {calibration['upper_bound']:g}"
    newest = f"the newest {calibration['window']} count, at least {calibration['minimum_samples']} are needed"
    yield _line("bounds", f"ratios from {bounds} are believed; {newest}")
    for growth in whole["growth"]:
        yield _line("growth", _growth_text(growth))
    yield _line("drift", drift_text(whole["drift"]) or "none")
    yield _line("auto-tune", auto_tune_text(whole["auto_tune"]) or "off")
    shares = whole["cache_shares"]
    if shares["total"]:
        parts = " + ".join(f"{tokens(shares[key])} {words}" for key, words in USAGE_PARTS)
        said = (
            f"{tokens(shares['total'])} = {parts}; {shares['read_share']:.1%} read, {shares['write_share']:.1%} written"
        )
        yield _line("cache", said)
    if learned.latest is not None:
        yield _line("latest", f"{usage_text(whole['latest'])}, {ago(learned.latest.created_ms, records.now_ms())}")
    if learned.switch is not None:
        yield _line(
            "last switch", f"{switch_text(whole['switch'])}, {ago(learned.switch.created_ms, records.now_ms())}"
        )


def _limit_lines(whole: dict[str, Any]) -> list[str]:
    budget, adaptive = whole["budget"], whole["adaptive"]
    if budget is None or adaptive is None:
        return ["No limits: the window is unknown. Tell it with `context_window` under models.overrides."]
    rows = [(words, tokens(budget[key]), "") for words, key in _SPACE]
    rows.append(("slope" if "slope" in whole["calibration"] else "ratio", "", ratio_text(budget["ratio"])))
    if budget["offset"]:
        rows.append(("offset", "", tokens(round(budget["offset"]))))
    rows += [(name, tokens(budget[f"nominal_{name}"]), tokens(budget[name])) for name in ("hard", "soft", "preferred")]
    rows.append(("active", "", tokens(budget["active"])))
    for name, words in CATEGORIES:
        category = adaptive[name]
        set_by = " (set)" if category["explicit"] else ""
        rows.append((f"{words}{set_by}", tokens(category["nominal"]), tokens(category["resolved"])))
    return table(("limit", "provider tokens", f"by {whole['calibration']['estimator']}"), rows, right=(1, 2))


def _line(label: str, text: str) -> str:
    return f"{label:<{_LABEL_WIDTH}}{safe(text)}"


def _value_text(value: bool | int | str | None) -> str:
    match value:
        case None:
            return "unknown"
        case bool():
            return "yes" if value else "no"
        case int():
            return tokens(value)
        case _:
            return value


def _origin_text(origin: dict[str, Any]) -> str:
    similar = "" if origin["exact"] else ", a similar model"
    detail = f": {origin['detail']}" if origin["detail"] else ""
    return f"{origin['source']}{similar}{detail}" if origin["source"] != "unknown" else ""


def _growth_text(growth: dict[str, Any]) -> str:
    law = f"{growth['a']:.0f} + {growth['b']:.2f} × answer + {growth['k']:.2f} × new tokens"
    each = f" + {growth['each']:.1f} each further item" if growth["each"] else ""
    client = growth["client"] or "unknown client"
    return f"{law}{each} ({client}, {growth['estimator']}, {counted(growth['pairs'], 'pair')} of calls)"


def _report_latest(learned: Learned) -> dict[str, Any] | None:
    from ullage.stores.report import iso_time

    latest = learned.latest
    if latest is None:
        return None
    return {
        "call": latest.id,
        "created_at": iso_time(latest.created_ms),
        "estimated": latest.estimated,
        "input_fresh": latest.input_fresh,
        "cache_read": latest.cache_read,
        "cache_write": latest.cache_write,
        "output": latest.output,
    }
