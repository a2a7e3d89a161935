"""Spans and metrics of calls, sent by OpenTelemetry's own library to where the standard variables say.

The library is loaded where it is asked for. It collects, and sends in threads of its own; what it reads of the environment is
its documented `OTEL_…` variables.
"""

from __future__ import annotations

import logging
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any, NamedTuple

from ullage._version import __version__
from ullage.core.errors import SettingsError

from .genai import SECOND_BOUNDS, TOKEN_BOUNDS, describe_attempts, describe_request, measure

if TYPE_CHECKING:
    from collections.abc import Mapping

    from opentelemetry.metrics import Histogram, Meter
    from opentelemetry.sdk.metrics import MeterProvider
    from opentelemetry.sdk.metrics.export import MetricReader
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.trace import SpanContext

    from ullage.stores import AttemptRecord

    from .genai import SpanFacts

SCOPE = "ullage"

_log = logging.getLogger("ullage.telemetry")
_INSTRUMENTS = {
    "gen_ai.client.operation.duration": ("s", "How long an attempt took.", SECOND_BOUNDS),
    "gen_ai.client.operation.time_to_first_chunk": ("s", "How long it took to begin.", SECOND_BOUNDS),
    "gen_ai.client.token.usage": ("{token}", "Tokens of prompts and answers.", TOKEN_BOUNDS),
}
_PROTOCOLS = {"grpc": "otlp_proto_grpc", "http/protobuf": "otlp_proto_http", "http/json": "otlp_json_http"}
_FLUSH_MS = 3_000


class Providers(NamedTuple):
    """Where spans and metrics go; `None` where the variables say that they go nowhere."""

    traces: TracerProvider | None
    metrics: MeterProvider | None


class Tracing:
    """Tells spans and metrics of calls that are over. Used by one thread; `close` may wait for the network."""

    def __init__(self, providers: Providers) -> None:
        self._providers = providers
        traces, metrics = providers
        self._tracer = traces.get_tracer(SCOPE, __version__) if traces is not None else None
        self._histograms = _make_histograms(metrics.get_meter(SCOPE, __version__)) if metrics is not None else {}

    def note(self, call: AttemptRecord) -> None:
        """Takes a call in."""
        if self._tracer is not None:
            request = self._span(describe_request(call), None, call.traceparent)
            for attempt in describe_attempts(call):
                self._span(attempt, request)
        for one in measure(call):
            histogram = self._histograms.get(one.name)
            if histogram is not None:
                histogram.record(one.value, one.attributes)

    def close(self) -> None:
        """Sends what waits."""
        traces, metrics = self._providers
        if traces is not None:
            traces.force_flush(_FLUSH_MS)
            traces.shutdown()
        if metrics is not None:
            metrics.shutdown(_FLUSH_MS)

    def _span(self, facts: SpanFacts, parent: SpanContext | None, caller: str | None = None) -> SpanContext:
        """A span below another one of ours, or below the one that the client told of."""
        from opentelemetry.context import Context
        from opentelemetry.trace import NonRecordingSpan, SpanKind, Status, StatusCode, set_span_in_context
        from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

        assert self._tracer is not None, "there are traces"
        context = Context()
        if parent is not None:
            context = set_span_in_context(NonRecordingSpan(parent), context)
        elif caller is not None:
            context = TraceContextTextMapPropagator().extract({"traceparent": caller}, context)
        span = self._tracer.start_span(
            facts.name,
            context=context,
            kind=SpanKind.SERVER if parent is None else SpanKind.CLIENT,
            attributes=facts.attributes,
            start_time=facts.start_ns,
        )
        if facts.error is not None:
            span.set_attribute("error.type", facts.error)
            span.set_status(Status(StatusCode.ERROR))
        span.end(facts.end_ns)
        return span.get_span_context()


def _make_histograms(meter: Meter) -> dict[str, Histogram]:
    return {
        name: meter.create_histogram(name, unit, says, explicit_bucket_boundaries_advisory=bounds)
        for name, (unit, says, bounds) in _INSTRUMENTS.items()
    }


def open_tracing(environ: Mapping[str, str]) -> Tracing | None:
    """As the standard variables say; `None`, and a warning, where that cannot be done."""
    try:
        return Tracing(_make_providers(environ))
    except ImportError:
        _log.warning("telemetry.opentelemetry is on and its library is missing: pip install 'ullage[otel]'.")
    except SettingsError as error:
        _log.warning("OpenTelemetry stays off: %s %s", error.message, error.hint)
    return None


def _make_providers(environ: Mapping[str, str]) -> Providers:
    from opentelemetry.sdk.metrics import MeterProvider
    from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    # What the user says of the resource comes first.
    resource = Resource({"service.name": SCOPE, "service.version": __version__}).merge(_said(environ))
    traces = metrics = None
    spans = [BatchSpanProcessor(exporter) for exporter in _exporters("traces", environ)]
    if spans:
        traces = TracerProvider(resource=resource)
        for processor in spans:
            traces.add_span_processor(processor)
    readers: list[MetricReader] = [PeriodicExportingMetricReader(one) for one in _exporters("metrics", environ)]
    if readers:
        metrics = MeterProvider(metric_readers=readers, resource=resource)
    return Providers(traces, metrics)


def _said(environ: Mapping[str, str]) -> Any:
    """What the variables say of the resource, without what the library makes up where they are silent."""
    from opentelemetry.sdk.resources import Resource

    found = Resource.create()
    named = "OTEL_SERVICE_NAME" in environ or "service.name" in environ.get("OTEL_RESOURCE_ATTRIBUTES", "")
    return found if named else Resource({k: v for k, v in found.attributes.items() if k != "service.name"})


def _exporters(signal: str, environ: Mapping[str, str]) -> list[Any]:
    """New exporters of a signal. Raises `SettingsError` for one that is not installed."""
    names = environ.get(f"OTEL_{signal.upper()}_EXPORTER", "otlp").split(",")
    return [_load(signal, name.strip(), environ) for name in names if name.strip() not in ("", "none")]


def _load(signal: str, name: str, environ: Mapping[str, str]) -> Any:
    if name == "otlp":
        said = environ.get(f"OTEL_EXPORTER_OTLP_{signal.upper()}_PROTOCOL") or environ.get(
            "OTEL_EXPORTER_OTLP_PROTOCOL"
        )
        name = _PROTOCOLS.get(said or "http/protobuf", said or "")
    found = next(iter(entry_points(group=f"opentelemetry_{signal}_exporter", name=name)), None)
    if found is None:
        raise SettingsError(
            f"there is no exporter {name!r} of {signal}.",
            hint="Install its package, or set OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf.",
            code="no_exporter",
        )
    return found.load()()
