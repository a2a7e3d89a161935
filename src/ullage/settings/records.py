"""Every setting there is, once: its type, its default, its range and what it means."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct, field

from ullage.core.privacy.policy import PrivacySettings
from ullage.core.profiles.heuristics import Defaults, Heuristics, Profile, Rule, ToolShape
from ullage.core.profiles.overrides import ModelOverride, PlannerEstimator, Tokens

from .budget import BudgetSettings
from .routing import ProviderSettings, RoutingSettings
from .telemetry import TelemetrySettings

Mode = Literal["observe", "managed"]
LogLevel = Literal["debug", "info", "warning", "error"]

Port = Annotated[int, Meta(ge=0, le=65535)]
# The upper bounds keep arithmetic with times and sizes in range; nobody needs to come near them.
Seconds = Annotated[float, Meta(gt=0, le=86_400)]
Days = Annotated[int, Meta(ge=1, le=36_500)]
Connections = Annotated[int, Meta(ge=1, le=65_535)]
Bytes = Annotated[int, Meta(ge=1, le=1 << 40)]


class ServerSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The daemon's own socket and what it lets in."""

    host: Annotated[str, Meta(description="Address to listen on. Only loopback addresses are allowed.")] = "127.0.0.1"
    port: Annotated[Port, Meta(description="Port to listen on; 0 picks a free one.")] = 8484
    body_limit_bytes: Annotated[Bytes, Meta(description="Largest request body that is let in.")] = 64 * 1024 * 1024
    header_timeout_s: Annotated[Seconds, Meta(description="Longest wait for a request's headers.")] = 30.0
    body_timeout_s: Annotated[Seconds, Meta(description="Longest pause inside a request body.")] = 60.0
    keep_alive_s: Annotated[Seconds, Meta(description="How long an idle client connection stays open.")] = 120.0
    max_connections: Annotated[
        Connections, Meta(description="Client connections at once; more are refused with 503.")
    ] = 2000
    drain_timeout_s: Annotated[Seconds, Meta(description="How long open answers may finish after SIGTERM.")] = 30.0


class UpstreamSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How providers are reached."""

    connect_timeout_s: Annotated[Seconds, Meta(description="Longest wait for a connection to a provider.")] = 15.0
    idle_timeout_s: Annotated[Seconds, Meta(description="Longest silence of a provider inside one answer.")] = 600.0
    connections: Annotated[Connections, Meta(description="Connections to providers at once.")] = 2000
    keep_alive_s: Annotated[Seconds, Meta(description="How long an idle provider connection is kept.")] = 60.0
    use_proxy_environment: Annotated[
        bool, Meta(description="Reach providers through HTTPS_PROXY and its kin when they are set.")
    ] = True


class AccountingSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is counted beside the relay."""

    enabled: Annotated[bool, Meta(description="Account for requests. Off relays only and records usage.")] = True
    estimator: Annotated[
        Literal["wire-v1", "o200k-base-v1", "chars-v1", "inspector-v2", "inspector-v1"],
        Meta(description="The estimator behind live figures, and of commands that are not told another."),
    ] = "wire-v1"
    number_style: Annotated[
        Literal["fine", "coarse"],
        Meta(description="Decimals of the views: one everywhere, or none from 1k on."),
    ] = "fine"
    queue_bytes: Annotated[
        Bytes, Meta(description="Bodies waiting to be accounted for; past that only usage is recorded.")
    ] = 256 * 1024 * 1024
    defaults: Annotated[
        Defaults, Meta(description="What the inspectors count with for models that no built-in row knows.")
    ] = field(default_factory=Defaults)
    profiles: Annotated[
        dict[str, Profile], Meta(description="Ways of counting under names, for `defaults.profile` and rules.")
    ] = field(default_factory=dict)
    tool_shapes: Annotated[
        dict[str, ToolShape], Meta(description="Shapes of tool definitions under names, for `tool_numerator`.")
    ] = field(default_factory=dict)
    rules: Annotated[
        tuple[Rule, ...], Meta(description="What counts for which models, in order: a later rule wins.")
    ] = ()

    @property
    def heuristics(self) -> Heuristics:
        """What is set about estimators that divide characters."""
        return Heuristics(
            profiles=self.profiles, tool_shapes=self.tool_shapes, defaults=self.defaults, rules=self.rules
        )


class ModelSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is known of models, and from where."""

    enabled: Annotated[
        bool, Meta(description="Off ignores overrides and everything learned; limits then follow the window alone.")
    ] = True
    refresh: Annotated[
        bool, Meta(description="Fetch LiteLLM's catalogue of windows and prices now and then, in the background.")
    ] = True
    refresh_hours: Annotated[
        float, Meta(gt=0, le=8_760, description="How old the catalogue may be before it is fetched again.")
    ] = 24.0
    overrides: Annotated[
        dict[str, ModelOverride],
        Meta(description="What you know better, under `*`, `provider/*` or `provider/model`; the last one wins."),
    ] = field(default_factory=dict)


class CalibrationSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is learned from the usage that providers report (planner specification, sections 7 to 9)."""

    method: Annotated[
        Literal["ratio-v1", "growth-v1"],
        Meta(description="What limits follow: the session's last usage and the law of growth, or one median ratio."),
    ] = "growth-v1"
    estimator: Annotated[
        PlannerEstimator,
        Meta(
            description="What `ratio-v1` counts by where no override names another; `growth-v1` by the account's own."
        ),
    ] = "chars-v1"
    window: Annotated[int, Meta(ge=3, le=200, description="Newest samples that count.")] = 24
    minimum_samples: Annotated[int, Meta(ge=1, le=200, description="Accepted samples before a ratio is applied.")] = 3
    lower_bound: Annotated[float, Meta(ge=0.25, le=4, description="Smallest ratio that is believed.")] = 0.5
    upper_bound: Annotated[float, Meta(ge=0.25, le=4, description="Largest ratio that is believed.")] = 2.0
    half_life_days: Annotated[
        float, Meta(ge=0, le=3_650, description="Age at which a sample counts half; 0 lets none age.")
    ] = 0.0
    auto_tune: Annotated[
        bool, Meta(description="Raise automatic category budgets by an eighth while there is ample room.")
    ] = False


class PlanningSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Limits of a prompt and of its parts (planner specification, sections 2.2, 4 and 5)."""

    target_fill_ratio: Annotated[
        float, Meta(gt=0, le=1, description="Share of the window that a plan fills by preference.")
    ] = 0.7
    soft_limit_ratio: Annotated[float, Meta(gt=0, le=1, description="Share of the window from which to warn.")] = 0.8
    hard_limit_ratio: Annotated[float, Meta(gt=0, le=1, description="Share of the window never to exceed.")] = 0.9
    minimum_output_reserve: Annotated[Tokens, Meta(description="Least room kept for the answer.")] = 8_192
    preferred_output_reserve: Annotated[Tokens, Meta(description="Room kept for the answer if the model allows.")] = (
        32_768
    )
    recent_tail_tokens: Annotated[Tokens, Meta(description="Most that the newest turns may take.")] = 64_000
    max_retrieved_history_tokens: Annotated[Tokens, Meta(description="Most that retrieved history may take.")] = 16_000
    max_project_tokens: Annotated[Tokens, Meta(description="Most that project snippets may take.")] = 20_000
    max_pinned_tokens: Annotated[Tokens, Meta(description="Most that pins may take; they are kept whole.")] = 16_000
    max_memory_tokens: Annotated[Tokens, Meta(description="Most that remembered facts may take.")] = 8_000
    max_summary_tokens: Annotated[Tokens, Meta(description="Most that the client's own summaries may take.")] = 12_000
    rescue_predecessor: Annotated[
        bool,
        Meta(description="Keep the turn before the current one though it is larger than the tail, if there is room."),
    ] = True
    placement: Annotated[
        Literal["latest-user", "stable-prefix", "hybrid"],
        Meta(
            description="Where pins, memory and evidence stand: before the newest request, at the start, or in both places."
        ),
    ] = "latest-user"
    tail: Annotated[
        Literal["auto", "epoch-v1", "off"],
        Meta(
            description="How the oldest kept turn moves: in steps that the prompt cache pays for, by the reference's rule of"
            " epochs, or at every turn."
        ),
    ] = "auto"


class ArtifactSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Large tool results of old turns, kept on disk and named in the prompt (planner specification, section 20)."""

    enabled: Annotated[bool, Meta(description="Trim large results of old turns before a turn is dropped.")] = True
    inline_chars: Annotated[
        int,
        Meta(ge=1_000, le=10_000_000, description="A longer result may be trimmed; the most that its reference takes."),
    ] = 12_000
    excerpt_chars: Annotated[
        int, Meta(ge=0, le=10_000_000, description="Most characters of the result that its reference quotes.")
    ] = 6_000
    adaptive: Annotated[
        bool, Meta(description="Let references share what room a request has left; their bytes then change with it.")
    ] = False
    object_bytes: Annotated[Bytes, Meta(description="A larger result is never trimmed.")] = 100_000_000
    search_bytes: Annotated[Bytes, Meta(description="A larger artifact is neither searched nor read.")] = 50_000_000
    matches: Annotated[int, Meta(ge=1, le=100, description="Most matches that a search in an artifact shows.")] = 12


class MemorySettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What you pin, and what you note to be remembered (planner specification, sections 14 and 15)."""

    pin_chars: Annotated[int, Meta(ge=1, le=20_000, description="Most characters of one pin.")] = 4_000
    claim_chars: Annotated[int, Meta(ge=1, le=20_000, description="Most characters of one remembered claim.")] = 2_000
    max_results: Annotated[int, Meta(ge=0, le=100, description="Most remembered claims that one request gets.")] = 12


class StoreSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where records are kept and for how long."""

    url: Annotated[
        str,
        Meta(
            pattern=r"^(sqlite|memory|sqlite:///.+)$",
            examples=["sqlite", "sqlite:///PATH", "memory"],
            description="`sqlite` is a file in the data directory; `memory` forgets at the end of the run.",
        ),
    ] = "sqlite"
    keep_days: Annotated[Days, Meta(description="Calls and events older than this are pruned.")] = 90
    scope: Annotated[
        Literal["project", "user"],
        Meta(
            description="`project` keeps the records of each project in a file of its own; what is learned is shared."
        ),
    ] = "project"


class Settings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """All settings. `upstreams` maps a dialect to the root of its provider."""

    mode: Annotated[
        Mode,
        Meta(
            description="`observe` relays byte for byte and accounts beside it; `managed` plans what is sent, so that it fits."
        ),
    ] = "observe"
    data_dir: Annotated[str, Meta(description="Folder of the database. Empty: $XDG_DATA_HOME/ullage.")] = ""
    log_level: Annotated[LogLevel, Meta(description="How much the daemon says on standard error.")] = "info"
    server: ServerSettings = field(default_factory=ServerSettings)
    upstreams: Annotated[
        dict[str, str],
        Meta(description="Provider root per dialect; see `ullage config show` for the defaults."),
    ] = field(default_factory=dict)
    upstream: UpstreamSettings = field(default_factory=UpstreamSettings)
    providers: Annotated[
        dict[str, ProviderSettings],
        Meta(description="Providers under names of your own, and what differs for well-known ones."),
    ] = field(default_factory=dict)
    accounting: AccountingSettings = field(default_factory=AccountingSettings)
    models: ModelSettings = field(default_factory=ModelSettings)
    calibration: CalibrationSettings = field(default_factory=CalibrationSettings)
    planning: PlanningSettings = field(default_factory=PlanningSettings)
    artifacts: ArtifactSettings = field(default_factory=ArtifactSettings)
    memory: MemorySettings = field(default_factory=MemorySettings)
    privacy: PrivacySettings = field(default_factory=PrivacySettings)
    routing: RoutingSettings = field(default_factory=RoutingSettings)
    budget: BudgetSettings = field(default_factory=BudgetSettings)
    store: StoreSettings = field(default_factory=StoreSettings)
    telemetry: TelemetrySettings = field(default_factory=TelemetrySettings)
