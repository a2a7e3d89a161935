"""Rows as JSON, as lines of JSON, as CSV, and as Parquet where its library is installed."""

from __future__ import annotations

import csv
import io
from itertools import islice
from typing import TYPE_CHECKING, Any, Literal, get_args, get_type_hints

import msgspec

from ullage.core.errors import CallError
from ullage.core.terminal import safe, safe_json

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import IO

    from .rows import Row

Format = Literal["json", "jsonl", "csv", "parquet"]
FORMATS: tuple[Format, ...] = get_args(Format)

_BATCH = 500
"""Rows that are written at once."""

# What spreadsheets take for the beginning of a formula, in their own width and in full width.
_FORMULAS = ("=", "+", "-", "@", "\t", "\r", "＝", "＋", "－", "＠")


def write_rows(rows: Iterable[Row], kind: type[Row], form: Format, out: IO[bytes]) -> int:
    """Writes rows of a kind, a few hundred at once; how many there were. Raises `CallError` where a library is missing."""
    if form == "parquet":
        return _write_parquet(rows, kind, out)
    counted = _Counted(rows)
    out.writelines(text.encode() for text in _TEXTS[form](counted, kind))
    return counted.number


class _Counted:
    """Rows with their number, once they were gone through."""

    def __init__(self, rows: Iterable[Row]) -> None:
        self._rows = iter(rows)
        self.number = 0

    def __iter__(self) -> Iterator[list[Row]]:
        while batch := list(islice(self._rows, _BATCH)):
            self.number += len(batch)
            yield batch


def _as_lines(batches: Iterable[list[Row]], _: type[Row]) -> Iterator[str]:
    for batch in batches:
        yield "".join(f"{_json(row)}\n" for row in batch)


def _as_array(batches: Iterable[list[Row]], _: type[Row]) -> Iterator[str]:
    first = True
    for batch in batches:
        yield ("[\n" if first else ",\n") + ",\n".join(map(_json, batch))
        first = False
    yield "[]\n" if first else "\n]\n"


def _as_csv(batches: Iterable[list[Row]], kind: type[Row]) -> Iterator[str]:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\r\n")
    names = kind.__struct_fields__
    writer.writerow(names)
    for batch in batches:
        writer.writerows([_cell(getattr(row, name)) for name in names] for row in batch)
        yield _taken(text)
    yield _taken(text)


_TEXTS: dict[str, Callable[[Iterable[list[Row]], type[Row]], Iterator[str]]] = {
    "jsonl": _as_lines,
    "json": _as_array,
    "csv": _as_csv,
}


def _taken(text: io.StringIO) -> str:
    """What was written so far, which is then forgotten."""
    value = text.getvalue()
    text.seek(0)
    text.truncate()
    return value


def _json(row: Row) -> str:
    return safe_json(msgspec.json.encode(row).decode())


def _cell(value: Any) -> str:
    """A value as a spreadsheet may take it: never as a formula."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, dict):
        return _harmless(safe_json(msgspec.json.encode(value).decode()))
    return _harmless(safe(";".join(value) if isinstance(value, tuple) else str(value)))


def _harmless(text: str) -> str:
    return f"'{text}" if text.startswith(_FORMULAS) else text


def _write_parquet(rows: Iterable[Row], kind: type[Row], out: IO[bytes]) -> int:
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ImportError as error:
        raise CallError(
            "Parquet needs the package pyarrow, which is not installed.",
            hint="Install it with `pip install 'ullage[parquet]'`, or take jsonl or csv.",
            code="no_pyarrow",
        ) from error
    schema = pa.schema([(name, _column_type(hint, pa)) for name, hint in get_type_hints(kind).items()])
    counted = _Counted(rows)
    with parquet.ParquetWriter(out, schema) as writer:
        for batch in counted:
            columns = [[_value(getattr(row, name)) for row in batch] for name in schema.names]
            arrays = [pa.array(column, field.type) for column, field in zip(columns, schema, strict=True)]
            writer.write_table(pa.Table.from_arrays(arrays, schema=schema))
    return counted.number


def _column_type(hint: Any, pa: Any) -> Any:
    """The type of a column: what is nested is JSON in a text."""
    words = {hint, *get_args(hint)}
    if tuple[str, ...] in words:
        return pa.list_(pa.string())
    for plain, column in ((bool, pa.bool_()), (float, pa.float64()), (int, pa.int64())):
        if plain in words:
            return column
    return pa.string()


def _value(value: Any) -> Any:
    if isinstance(value, dict):
        return msgspec.json.encode(value).decode()
    return list(value) if isinstance(value, tuple) else value
