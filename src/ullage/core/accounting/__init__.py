"""A request split into sections that sum to the provider's total, with the gap between them named."""

from .assemble import account, assemble
from .breakdown import Breakdown, Details, Item, Notice, Section, Total
from .measure import Entry, Measure, measure_message, measure_system, measure_tool
from .meter import Meter, make_meter
from .options import NO_OPTIONS, Options, read_options
from .report import load_report, report

__all__ = [
    "NO_OPTIONS",
    "Breakdown",
    "Details",
    "Entry",
    "Item",
    "Measure",
    "Meter",
    "Notice",
    "Options",
    "Section",
    "Total",
    "account",
    "assemble",
    "load_report",
    "make_meter",
    "measure_message",
    "measure_system",
    "measure_tool",
    "read_options",
    "report",
]
