"""What each key of an `auto-model.json` is called here, or why it is not (routing specification, section 31)."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

_NO_WORDS: Mapping[str, str] = {}

KEYS: dict[str, tuple[str, Mapping[str, str]]] = {
    "policy": ("routing.policy", {"price": "cost"}),
    "pool": ("routing.pool", _NO_WORDS),
    "thinking": ("routing.thinking", _NO_WORDS),
    "capabilitySource": ("routing.capability_source", _NO_WORDS),
    "constraints.providerAllow": ("routing.constraints.provider_allow", _NO_WORDS),
    "constraints.providerDeny": ("routing.constraints.provider_deny", _NO_WORDS),
    "constraints.modelInclude": ("routing.constraints.model_include", _NO_WORDS),
    "constraints.modelExclude": ("routing.constraints.model_exclude", _NO_WORDS),
    "constraints.autoExclude": ("routing.constraints.auto_exclude", _NO_WORDS),
    "costPolicy.qualityFloor": ("routing.cost.quality_floor", _NO_WORDS),
    "costPolicy.stickinessTolerance": ("routing.cost.stickiness_tolerance", _NO_WORDS),
    "pricing.costCoef": ("routing.cost_coefficient", _NO_WORDS),
    "pricing.litellm.enabled": ("models.refresh", _NO_WORDS),
    "pricing.litellm.refreshHours": ("models.refresh_hours", _NO_WORDS),
    "classifier.enabled": ("routing.classifier.enabled", _NO_WORDS),
    "classifier.confidenceThreshold": ("routing.classifier.threshold", _NO_WORDS),
    "classifier.timeoutMs": ("routing.classifier.timeout_ms", _NO_WORDS),
    "failover.maxAttempts": ("routing.failover.max_attempts", _NO_WORDS),
    "failover.firstOutputTimeoutMs": ("routing.failover.first_output_timeout_ms", _NO_WORDS),
    "failover.requestTimeoutMs": ("routing.failover.request_timeout_ms", _NO_WORDS),
    "shadow.enabled": ("routing.shadow", _NO_WORDS),
    "quota.enabled": ("routing.quota.enabled", _NO_WORDS),
    "quota.windowMs": ("routing.quota.window_ms", _NO_WORDS),
    "quota.staleAfterMs": ("routing.quota.stale_after_ms", _NO_WORDS),
    "budget.maxUsdPerTask": ("budget.task_usd", _NO_WORDS),
    "budget.sessionUsd": ("budget.session_usd", _NO_WORDS),
    "budget.dailyUsd": ("budget.daily_usd", _NO_WORDS),
    "budget.monthlyUsd": ("budget.monthly_usd", _NO_WORDS),
    "budget.onExceed": ("budget.on_exceed", _NO_WORDS),
    # What `ullage route --config` has beyond Pi Auto Model.
    "analyzer": ("routing.analyzer", _NO_WORDS),
    "cacheModel": ("routing.cache_model", _NO_WORDS),
    "poolModel": ("routing.pool_model", _NO_WORDS),
    "guards.downgrades": ("routing.guards.downgrades", _NO_WORDS),
    "guards.upgradeConfidence": ("routing.guards.upgrade_confidence", _NO_WORDS),
    "guards.switchSpend": ("routing.guards.switch_spend", _NO_WORDS),
}
"""Keys with a single value: ours, and words that are others here."""

CAPPED = {"classifier.timeoutMs": 2_000}
"""Values that Pi Auto Model takes for this one where they are larger."""

TABLES = frozenset(
    {
        "pools",
        "quota.providers",
        "budget.providers",
        "aliases",
        "benchmarkOverrides",
        "pricing.overrides",
        "rules",
        "scenarios",
    }
)
"""Keys whose names below are the user's own, or lists of entries."""

NO_COUNTERPART = {"enabled": True, "cacheAware.enabled": True, "pricing.litellm.url": None}
"""With the value that asks for nothing else than what is so anyway: a client asks for the router by name, caches are always
priced, and there is one address of the catalogue."""

SECTIONS = frozenset(
    name[:dot] for name in (*KEYS, *TABLES, *NO_COUNTERPART) for dot in range(len(name)) if name[dot] == "."
)

MARKS = frozenset(
    {
        "aliases",
        "benchmarkOverrides",
        "budget",
        "cacheAware",
        "capabilitySource",
        "classifier",
        "constraints",
        "costPolicy",
        "failover",
        "policy",
        "pools",
        "pricing",
        "quota",
        "scenarios",
        "shadow",
    }
)
"""Keys that no other extension of Pi has, whose files are read here."""
