"""What a browser shows: a report that is one file, and needs no network, no script and no server."""

from .report import render_report

__all__ = ["render_report"]
