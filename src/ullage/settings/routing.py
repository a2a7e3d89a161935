"""Settings of routing, and of the providers that it may choose among (routing specification, sections 6 and 31)."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct, field

from ullage.core.routing.thinking import Level
from ullage.core.routing.weights import Policy
from ullage.core.wire.conversation import Dialect

KnownTier = Literal["light", "mid", "strong", "frontier"]


class AliasSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """A name of your own that clients may ask for like `ullage/auto`, with what differs from `[routing]` for it."""

    policy: Annotated[Policy | None, Meta(description="What weighs most.")] = None
    pool: Annotated[str | None, Meta(description="The active one of `routing.pools`.")] = None
    models: Annotated[tuple[str, ...], Meta(description="Patterns of the targets to choose among.")] = ()
    minimum_tier: Annotated[KnownTier | None, Meta(description="The least tier that may be chosen.")] = None
    thinking: Annotated[Level | None, Meta(description="The level of thinking for all tasks.")] = None


class ProviderSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """A provider that routed requests may go to. Of a well-known one, only what differs needs to be said."""

    url: Annotated[str, Meta(description="Root of its address, without `/v1`.")] = ""
    dialects: Annotated[tuple[Dialect, ...], Meta(description="The protocols that it speaks.")] = ()
    key: Annotated[
        str,
        Meta(
            pattern=r"^(env:[A-Za-z_][A-Za-z0-9_]*|keyring:[^/]+/.+|none|)$",
            examples=["env:VARIABLE", "keyring:SERVICE/USER", "none"],
            description="Where its key is found; the key itself never stands here.",
        ),
    ] = ""
    models: Annotated[tuple[str, ...], Meta(description="Ids of the models that it offers.")] = ()


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
    aliases: Annotated[dict[str, AliasSettings], Meta(description="Virtual models under names of your own.")] = field(
        default_factory=dict
    )
