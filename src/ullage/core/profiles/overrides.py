"""What a user says of models: overrides under `*`, `provider/*` and `provider/model` (planner specification, section 3.1)."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct

Tokens = Annotated[int, Meta(ge=0, le=10_000_000)]
SomeTokens = Annotated[int, Meta(ge=1, le=10_000_000)]
UsdPerMillion = Annotated[float, Meta(ge=0, le=1_000_000)]
PlannerEstimator = Literal["chars-v1", "o200k-base-v1"]


class ModelOverride(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """What is said of the models that a key names; what is not said is left to other keys and sources. Prices are USD per million
    tokens."""

    context_window: Annotated[
        SomeTokens | None, Meta(description="The provider's limit on input and output together.")
    ] = None
    max_output_tokens: Annotated[SomeTokens | None, Meta(description="The longest answer.")] = None
    safety_margin_tokens: Annotated[Tokens | None, Meta(description="Kept free for errors of the estimate.")] = None
    recent_tail_tokens: Annotated[Tokens | None, Meta(description="Newest turns kept in an unbroken run.")] = None
    max_retrieved_history_tokens: Annotated[Tokens | None, Meta(description="Budget of retrieved history.")] = None
    max_project_tokens: Annotated[Tokens | None, Meta(description="Budget of project snippets.")] = None
    token_estimator: Annotated[
        PlannerEstimator | None, Meta(description="What `ratio-v1` counts by; BPE only for models that share o200k.")
    ] = None
    reasoning: Annotated[bool | None, Meta(description="Whether the model can reason before it answers.")] = None
    images: Annotated[bool | None, Meta(description="Whether the model reads pictures.")] = None
    input_price: Annotated[UsdPerMillion | None, Meta(description="USD per million fresh prompt tokens.")] = None
    output_price: Annotated[UsdPerMillion | None, Meta(description="USD per million output tokens.")] = None
    cache_read_price: Annotated[
        UsdPerMillion | None, Meta(description="USD per million prompt tokens read from cache.")
    ] = None
    cache_write_price: Annotated[
        UsdPerMillion | None, Meta(description="USD per million prompt tokens written to cache.")
    ] = None
