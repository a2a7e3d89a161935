"""The columns of every export (docs/reference/exports.md): stable names, flat values, never content.

Columns are only ever added, at the end. Times are ISO 8601 UTC, money is USD; `None` is what is not known.
"""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import Meta, Struct

Names = tuple[str, ...]
"""Several words: a list in JSON and Parquet, joined by semicolons in CSV."""


class CallRow(Struct, frozen=True, kw_only=True):
    """One request of a client and what came of it."""

    id: Annotated[str, Meta(description="of the request, as in `x-ullage-request`")]
    at: Annotated[str, Meta(description="when it came")]
    session: Annotated[str, Meta(description="its session; empty for an errand of none")]
    client: Annotated[str | None, Meta(description="who asked: `claude-code`, `codex`, …")]
    project: Annotated[str | None, Meta(description="the folder that it was asked for in")]
    kind: Annotated[str, Meta(description="`conversation`, or the errand: `title`, `compaction`, `count_tokens`, …")]
    dialect: Annotated[str, Meta(description="the client's protocol")]
    provider: Annotated[str, Meta(description="who was asked last")]
    model: Annotated[str | None, Meta(description="the model that was asked last")]
    target: Annotated[str, Meta(description="both, as `provider/model`")]
    answered_by: Annotated[str | None, Meta(description="the model that the answer names")]
    status: Annotated[int | None, Meta(description="the HTTP status of the answer")]
    outcome: Annotated[str, Meta(description="`ok`, `error`, `cut`, `left`, `answered` (by us), `unparsed`")]
    success: Annotated[
        bool | None, Meta(description="whether the provider delivered; empty where that says nothing of it")
    ]
    streamed: Annotated[bool, Meta(description="whether the answer was streamed")]
    stop_reason: Annotated[str | None, Meta(description="why the model stopped")]
    first_byte_ms: Annotated[float | None, Meta(description="until the answer began, from when the request came")]
    first_output_ms: Annotated[float | None, Meta(description="until a stream said something; thinking says nothing")]
    latency_ms: Annotated[float | None, Meta(description="until it was over")]
    request_bytes: Annotated[int, Meta(description="size of the request")]
    answer_bytes: Annotated[int, Meta(description="size of the answer")]
    estimated_input_tokens: Annotated[int | None, Meta(description="our estimate of the prompt")]
    input_fresh: Annotated[int | None, Meta(description="tokens of the prompt that no cache had")]
    cache_read: Annotated[int | None, Meta(description="tokens read from a cache")]
    cache_write: Annotated[int | None, Meta(description="tokens written to a cache")]
    output: Annotated[int | None, Meta(description="tokens of the answer, reasoning included")]
    reasoning: Annotated[int | None, Meta(description="those of them that were reasoning")]
    cost_usd: Annotated[float | None, Meta(description="by usage and price; empty where one of them is not known")]
    task: Annotated[str | None, Meta(description="the routed task that it belongs to")]
    task_kinds: Annotated[Names, Meta(description="what kinds of task that is")]
    policy: Annotated[str | None, Meta(description="the policy of its route")]
    reason: Annotated[str | None, Meta(description="`user`, `continuation`, `retry` or `helper`")]
    attempts: Annotated[int, Meta(description="targets that were asked")]


class AttemptRow(Struct, frozen=True, kw_only=True):
    """One target that was asked for an answer: several of a request where some failed."""

    id: Annotated[str, Meta(description="of the attempt: the request's and a number")]
    request: Annotated[str, Meta(description="id of the request")]
    at: Annotated[str, Meta(description="when the request came")]
    session: Annotated[str, Meta(description="its session")]
    number: Annotated[int, Meta(description="1 for the first target")]
    provider: Annotated[str, Meta(description="who was asked")]
    model: Annotated[str | None, Meta(description="for which model")]
    target: Annotated[str, Meta(description="both, as `provider/model`")]
    status: Annotated[int | None, Meta(description="the HTTP status; empty where no answer began")]
    failure: Annotated[str | None, Meta(description="why nothing came of it, as circuits class it")]
    success: Annotated[bool | None, Meta(description="whether the provider delivered")]
    committed: Annotated[bool, Meta(description="whether the client got this answer")]
    first_byte_ms: Annotated[float | None, Meta(description="until the answer began, from when this target was asked")]
    first_output_ms: Annotated[float | None, Meta(description="until a stream said something, from then on")]
    latency_ms: Annotated[float | None, Meta(description="until it was over, or given up")]
    input_fresh: Annotated[int | None, Meta(description="tokens of the prompt that no cache had")]
    cache_read: Annotated[int | None, Meta(description="tokens read from a cache")]
    cache_write: Annotated[int | None, Meta(description="tokens written to a cache")]
    output: Annotated[int | None, Meta(description="tokens of the answer")]
    cost_usd: Annotated[float | None, Meta(description="what it cost, as far as that is known")]


class MetricRow(Struct, frozen=True, kw_only=True):
    """One target in one hour (UTC)."""

    hour: Annotated[str, Meta(description="when the hour begins")]
    provider: Annotated[str, Meta(description="the provider")]
    model: Annotated[str | None, Meta(description="the model")]
    target: Annotated[str, Meta(description="both, as `provider/model`")]
    attempts: Annotated[int, Meta(description="how often it was asked")]
    successes: Annotated[int, Meta(description="how often it answered")]
    failures: Annotated[int, Meta(description="how often it failed, or its answer broke")]
    rate_limits: Annotated[int, Meta(description="answers with status 429")]
    failovers: Annotated[int, Meta(description="failures after which another target was asked")]
    latency_p50_ms: Annotated[float | None, Meta(description="median of whole answers")]
    latency_p95_ms: Annotated[float | None, Meta(description="and the value that 95 of 100 do not pass")]
    ttft_p50_ms: Annotated[float | None, Meta(description="the same until streamed answers said something")]
    ttft_p95_ms: Annotated[float | None, Meta(description="and of 95 of 100")]
    input_fresh: Annotated[int, Meta(description="tokens of prompts that no cache had")]
    cache_read: Annotated[int, Meta(description="tokens read from a cache")]
    cache_write: Annotated[int, Meta(description="tokens written to a cache")]
    output: Annotated[int, Meta(description="tokens of answers")]
    cost_usd: Annotated[float | None, Meta(description="of the requests whose price is known")]
    unpriced: Annotated[int, Meta(description="requests with a usage and no price")]


class TaskRow(Struct, frozen=True, kw_only=True):
    """One routed task: a turn of the user with all calls of its tool loop."""

    id: Annotated[str, Meta(description="of the task")]
    session: Annotated[str, Meta(description="its session")]
    started_at: Annotated[str, Meta(description="when its first call came")]
    duration_ms: Annotated[float, Meta(description="until its last call was over")]
    settled: Annotated[bool, Meta(description="whether its last call asked for no further tool")]
    targets: Annotated[Names, Meta(description="the targets that were asked, in their order")]
    calls: Annotated[int, Meta(description="its calls")]
    switches: Annotated[int, Meta(description="how often the target changed")]
    escalated: Annotated[bool, Meta(description="whether it was moved to a stronger target")]
    task_kinds: Annotated[Names, Meta(description="what kinds of task it is")]
    complexity: Annotated[float | None, Meta(description="0 to 1")]
    policy: Annotated[str | None, Meta(description="the policy of its route")]
    delivery_outcome: Annotated[str, Meta(description="`unknown` where all was delivered, `failure` or `cancelled`")]
    assessment: Annotated[str | None, Meta(description="what its user said of it: `success` or `failure`")]
    input_tokens: Annotated[int, Meta(description="tokens of all prompts")]
    cache_read_tokens: Annotated[int, Meta(description="those of them that were read from a cache")]
    output_tokens: Annotated[int, Meta(description="tokens of all answers")]
    cost_usd: Annotated[float | None, Meta(description="of all attempts, with what its client asked for meanwhile")]
    cost_kind: Annotated[str, Meta(description="`known`, or `estimated` where a part is not known")]


class EventRow(Struct, frozen=True, kw_only=True):
    """Something that happened, as one of the kinds that Pi Auto Model has, and some more (routing specification, section 26)."""

    id: Annotated[str, Meta(description="of the event: the same in every export")]
    kind: Annotated[str, Meta(description="what happened: the table below")]
    at: Annotated[str, Meta(description="when")]
    request_id: Annotated[str | None, Meta(description="the request that it is of")]
    session_id: Annotated[str | None, Meta(description="its session")]
    target_id: Annotated[str | None, Meta(description="the target, as `provider/model`")]
    provider: Annotated[str | None, Meta(description="its provider")]
    model_id: Annotated[str | None, Meta(description="its model")]
    task_kinds: Annotated[Names, Meta(description="the kinds of the task")]
    status: Annotated[int | None, Meta(description="an HTTP status")]
    latency_ms: Annotated[float | None, Meta(description="how long it took")]
    cost_usd: Annotated[float | None, Meta(description="what it cost")]
    success: Annotated[bool | None, Meta(description="whether it went well")]
    source: Annotated[str, Meta(description="who says so: `gateway`, `provider` or `user`")]
    metadata: Annotated[dict[str, Any], Meta(description="the rest: flat names and values")]


Row = CallRow | AttemptRow | MetricRow | TaskRow | EventRow
