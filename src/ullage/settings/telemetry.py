"""Settings of what others may watch the daemon by: figures, a line for each request, traces. None of them has content."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

PATHS = frozenset({"data_dir", "telemetry.access_log"})
"""Settings that are paths: `~` is the home folder, anything relative starts where the file that says it lies."""


class TelemetrySettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What others may watch the daemon by."""

    prometheus: Annotated[
        bool, Meta(description="Answer `GET /metrics` with figures for Prometheus, to who has the daemon's token.")
    ] = True
    access_log: Annotated[
        str,
        Meta(description="File that gets a line of JSON for each request, without content. Empty: none is written."),
    ] = ""
    opentelemetry: Annotated[
        bool,
        Meta(
            description="Send traces and metrics without content to where the variables `OTEL_…` say; needs `ullage[otel]`."
        ),
    ] = False
