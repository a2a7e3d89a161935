"""Calls in the words of OpenTelemetry's conventions for generative AI, as they stood in the middle of 2026 (they are in
development). No attribute has content."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from ullage.stores.exports.tables import split_target
from ullage.stores.metrics import NANO, attempts_of, cost_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ullage.stores import AttemptRecord
    from ullage.stores.route_records import AttemptMade

Value = str | int | float | bool | tuple[str, ...]
Attributes = dict[str, Value]

TOKEN_BOUNDS = (1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216, 67108864)
SECOND_BOUNDS = (0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92)
"""Ranges of tokens and of seconds that the conventions recommend."""

# What the conventions call providers that we call otherwise.
_PROVIDERS = {
    "azure": "azure.ai.openai",
    "bedrock": "aws.bedrock",
    "bedrock-claude": "aws.bedrock",
    "google": "gcp.gemini",
    "mistral": "mistral_ai",
    "xai": "x_ai",
}
_OPERATIONS = {"gemini": "generate_content"}
_INPUTS = ("input_fresh", "cache_read", "cache_write")
_ERROR = 400


class SpanFacts(Struct, frozen=True, kw_only=True):
    """One span: times are nanoseconds since the epoch. `error` is what went wrong, in a word."""

    name: str
    start_ns: int
    end_ns: int
    attributes: Attributes
    error: str | None = None


class Measurement(Struct, frozen=True, kw_only=True):
    """One value of one of the conventions' histograms."""

    name: str
    value: float
    attributes: Attributes


def describe_request(call: AttemptRecord) -> SpanFacts:
    """What a client asked for, with all attempts at it."""
    route, cost = call.route, cost_of(call)
    attributes = _known(
        {
            "gen_ai.conversation.id": call.session or None,
            "ullage.request": call.id,
            "ullage.client": call.client,
            "ullage.kind": call.kind,
            "ullage.dialect": call.dialect,
            "ullage.outcome": call.outcome,
            "ullage.attempts": len(attempts_of(call)),
            "ullage.cost_usd": None if cost is None else cost / NANO,
            "ullage.task": route.task_id if route is not None else None,
            "ullage.policy": route.policy if route is not None else None,
            "ullage.reason": route.reason if route is not None else None,
            "http.response.status_code": call.status,
        }
    )
    return SpanFacts(
        name=f"ullage {call.kind}",
        start_ns=_ns(call.created_ms),
        end_ns=_ns(call.created_ms + (call.duration_ms or 0.0)),
        attributes=attributes,
        error=_error_of_call(call),
    )


def describe_attempts(call: AttemptRecord) -> Iterator[SpanFacts]:
    """A span for each target that was asked."""
    made = attempts_of(call)
    for number, one in enumerate(made, 1):
        last = number == len(made)
        start_ms = one.at_ms if one.at_ms is not None else call.created_ms
        common = _common(call, one)
        yield SpanFacts(
            name=f"{common['gen_ai.operation.name']} {common.get('gen_ai.request.model', '')}".strip(),
            start_ns=_ns(start_ms),
            end_ns=_ns(start_ms + (one.ms or 0.0)),
            attributes={**common, **_known(_of_attempt(one, number)), **(_known(_of_answer(call)) if last else {})},
            error=_error_of(call, one, last=last),
        )


def measure(call: AttemptRecord) -> Iterator[Measurement]:
    """What the conventions measure of a call."""
    made = attempts_of(call)
    for number, one in enumerate(made, 1):
        last = number == len(made)
        common, error = _common(call, one), _error_of(call, one, last=last)
        attributes = {**common, **({"error.type": error} if error is not None else {})}
        if one.ms is not None:
            yield Measurement(name="gen_ai.client.operation.duration", value=one.ms / 1000, attributes=attributes)
        if last and call.streamed and one.ms_to_first is not None:
            yield Measurement(
                name="gen_ai.client.operation.time_to_first_chunk", value=one.ms_to_first / 1000, attributes=attributes
            )
        if last and call.usage is not None:
            for kind, tokens in (("input", _input(call.usage)), ("output", call.usage.get("output"))):
                if tokens is not None:
                    yield Measurement(
                        name="gen_ai.client.token.usage",
                        value=tokens,
                        attributes={**common, "gen_ai.token.type": kind},
                    )


def _common(call: AttemptRecord, one: AttemptMade) -> Attributes:
    """What every span and every measurement of an attempt has."""
    provider, model = split_target(one.target)
    return _known(
        {
            "gen_ai.operation.name": _OPERATIONS.get(one.dialect or call.dialect, "chat"),
            "gen_ai.provider.name": _PROVIDERS.get(provider, provider),
            "gen_ai.request.model": model,
        }
    )


def _of_attempt(one: AttemptMade, number: int) -> Mapping[str, Value | None]:
    return {
        "http.response.status_code": one.status,
        "ullage.attempt": number,
        "ullage.committed": one.committed,
    }


def _of_answer(call: AttemptRecord) -> Mapping[str, Value | None]:
    usage = call.usage or {}
    return {
        "gen_ai.request.stream": call.streamed,
        "gen_ai.response.model": call.answered_by,
        "gen_ai.response.finish_reasons": (call.stop_reason,) if call.stop_reason else None,
        "gen_ai.usage.input_tokens": _input(usage) if usage else None,
        "gen_ai.usage.output_tokens": usage.get("output"),
        "gen_ai.usage.cache_read.input_tokens": usage.get("cache_read"),
        "gen_ai.usage.cache_creation.input_tokens": usage.get("cache_write"),
        "gen_ai.usage.reasoning.output_tokens": usage.get("reasoning"),
    }


def _input(usage: Mapping[str, int | None]) -> int:
    """The whole prompt, what caches held included."""
    return sum(usage.get(part) or 0 for part in _INPUTS)


def _error_of_call(call: AttemptRecord) -> str | None:
    return None if call.outcome in ("ok", "unparsed", "answered") else call.outcome


def _error_of(call: AttemptRecord, one: AttemptMade, *, last: bool) -> str | None:
    """Why an attempt failed; that the client has left is no failure of its own."""
    if one.failure is not None:
        return one.failure
    if one.status is not None and one.status >= _ERROR:
        return str(one.status)
    return _error_of_call(call) if last else "failed"


def _known(values: Mapping[str, Value | None]) -> Attributes:
    return {name: value for name, value in values.items() if value is not None}


def _ns(at_ms: float) -> int:
    return round(at_ms * 1_000_000)
