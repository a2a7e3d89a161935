"""What is recorded, as rows for other programs: events, calls, attempts, hours and tasks, without content.

Routing specification, sections 25 to 27. docs/reference/exports.md says what each column is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, get_args

from .events import export_events
from .formats import FORMATS, Format, write_rows
from .rows import AttemptRow, CallRow, EventRow, MetricRow, Row, TaskRow
from .selecting import Selection
from .tables import export_attempts, export_calls, export_metrics, export_tasks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ullage.stores.base import Reader

Table = Literal["events", "calls", "attempts", "tasks", "metrics"]
TABLES: tuple[Table, ...] = get_args(Table)

_ROWS: dict[Table, type[Row]] = {
    "events": EventRow,
    "calls": CallRow,
    "attempts": AttemptRow,
    "tasks": TaskRow,
    "metrics": MetricRow,
}
_EXPORTS: dict[Table, Callable[[Reader, Selection], Iterator[Row]]] = {
    "events": export_events,
    "calls": export_calls,
    "attempts": export_attempts,
    "tasks": export_tasks,
    "metrics": export_metrics,
}


def row_type(table: Table) -> type[Row]:
    """The columns of a table."""
    return _ROWS[table]


def export(reader: Reader, table: Table, selection: Selection) -> Iterator[Row]:
    """The rows of a table, made one after the other. Raises `StoreError` while they are gone through."""
    return _EXPORTS[table](reader, selection)


__all__ = ["FORMATS", "TABLES", "Format", "Row", "Selection", "Table", "export", "row_type", "write_rows"]
