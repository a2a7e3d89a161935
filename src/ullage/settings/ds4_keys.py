"""Every key of the configuration of the DS4 context engine, with what it lets in and where it has its place here.

Planner specification, section 2.2; the names of keys that it does not spell out are from the extension's own documents
(`ds4-context-config-v1`, release 0.5.3).
"""

from __future__ import annotations

import math
from typing import Any, Literal

from msgspec import Struct

from .catalog import shown
from .orders import Order

Kind = Literal["true or false", "a whole number", "a number", "text", "a list", "an object"]

OVERRIDES = "modelAwareness.overrides"
OVERRIDE_FIELDS = {
    "contextWindow": "context_window",
    "maxOutputTokens": "max_output_tokens",
    "safetyMarginTokens": "safety_margin_tokens",
    "recentTailTokens": "recent_tail_tokens",
    "maxRetrievedHistoryTokens": "max_retrieved_history_tokens",
    "maxProjectTokens": "max_project_tokens",
    "tokenEstimator": "token_estimator",
}
"""Fields of an override, and ours of the same meaning and range."""

REMOTE_PROVIDERS = "privacy.remoteProviders"
"""By the name of a provider the classes that it may be sent."""

NO_COUNTERPART = frozenset(
    {
        "context.cacheAware",
        "diagnostics",
        "editing",
        "enabled",
        "jobs",
        "localKvReuse",
        "nativeContinuation",
        "reading",
        "sessionRebase",
        "storage",
    }
)
"""First words of keys for what only an extension inside the agent can do, or what is done here without being asked; and for the
figures of the tail's rule, as `epoch-v1` goes by those of DS4's defaults. All other keys without a place belong to what is not
built yet."""


class Key(Struct, frozen=True, kw_only=True):
    """One key. `low` and `high` are in the range, but `low` is not if `above`.

    `ours` is the setting of the same meaning, and `values` are ours for those of its values that are called otherwise here.
    """

    kind: Kind
    default: Any = None
    low: float | None = None
    high: float | None = None
    above: bool = False
    choices: tuple[Any, ...] = ()
    ours: str = ""
    values: dict[str, str] = {}

    @property
    def allowed(self) -> str:
        """Completes the sentence "it must be …"."""
        if self.choices:
            return " or ".join(map(shown, self.choices))
        bounds = (("above" if self.above else "from", self.low), ("to" if not self.above else "and at most", self.high))
        return self.kind + "".join(f" {word} {bound:,}" for word, bound in bounds if bound is not None)

    def is_of_kind(self, value: Any) -> bool:
        """Whether a value of JSON has the key's type, as JavaScript tells types: any finite number is a number."""
        match self.kind:
            case "true or false":
                return isinstance(value, bool)
            case "a whole number" | "a number":
                return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
            case "text":
                return isinstance(value, str)
            case "a list":
                return isinstance(value, list)
            case "an object":
                return isinstance(value, dict)

    def lets_in(self, value: Any) -> bool:
        """Whether a value of the right type is in range."""
        if self.choices and value not in self.choices:
            return False
        if self.kind == "a whole number" and not isinstance(value, int):
            return False
        if self.low is not None and (value <= self.low if self.above else value < self.low):
            return False
        return self.high is None or value <= self.high


def _switch(default: bool, ours: str = "") -> Key:
    return Key(kind="true or false", default=default, ours=ours)


def _whole(default: int, low: int = 0, high: int | None = None, ours: str = "") -> Key:
    return Key(kind="a whole number", default=default, low=low, high=high, ours=ours)


def _above_zero(default: float, high: float | None = None, ours: str = "") -> Key:
    return Key(kind="a number", default=default, low=0, high=high, above=True, ours=ours)


def _number(default: float, low: float, high: float, ours: str = "") -> Key:
    return Key(kind="a number", default=default, low=low, high=high, ours=ours)


def _choice(*choices: str, ours: str = "", values: dict[str, str] | None = None) -> Key:
    """The first is the default."""
    return Key(kind="text", default=choices[0], choices=choices, ours=ours, values=values or {})


def _list(*default: str, ours: str) -> Key:
    return Key(kind="a list", default=default, ours=ours)


_TEXT, _LIST, _OBJECT = Key(kind="text"), Key(kind="a list"), Key(kind="an object")

KEYS: dict[str, Key] = {
    "enabled": _switch(True),
    "context.mode": _choice("managed", "observer", ours="mode", values={"observer": "observe"}),
    "context.targetFillRatio": _above_zero(0.7, 1, "planning.target_fill_ratio"),
    "context.softLimitRatio": _above_zero(0.8, 1, "planning.soft_limit_ratio"),
    "context.hardLimitRatio": _above_zero(0.9, 1, "planning.hard_limit_ratio"),
    "context.minimumOutputReserve": _whole(8_192, ours="planning.minimum_output_reserve"),
    "context.preferredOutputReserve": _whole(32_768, ours="planning.preferred_output_reserve"),
    "context.recentTailTokens": _whole(64_000, ours="planning.recent_tail_tokens"),
    "context.rescueImmediatePredecessor": _switch(True, "planning.rescue_predecessor"),
    "context.supplementalPlacement": _choice("latest-user", "stable-prefix", "hybrid", ours="planning.placement"),
    "context.maxPinnedTokens": _whole(16_000, ours="planning.max_pinned_tokens"),
    "context.maxMemoryTokens": _whole(8_000, ours="planning.max_memory_tokens"),
    "context.maxRetrievedHistoryTokens": _whole(16_000, ours="planning.max_retrieved_history_tokens"),
    "context.maxProjectTokens": _whole(20_000, ours="planning.max_project_tokens"),
    "context.maxSummaryTokens": _whole(12_000, ours="planning.max_summary_tokens"),
    "context.cacheAware.mode": _choice("off", "auto", ours="planning.tail", values={"auto": "epoch-v1"}),
    "context.cacheAware.minimumCacheSampleCount": _whole(3),
    "context.cacheAware.minimumCacheReadShare": _number(0.5, 0, 1),
    "context.cacheAware.minimumMissHitRatio": _above_zero(20),
    "context.cacheAware.minimumImprovementRatio": _number(0.1, 0, 1),
    "context.cacheAware.maxTailBudgetShare": _above_zero(0.5, 1),
    "context.cacheAware.expectedRequestsPerTurn": _whole(4, 1, 64),
    "context.cacheAware.expectedTurnsPerEpoch": _whole(4, 1, 64),
    "context.cacheAware.stickinessEpochs": _whole(2, 1, 16),
    "modelAwareness.enabled": _switch(True, "models.enabled"),
    "modelAwareness.calibrationWindow": _whole(24, 3, 200, "calibration.window"),
    "modelAwareness.minimumCalibrationSamples": _whole(3, 1, ours="calibration.minimum_samples"),
    "modelAwareness.calibrationRatioLowerBound": _number(0.5, 0.25, 4, "calibration.lower_bound"),
    "modelAwareness.calibrationRatioUpperBound": _number(2.0, 0.25, 4, "calibration.upper_bound"),
    "modelAwareness.autoTune": _switch(False, "calibration.auto_tune"),
    OVERRIDES: _OBJECT,
    "retrieval.exact": _switch(True),
    "retrieval.fts": _switch(True),
    "retrieval.semantic": _switch(False),
    "retrieval.maxResults": _whole(12, 1, 100),
    "retrieval.embedding.mode": _choice("local", "remote"),
    "retrieval.embedding.provider": _TEXT,
    "retrieval.embedding.model": _TEXT,
    "retrieval.embedding.dimensions": _whole(256, 16, 4_096),
    "retrieval.embedding.remoteProfiles": _LIST,
    "retrieval.embedding.maxSources": _whole(50_000, 1, 100_000),
    "retrieval.embedding.candidatePool": _whole(80, 1, 500),
    "retrieval.embedding.batchSize": _whole(64, 1, 512),
    "retrieval.embedding.queryCacheSize": _whole(64, 1, 1_000),
    "retrieval.embedding.timeoutMs": _whole(2_000, 1, 120_000),
    "historyTools.enabled": _switch(True),
    "historyTools.defaultScope": _choice("current-branch", "current-session", "current-lineage", "project"),
    "historyTools.maxResults": _whole(6, 1, 12),
    "historyTools.maxOutputTokens": _whole(3_000, 256, 6_000),
    "historyTools.allowProjectScope": _switch(False),
    "historyTools.includeSummaries": _switch(False),
    "historyTools.maxProjectSessions": _whole(100, 1, 500),
    "project.enabled": _switch(True),
    "project.maxFiles": _whole(10_000, 1, 100_000),
    "project.maxFileBytes": _whole(512_000),
    "project.maxTotalBytes": _whole(50_000_000),
    "project.snippetLines": _whole(80, 1, 500),
    "project.snippetOverlapLines": _whole(12),
    "project.maxResults": _whole(8, 1, 100),
    "memory.enabled": _switch(True),
    "memory.crossSession": _switch(False),
    "memory.maxProjectSessions": _whole(250, 1, 10_000),
    "memory.maxPinChars": _whole(4_000, 1, 20_000, "memory.pin_chars"),
    "memory.maxClaimChars": _whole(2_000, 1, 20_000, "memory.claim_chars"),
    "memory.maxResults": _whole(12, 1, 100, "memory.max_results"),
    "artifacts.enabled": _switch(True, "artifacts.enabled"),
    "artifacts.adaptiveBudget": _switch(False, "artifacts.adaptive"),
    "artifacts.maxInlineToolResultChars": _whole(12_000, 1_000, ours="artifacts.inline_chars"),
    "artifacts.maxArtifactBytes": _whole(100_000_000, ours="artifacts.object_bytes"),
    "artifacts.maxSearchBytes": _whole(50_000_000, ours="artifacts.search_bytes"),
    "artifacts.excerptChars": _whole(6_000, ours="artifacts.excerpt_chars"),
    "artifacts.maxSearchMatches": _whole(12, 1, 100, "artifacts.matches"),
    "artifacts.storeLargeOutputs": _switch(True),
    "privacy.enabled": _switch(False, "privacy.enabled"),
    "privacy.defaultClassification": Key(kind="text", default="normal", ours="privacy.default_classification"),
    "privacy.localProviders": _list("faux", "ollama", "llama-cpp", "lmstudio", ours="privacy.local_providers"),
    "privacy.remoteDefaultAllowed": _list("normal", "internal", ours="privacy.remote_default_allowed"),
    REMOTE_PROVIDERS: _OBJECT,
    "privacy.redactSecrets": _switch(True, "privacy.redact_secrets"),
    "nativeContinuation.enabled": _switch(False),
    "nativeContinuation.allowProviderStorage": _switch(False),
    "nativeContinuation.profiles": _LIST,
    "nativeContinuation.maxStateAgeMs": _whole(1_800_000, 10_000, 86_400_000),
    "nativeContinuation.retryManagedReplay": _switch(True),
    "localKvReuse.enabled": _switch(False),
    "compaction.enabled": _switch(True),
    "compaction.mode": _choice("hierarchical"),
    "compaction.validate": _switch(True),
    "compaction.segmentTargetTokens": _whole(30_000),
    "compaction.maxRequestInputTokens": _whole(64_000, 1),
    "compaction.maxOperationInputTokens": _whole(2_000_000, 1),
    "compaction.preserveRecentVerbatim": Key(kind="true or false", default=True, choices=(True,)),
    "compaction.directUpdate": _switch(True),
    "compaction.inputBudget": _choice("context", "summary"),
    "compaction.maxConcurrentSegments": _whole(2, 1, 2),
    "compaction.model": _OBJECT,
    "compaction.summary": _OBJECT,
    "compaction.transport.maxAttempts": _whole(4, 1, 10),
    "compaction.transport.baseDelayMs": _whole(2_000, 0, 60_000),
    "sessionRebase.enabled": _switch(True),
    "sessionRebase.mode": _choice("manual"),
    "sessionRebase.checkpointTargetTokens": _whole(8_000, 512, 24_000),
    "sessionRebase.preserveSource": _switch(True),
    "sessionRebase.suggestAfterCompactions": _whole(6),
    "sessionRebase.suggestAboveSessionMiB": _whole(50),
    "editing.anchored": _switch(False),
    "editing.postEditReport": _switch(False),
    "reading.adaptive": _switch(False),
    "jobs.enabled": _switch(False),
    "quality.enabled": _switch(False),
    "quality.maxSamples": _whole(1_000, 1, 100_000),
    "ranking.mode": _choice("off", "shadow", "active"),
    "ranking.modelPath": _TEXT,
    "ranking.minimumTrainingSamples": _whole(20, 2, 100_000),
    "ranking.maxTrainingSamples": _whole(10_000, 2, 1_000_000),
    "ranking.maxLatencyMs": _above_zero(10, 1_000),
    "diagnostics.storeContextManifest": _switch(True),
    "diagnostics.storeFullRenderedContext": _switch(False),
    "diagnostics.logLevel": _choice("info", "error", "warn", "debug", "trace"),
    "storage.scope": _choice("project", "agent", ours="store.scope", values={"agent": "user"}),
    "storage.databasePath": _TEXT,
    "storage.busyTimeoutMs": _whole(5_000, 1, 60_000),
    "storage.writeRetryTimeoutMs": _whole(30_000, 1, 300_000),
    "storage.projectIndexLeaseMs": _whole(120_000, 10_000, 3_600_000),
}

ORDERS = (
    Order(("context.targetFillRatio", "context.softLimitRatio", "context.hardLimitRatio")),
    Order(("context.minimumOutputReserve", "context.preferredOutputReserve")),
    Order(("modelAwareness.minimumCalibrationSamples", "modelAwareness.calibrationWindow")),
    Order(
        ("modelAwareness.calibrationRatioLowerBound", "modelAwareness.calibrationRatioUpperBound"),
        strictly=True,
    ),
    Order(("project.snippetOverlapLines", "project.snippetLines"), strictly=True),
    Order(("artifacts.maxSearchBytes", "artifacts.maxArtifactBytes")),
    Order(("artifacts.excerptChars", "artifacts.maxInlineToolResultChars")),
    Order(("compaction.maxRequestInputTokens", "compaction.maxOperationInputTokens")),
    Order(("ranking.minimumTrainingSamples", "ranking.maxTrainingSamples")),
    Order(("storage.busyTimeoutMs", "storage.writeRetryTimeoutMs")),
    # False is less than true: continuation needs the consent to what the provider stores.
    Order(("nativeContinuation.enabled", "nativeContinuation.allowProviderStorage")),
)
