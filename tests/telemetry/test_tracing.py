"""Spans and metrics by OpenTelemetry's conventions for generative AI, without content."""

from __future__ import annotations

import sys
from typing import Any

import pytest
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.semconv._incubating.metrics import gen_ai_metrics
from opentelemetry.trace import SpanKind, StatusCode

from tests.telemetry.test_figures import call
from ullage.stores.route_records import AttemptMade, AttemptRoute
from ullage.telemetry.genai import describe_attempts, describe_request, measure
from ullage.telemetry.tracing import Providers, Tracing, open_tracing

# The names of the conventions, which have moved to a repository of their own: their constants warn of it when they are read.
NAMES = {value for name, value in vars(gen_ai_metrics).items() if name.startswith("GEN_AI_")}
FAILED = AttemptMade(target="openai/gpt", status=429, failure="rate-limit", ms_to_first=80.0, at_ms=1_000, ms=90.0)
ANSWERED = AttemptMade(
    target="anthropic/haiku", status=200, ms_to_first=400.0, at_ms=1_100, ms=2_400.0, committed=True, usd=0.0068
)
ROUTED = call(
    created_ms=1_000,
    answered_by="haiku-2026",
    stop_reason="stop",
    route=AttemptRoute(task_id="t", target="anthropic/haiku", policy="cost", attempts=(FAILED, ANSWERED)),
)


class Collected:
    """A tracing whose spans and metrics stay here."""

    def __init__(self) -> None:
        self.exporter, self.reader = InMemorySpanExporter(), InMemoryMetricReader()
        traces = TracerProvider()
        traces.add_span_processor(SimpleSpanProcessor(self.exporter))
        self.tracing = Tracing(Providers(traces, MeterProvider(metric_readers=[self.reader])))

    @property
    def spans(self) -> list[Any]:
        return list(self.exporter.get_finished_spans())

    @property
    def points(self) -> dict[str, list[Any]]:
        data = self.reader.get_metrics_data()
        assert data is not None
        return {
            metric.name: list(metric.data.data_points)
            for resource in data.resource_metrics
            for scope in resource.scope_metrics
            for metric in scope.metrics
        }


def test_a_request_has_a_span_with_one_below_it_for_each_target_that_was_asked() -> None:
    collected = Collected()
    collected.tracing.note(ROUTED)
    request, failed, answered = collected.spans
    assert [span.name for span in collected.spans] == ["ullage conversation", "chat gpt", "chat haiku"]
    assert (request.kind, failed.kind) == (SpanKind.SERVER, SpanKind.CLIENT)
    assert {span.parent.span_id for span in (failed, answered)} == {request.context.span_id}
    assert len({span.context.trace_id for span in collected.spans}) == 1
    assert (request.start_time, request.end_time) == (1_000_000_000, 3_500_000_000)
    assert (answered.start_time, answered.end_time) == (1_100_000_000, 3_500_000_000)
    assert (failed.status.status_code, failed.attributes["error.type"]) == (StatusCode.ERROR, "rate-limit")
    assert answered.status.status_code is StatusCode.UNSET


def test_the_spans_are_part_of_the_trace_that_the_client_tells_of() -> None:
    collected = Collected()
    trace, span = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
    collected.tracing.note(call(traceparent=f"00-{trace}-{span}-01"))
    request, attempt = collected.spans
    assert f"{request.parent.span_id:016x}" == span
    assert {f"{one.context.trace_id:032x}" for one in (request, attempt)} == {trace}


def test_attributes_are_those_of_the_conventions() -> None:
    (*_, answered) = describe_attempts(ROUTED)
    assert answered.attributes == {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "anthropic",
        "gen_ai.request.model": "haiku",
        "gen_ai.request.stream": True,
        "gen_ai.response.model": "haiku-2026",
        "gen_ai.response.finish_reasons": ("stop",),
        "gen_ai.usage.input_tokens": 20_000,
        "gen_ai.usage.output_tokens": 600,
        "gen_ai.usage.cache_read.input_tokens": 18_000,
        "gen_ai.usage.cache_creation.input_tokens": 0,
        "http.response.status_code": 200,
        "ullage.attempt": 2,
        "ullage.committed": True,
    }
    told = describe_request(ROUTED).attributes
    assert (told["gen_ai.conversation.id"], told["ullage.attempts"], told["ullage.policy"]) == ("s", 2, "cost")
    assert told["ullage.cost_usd"] == pytest.approx(0.0068)


def test_metrics_are_those_of_the_conventions() -> None:
    assert {one.name for one in measure(ROUTED)} <= NAMES
    collected = Collected()
    collected.tracing.note(ROUTED)
    points = collected.points
    durations = {
        point.attributes["gen_ai.request.model"]: point for point in points["gen_ai.client.operation.duration"]
    }
    assert durations["haiku"].sum == pytest.approx(2.4)
    assert durations["gpt"].attributes["error.type"] == "rate-limit"
    assert durations["haiku"].explicit_bounds[0] == 0.01
    (first,) = points["gen_ai.client.operation.time_to_first_chunk"]
    assert first.sum == pytest.approx(0.4)
    tokens = {point.attributes["gen_ai.token.type"]: point.sum for point in points["gen_ai.client.token.usage"]}
    assert tokens == {"input": 20_000, "output": 600}


def test_neither_sessions_nor_requests_are_in_metrics() -> None:
    names = {name for one in measure(ROUTED) for name in one.attributes}
    assert names == {
        "gen_ai.operation.name",
        "gen_ai.provider.name",
        "gen_ai.request.model",
        "gen_ai.token.type",
        "error.type",
    }


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({"outcome": "error", "status": 500, "usage": None}, "error"),
        ({"outcome": "cut"}, "cut"),
        ({"outcome": "left"}, "left"),
        ({"outcome": "ok"}, None),
    ],
    ids=["error", "cut", "left", "ok"],
)
def test_a_call_that_did_not_end_well_says_so(fields: dict[str, Any], error: str | None) -> None:
    assert describe_request(call(**fields)).error == error


def test_gemini_is_named_as_the_conventions_name_it() -> None:
    (span,) = describe_attempts(call(dialect="gemini", provider="google", model="gemini-3"))
    assert span.name == "generate_content gemini-3"
    assert span.attributes["gen_ai.provider.name"] == "gcp.gemini"


def test_a_translated_attempt_is_named_by_the_protocol_of_its_target() -> None:
    there = AttemptMade(target="google/gemini-3", dialect="gemini", status=200, committed=True)
    route = AttemptRoute(target="google/gemini-3", attempts=(FAILED, there))
    names = [span.name for span in describe_attempts(call(dialect="anthropic", route=route))]
    assert [name.partition(" ")[0] for name in names] == ["chat", "generate_content"]


# --- how it is opened ---


def test_the_standard_variables_say_where_it_goes() -> None:
    tracing = open_tracing({"OTEL_TRACES_EXPORTER": "none", "OTEL_METRICS_EXPORTER": "none"})
    assert tracing is not None
    tracing.note(ROUTED)
    tracing.close()


@pytest.mark.parametrize("name", ["OTEL_TRACES_EXPORTER", "OTEL_METRICS_EXPORTER"])
def test_an_exporter_that_is_not_there_is_told_and_the_daemon_goes_on(
    name: str, caplog: pytest.LogCaptureFixture
) -> None:
    environ = {"OTEL_TRACES_EXPORTER": "none", "OTEL_METRICS_EXPORTER": "none"}
    assert open_tracing({**environ, name: "carrier-pigeon"}) is None
    assert "carrier-pigeon" in caplog.text


def test_without_its_library_it_is_told_what_to_install(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry.sdk.metrics", None)
    assert open_tracing({}) is None
    assert "pip install 'ullage[otel]'" in caplog.text
