"""What a record says of profile, learning and limits, in lines for people: `ullage manifest` and `ullage model` share them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .records import tokens

if TYPE_CHECKING:
    from collections.abc import Iterator

CATEGORIES = (("recent_tail", "tail"), ("history", "history"), ("project", "project"))
USAGE_PARTS = (("input_fresh", "fresh"), ("cache_read", "cache read"), ("cache_write", "cache write"))
_BOUNDARIES = {"cold-model-switch": "a cold boundary by rule (what was read says more)"}
_COUNTS = (("outliers", "too far from the median"), ("hard_bound", "outside the bounds"))


def awareness_facts(awareness: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Label and text of each part; what there is nothing to say of has an empty text."""
    profile, calibration = awareness["profile"], awareness["calibration"]
    yield "profile", profile_text(profile)
    yield "overrides", ", ".join(profile["override_keys"])
    yield "calibration", calibration_text(calibration)
    yield "samples", samples_text(calibration)
    yield "budget", budget_text(awareness["budget"], calibration["estimator"])
    yield "categories", categories_text(awareness["adaptive"])
    yield "drift", drift_text(awareness["drift"])
    yield "auto-tune", auto_tune_text(awareness["auto_tune"])
    yield "switch", switch_text(awareness["switch"])


def profile_text(profile: dict[str, Any]) -> str:
    """`window 200.0k (litellm) · longest answer 64.0k (litellm) · safety 4.0k (default)`; `~` marks a similar model's figure."""
    named = (
        ("window", "context_window"),
        ("longest answer", "max_output_tokens"),
        ("safety", "safety_margin_tokens"),
    )
    return " · ".join(
        f"{words} {sourced_tokens(profile, field)}" if profile[field] is not None else f"{words} unknown"
        for words, field in named
    )


def sourced_tokens(profile: dict[str, Any], field: str) -> str:
    """A figure with who says so."""
    origin = profile["sources"][field]
    return f"{tokens(profile[field], estimated=not origin['exact'])} ({origin['source']})"


def calibration_text(calibration: dict[str, Any]) -> str:
    """`usage = 1.205 × chars-v1 (ratio-v1)`; of `growth-v1` the line with its offset, if there was a call to draw it through."""
    method, estimator = calibration["method"], calibration["estimator"]
    if "slope" in calibration:
        line = f"{tokens(round(calibration['offset']))} + {ratio_text(calibration['slope'])} × {estimator}"
        return f"usage = {line} ({method}), {counted(calibration['pairs'], 'pair')} of calls"
    by = method if method == "ratio-v1" else f"{method} without a call before it: by the ratio"
    if not calibration["calibrated"]:
        needed = calibration["minimum_samples"]
        return f"collecting for {estimator} ({by}): {calibration['accepted']} of at least {counted(needed, 'sample')}"
    return f"usage = {ratio_text(calibration['applied_ratio'])} × {estimator} ({by})"


def samples_text(calibration: dict[str, Any]) -> str:
    """How many samples there are and what was made of them."""
    refused = [f"{calibration[key]} {words}" for key, words in _COUNTS if calibration.get(key)]
    accepted = f"{calibration['accepted']} of {counted(calibration['observed'], 'sample')} accepted"
    return ", ".join([accepted, *refused])


def budget_text(budget: dict[str, Any] | None, estimator: str) -> str:
    """The limits in tokens by the estimator, and what of the window they leave alone. A plan fills the preferred one."""
    if budget is None:
        return "none: the window is unknown"
    limits = " · ".join(f"{name} {tokens(budget[name])}" for name in ("hard", "soft", "preferred"))
    kept = f"{tokens(budget['output_reserve'])} for the answer and {tokens(budget['safety_margin'])} for errors"
    return f"{limits} by {estimator}; {kept} are kept free"


def categories_text(adaptive: dict[str, Any] | None) -> str:
    """`tail 24.0k → 20.0k · history 12.0k, set`: nominal and resolved where they differ."""
    if adaptive is None:
        return ""
    return " · ".join(f"{words} {_category_text(adaptive[name])}" for name, words in CATEGORIES)


def drift_text(drift: dict[str, Any] | None) -> str:
    """`persistent-underestimate, critical: 9 samples, ratio 1.700`."""
    if drift is None:
        return ""
    at = f", ratio {ratio_text(drift['ratio'])}" if drift["ratio"] is not None else ""
    return f"{drift['code']}, {drift['severity']}: {counted(drift['samples'], 'sample')}{at}"


def auto_tune_text(auto_tune: dict[str, Any]) -> str:
    """The decision and its grounds; nothing while it is switched off."""
    if auto_tune["status"] == "disabled":
        return ""
    factor = f" × {auto_tune['factor']:g}" if auto_tune["factor"] != 1 else ""
    grounds = f"largest prompt {tokens(auto_tune['high_watermark'])} of a target of {tokens(auto_tune['target'])}"
    return f"{auto_tune['status']}{factor}: {grounds}, {counted(auto_tune['accepted'], 'sample')} accepted"


def switch_text(switch: dict[str, Any] | None) -> str:
    """Where the session came from; nothing for a call that stayed on its target.

    A change of the target is a cold boundary by rule (planner specification, section 11), though several targets may be warm at
    once: what was expected and read is told beside it, so this must not sound as if nothing had been.
    """
    if switch is None or not switch["switched"]:
        return ""
    reused = "its own samples are used again" if switch["profile_reused"] else "new in this session"
    boundary = _BOUNDARIES.get(switch["cache_disposition"], switch["cache_disposition"])
    return f"from {switch['previous']} ({switch['source']}), {boundary}; {reused}"


def sample_text(sample: dict[str, Any] | None) -> str:
    """`84.5k / 70.1k by chars-v1 = 1.205`, or why the call taught nothing."""
    if sample is None:
        return ""
    if "refused" in sample:
        return f"none: {sample['refused']}"
    figures = f"{tokens(sample['actual'])} / {tokens(sample['estimated'], estimated=True)} by {sample['estimator']}"
    return f"{figures} = {ratio_text(sample['ratio'])}"


def cache_text(cache: dict[str, Any] | None) -> str:
    """What was expected warm against what was read, and the likely cause of a miss."""
    if cache is None:
        return ""
    expected, read = cache["expected"], cache["read"]
    told = "unknown" if expected is None else f"~{tokens(expected)}"
    parts = [
        f"{told} expected, {tokens(read) if read is not None else 'nothing reported'} read ({cache['disposition']})"
    ]
    if cache["age_ms"] is not None and cache["ttl_ms"] is not None:
        parts.append(f"{seconds(cache['age_ms'])} old, kept for {seconds(cache['ttl_ms'])}")
    if cache["miss"] is not None:
        parts.append(miss_text(cache["miss"]))
    return "; ".join(parts)


def miss_text(miss: dict[str, Any]) -> str:
    """`missed 80.0k: tools_changed at tool 3`."""
    place = miss["slice"]
    at = f" at {place['kind']} {place['index']}" if place is not None else ""
    return f"missed {tokens(miss['missed_tokens'])}: {miss['cause']}{at}"


def usage_text(usage: dict[str, Any]) -> str:
    """`84.5k prompt = 2.1k fresh + 82.4k cache read · 512 output`; parts that the provider did not report are left out."""
    parts = [(usage[key], label) for key, label in USAGE_PARTS if usage.get(key) is not None]
    facts = []
    if parts:
        shown = " + ".join(f"{tokens(number)} {label}" for number, label in parts)
        facts.append(f"{tokens(sum(number for number, _ in parts))} prompt = {shown}")
    if usage.get("output") is not None:
        reasoning = f" ({tokens(usage['reasoning'])} reasoning)" if usage.get("reasoning") else ""
        facts.append(f"{tokens(usage['output'])} output{reasoning}")
    return " · ".join(facts)


def ratio_text(ratio: float | None) -> str:
    """Three decimals; a dash where there is none."""
    return "-" if ratio is None else f"{ratio:.3f}"


def counted(number: int, noun: str) -> str:
    """`1 sample`, `3 samples`."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def seconds(milliseconds: int) -> str:
    """A time span for people: `40 s`, `5 min`, `1 h`."""
    whole = milliseconds // 1000
    if whole < 120:
        return f"{whole} s"
    return f"{whole // 60} min" if whole < 7200 else f"{whole // 3600} h"


def _category_text(category: dict[str, Any]) -> str:
    changed = f" → {tokens(category['resolved'])}" if category["resolved"] != category["nominal"] else ""
    return f"{tokens(category['nominal'])}{changed}{', set' if category['explicit'] else ''}"
