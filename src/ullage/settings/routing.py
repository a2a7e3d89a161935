"""Settings of routing, and of the providers that it may choose among (routing specification, sections 6, 13 to 16 and 31)."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct, field

from ullage.core.routing.pools import PoolModel
from ullage.core.routing.rules import KnownTier
from ullage.core.routing.thinking import Level
from ullage.core.routing.weights import Policy
from ullage.core.wire.conversation import Dialect

Kind = Literal[
    "explain",
    "code-edit",
    "generate",
    "debug",
    "refactor",
    "review",
    "test",
    "plan",
    "architecture",
    "ops",
    "research",
    "mixed",
]

Part = Annotated[float, Meta(ge=0, le=1)]
ContextTokens = Annotated[int, Meta(ge=0, le=1_000_000_000)]
# Up to a year: longer windows and waits would be mistakes.
Milliseconds = Annotated[int, Meta(ge=1, le=31_536_000_000)]
Amount = Annotated[float, Meta(gt=0, le=1_000_000_000)]
Uvi = Annotated[float, Meta(ge=0, le=10)]
Weight = Annotated[float, Meta(gt=0, le=1_000_000)]
Coefficient = Annotated[float, Meta(ge=0, le=1_000)]


class ProviderSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """A provider that routed requests may go to. Of a well-known one, only what differs needs to be said."""

    url: Annotated[str, Meta(description="Root of its address, without `/v1`.")] = ""
    dialects: Annotated[
        tuple[Dialect, ...],
        Meta(description="The protocols that it speaks; clients of another one are translated to the first."),
    ] = ()
    key: Annotated[
        str,
        Meta(
            pattern=r"^(env:[A-Za-z_][A-Za-z0-9_]*|keyring:[^/]+/.+|none|)$",
            examples=["env:VARIABLE", "keyring:SERVICE/USER", "none"],
            description="Where its key is found; the key itself never stands here.",
        ),
    ] = ""
    models: Annotated[tuple[str, ...], Meta(description="Ids of the models that it offers.")] = ()


class AliasSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """A name of your own that clients may ask for like `ullage/auto`, with what differs from `[routing]` for it."""

    policy: Annotated[Policy | None, Meta(description="What weighs most.")] = None
    pool: Annotated[str | None, Meta(description="The active one of `routing.pools`.")] = None
    models: Annotated[tuple[str, ...], Meta(description="Patterns of the targets to choose among.")] = ()
    minimum_tier: Annotated[KnownTier | None, Meta(description="The least tier that may be chosen.")] = None
    thinking: Annotated[Level | None, Meta(description="The level of thinking for all tasks.")] = None


class TargetSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """What you know better of one target where routes are weighed. Windows and prices stand in `models.overrides`."""

    ramp: Annotated[Part | None, Meta(description="Its score in Ramp SWE-Bench.")] = None
    aa: Annotated[
        Annotated[float, Meta(ge=0, le=100)] | None, Meta(description="Its index by Artificial Analysis.")
    ] = None
    aider: Annotated[
        Annotated[float, Meta(ge=0, le=100)] | None, Meta(description="Its pass rate in Aider's polyglot benchmark.")
    ] = None
    cost_coefficient: Annotated[
        Coefficient | None, Meta(description="Scales its cost where routes are weighed, and nowhere else.")
    ] = None
    identity: Annotated[
        str | None,
        Meta(
            description="The logical model behind it, as `provider:model`: targets of one identity stand in for another."
        ),
    ] = None


class PoolSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """Targets, providers or both that share the work by weight. A member stands in each list that is not empty."""

    targets: Annotated[dict[str, Weight], Meta(description="Targets with their weights.")] = field(default_factory=dict)
    providers: Annotated[dict[str, Weight], Meta(description="Providers with their weights.")] = field(
        default_factory=dict
    )
    fallback: Annotated[
        Literal["none", "any"], Meta(description="Whether others may stand in where no member can.")
    ] = "none"
    allocation: Annotated[
        Literal["rolling", "fixed", "daily"],
        Meta(description="Which attempts count: of the last hours, since a window began, or since midnight."),
    ] = "rolling"
    window_hours: Annotated[float, Meta(gt=0, le=8_760, description="Length of the window.")] = 24.0


class WhenSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """When a rule applies: all conditions that are set must hold."""

    kinds: Annotated[tuple[Kind, ...], Meta(description="At least one of these was found in the task.")] = ()
    min_complexity: Annotated[Part | None, Meta(description="The task is at least so complex.")] = None
    max_complexity: Annotated[Part | None, Meta(description="The task is at most so complex.")] = None
    min_context_tokens: Annotated[
        ContextTokens | None, Meta(description="The session has at least so many tokens.")
    ] = None
    max_context_tokens: Annotated[ContextTokens | None, Meta(description="The session has at most so many tokens.")] = (
        None
    )
    has_images: Annotated[bool | None, Meta(description="Whether the task has pictures.")] = None
    trigger: Annotated[
        Literal["user", "extension"] | None, Meta(description="Who began the task: you, or the client by itself.")
    ] = None
    prompt_matches: Annotated[
        str | None, Meta(description="A regular expression that is found in the prompt; case does not count.")
    ] = None


class ActionSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """What a rule or a scenario does. Lists are patterns of targets or of bare ids of models."""

    only: Annotated[tuple[str, ...], Meta(description="Keeps these targets.")] = ()
    exclude: Annotated[tuple[str, ...], Meta(description="Removes these targets.")] = ()
    minimum_tier: Annotated[KnownTier | None, Meta(description="Raises the least tier.")] = None
    prefer: Annotated[tuple[str, ...], Meta(description="Prefers these targets, and removes none.")] = ()
    policy: Annotated[Policy | None, Meta(description="What weighs most for this task.")] = None
    thinking: Annotated[Level | None, Meta(description="The level of thinking for this task.")] = None


class RuleSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """A rule under a name. The first one that holds applies; scenarios are checked after all rules."""

    name: Annotated[str, Meta(description="Its name, which reasons are told with.")] = ""
    when: WhenSettings = field(default_factory=WhenSettings)
    then: ActionSettings = field(default_factory=ActionSettings)


class ConstraintSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Who may be chosen at all, by patterns with `*`. Deny and exclude win over allow and include."""

    provider_allow: Annotated[tuple[str, ...], Meta(description="Providers that are allowed; empty for any.")] = ()
    provider_deny: Annotated[tuple[str, ...], Meta(description="Providers that are not.")] = ()
    model_include: Annotated[tuple[str, ...], Meta(description="Targets that are allowed; empty for any.")] = ()
    model_exclude: Annotated[tuple[str, ...], Meta(description="Targets that are not.")] = ()
    auto_exclude: Annotated[
        tuple[str, ...], Meta(description="Targets that may be pinned, and are not chosen otherwise.")
    ] = ()


class CostSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the policy `cost` minds beside the price."""

    quality_floor: Annotated[Part, Meta(description="The quality that a target must reach.")] = 0.0
    stickiness_tolerance: Annotated[Part, Meta(description="How much dearer staying may be, as a part.")] = 0.1
    least_share: Annotated[
        Part,
        Meta(
            description="In managed mode: the least part of a conversation that a cheaper target must have room for; 1 leaves out"
            " nothing for the price."
        ),
    ] = 1.0


class GuardSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What keeps a session from switching for little."""

    downgrades: Annotated[bool, Meta(description="Let a target of a lower tier take over by itself.")] = False
    upgrade_confidence: Annotated[
        Part, Meta(description="How sure a dearer target of a higher tier must be to do better.")
    ] = 0.6
    switch_spend: Annotated[
        Part,
        Meta(description="What a session's switches may cost for the caches that they leave, as a part of staying."),
    ] = 0.2


class ClassifierSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A small model that is asked what kind of task a prompt is, where its words leave that open."""

    enabled: Annotated[bool, Meta(description="Ask it.")] = False
    target: Annotated[
        str, Meta(description="Who is asked, as `provider/model`. Empty: the cheapest that is light.")
    ] = ""
    threshold: Annotated[Part, Meta(description="Ask below this confidence.")] = 0.5
    timeout_ms: Annotated[int, Meta(ge=1, le=2_000, description="Longest wait for its answer.")] = 400
    max_usd: Annotated[float, Meta(ge=0, le=100, description="Most that one question may cost, in USD.")] = 0.002


class FailoverSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What happens where a target fails."""

    max_attempts: Annotated[int, Meta(ge=1, le=20, description="Targets that are tried, the first one included.")] = 3
    first_output_timeout_ms: Annotated[
        Milliseconds | None,
        Meta(description="Longest wait for the first words of an answer; then the next target is tried."),
    ] = None
    request_timeout_ms: Annotated[
        Milliseconds | None, Meta(description="Longest time that a routed request may take, with its whole answer.")
    ] = None


class QuotaProviderSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """What you may use of one provider. Pressure is use as a part of its limit."""

    window_ms: Annotated[Milliseconds | None, Meta(description="Length of its window.")] = None
    max_usd: Annotated[Amount | None, Meta(description="USD in a window.")] = None
    max_requests: Annotated[Amount | None, Meta(description="Requests in a window.")] = None
    warning_uvi: Annotated[Uvi | None, Meta(description="Pressure from which to use it less; 0.8 if not set.")] = None
    block_uvi: Annotated[Uvi | None, Meta(description="Pressure from which to avoid it; 1 if not set.")] = None


class QuotaSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How near a provider is to its limits, by your own figures and by the headers of its answers."""

    enabled: Annotated[bool, Meta(description="Watch quotas.")] = True
    window_ms: Annotated[
        Milliseconds, Meta(description="Length of a window where the provider has none of its own.")
    ] = 86_400_000
    stale_after_ms: Annotated[Milliseconds, Meta(description="How long what a header said is believed.")] = 3_600_000
    providers: Annotated[dict[str, QuotaProviderSettings], Meta(description="Limits of providers.")] = field(
        default_factory=dict
    )


class RoutingSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How a model is chosen where a client asks for `ullage/auto`, `auto` or one of your aliases."""

    enabled: Annotated[bool, Meta(description="Answer to virtual models. Off relays their names like any other.")] = (
        True
    )
    policy: Annotated[Policy, Meta(description="What weighs most where targets differ.")] = "balanced"
    models: Annotated[
        tuple[str, ...],
        Meta(
            description="Patterns of the targets to choose among. Empty: all that are reachable and known well enough."
        ),
    ] = ()
    thinking: Annotated[
        Literal["auto", "off", "minimal", "low", "medium", "high", "xhigh", "max"],
        Meta(description="How much models think: what the task asks for, or the same for all."),
    ] = "auto"
    pool: Annotated[str, Meta(description="The active one of `routing.pools`; empty for none.")] = ""
    pool_model: Annotated[
        PoolModel, Meta(description="What is scored: the missing share, or the rank among the members.")
    ] = "deficit"
    cache_model: Annotated[
        Literal["horizon", "v1"], Meta(description="How caches are priced: over all calls of the task, or over one.")
    ] = "horizon"
    analyzer: Annotated[
        Literal["v2", "v1"], Meta(description="How tasks are read: in many languages, or as the reference does.")
    ] = "v2"
    capability_source: Annotated[
        Literal["catalog", "ramp", "aa", "aider"],
        Meta(description="Whose word on the ability of a model comes first."),
    ] = "catalog"
    cost_coefficient: Annotated[
        Coefficient, Meta(description="Scales the cost of all models where routes are weighed, and nowhere else.")
    ] = 1.0
    translate: Annotated[
        bool,
        Meta(
            description="Choose models that speak another protocol than the client too, and translate between the two."
        ),
    ] = True
    escalation: Annotated[
        bool, Meta(description="Go to a stronger model after two mistakes of the same tool in a row.")
    ] = True
    compaction: Annotated[
        Literal["routed", "all"],
        Meta(
            description="Whose summaries go to the target that writes them for the least: those of routed sessions, or also"
            " those of clients that name a model themselves."
        ),
    ] = "routed"
    compaction_models: Annotated[
        tuple[str, ...], Meta(description="Patterns of the targets for summaries. Empty: those of all other requests.")
    ] = ()
    shadow: Annotated[bool, Meta(description="Keep the current model, and record what would have been chosen.")] = False
    explore: Annotated[Part, Meta(description="Part of the tasks that try another target than the best, to learn.")] = (
        0.0
    )
    constraints: ConstraintSettings = field(default_factory=ConstraintSettings)
    cost: CostSettings = field(default_factory=CostSettings)
    guards: GuardSettings = field(default_factory=GuardSettings)
    classifier: ClassifierSettings = field(default_factory=ClassifierSettings)
    failover: FailoverSettings = field(default_factory=FailoverSettings)
    quota: QuotaSettings = field(default_factory=QuotaSettings)
    aliases: Annotated[dict[str, AliasSettings], Meta(description="Virtual models under names of your own.")] = field(
        default_factory=dict
    )
    targets: Annotated[dict[str, TargetSettings], Meta(description="What you know better of targets.")] = field(
        default_factory=dict
    )
    pools: Annotated[dict[str, PoolSettings], Meta(description="Pools under names of your own.")] = field(
        default_factory=dict
    )
    rules: Annotated[tuple[RuleSettings, ...], Meta(description="Rules in the order in which they are checked.")] = ()
    scenarios: Annotated[
        dict[str, ActionSettings],
        Meta(description="What is done with `vision`, `long_context`, `background` and kinds of tasks."),
    ] = field(default_factory=dict)

    @property
    def identities(self) -> dict[str, str]:
        """Targets with the logical model that they were declared to be."""
        return {target: one.identity for target, one in self.targets.items() if one.identity is not None}
