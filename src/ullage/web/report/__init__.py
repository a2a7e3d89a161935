"""One self-contained page made of a context report: its pictures and tables show the numbers of `--json` and no others."""

from .page import render_report

__all__ = ["render_report"]
