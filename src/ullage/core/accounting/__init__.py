"""A request split into sections that sum to the provider's total, with the gap between them named."""

from .assemble import account, assemble
from .breakdown import Breakdown, Details, Item, Notice, Section, Total
from .growth import grown, next_prompt
from .measure import Entry, Measure, measure_message, measure_system, measure_tool
from .measured import CallFacts, measured_growth, measured_harness, retained_reasoning
from .meter import Meter, make_meter
from .options import NO_OPTIONS, Options, read_options
from .payloads import SHAPES, Payload, guess_shape, read_payload
from .recorded import Record, account_recorded, measured_ratios
from .report import load_report, report
from .views import VIEWS, View, render_view

__all__ = [
    "NO_OPTIONS",
    "SHAPES",
    "VIEWS",
    "Breakdown",
    "CallFacts",
    "Details",
    "Entry",
    "Item",
    "Measure",
    "Meter",
    "Notice",
    "Options",
    "Payload",
    "Record",
    "Section",
    "Total",
    "View",
    "account",
    "account_recorded",
    "assemble",
    "grown",
    "guess_shape",
    "load_report",
    "make_meter",
    "measure_message",
    "measure_system",
    "measure_tool",
    "measured_growth",
    "measured_harness",
    "measured_ratios",
    "next_prompt",
    "read_options",
    "read_payload",
    "render_view",
    "report",
    "retained_reasoning",
]
