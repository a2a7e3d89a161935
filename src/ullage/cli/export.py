"""`ullage export`: what is recorded, for other programs."""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ullage.core.errors import CallError

from . import records
from .records import complete_id, data_dir_option, open_records

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import IO

    from ullage.stores.exports import Format, Selection, Table

# Named here and in stores.exports, which is not loaded to print a help screen.
_TABLES = ("events", "calls", "attempts", "tasks", "metrics")
_FORMATS = ("json", "jsonl", "csv", "parquet")


@click.command()
@click.argument("what", type=click.Choice(_TABLES), default="events", metavar="[events|calls|attempts|tasks|metrics]")
@click.option("--format", "form", type=click.Choice(_FORMATS), help="How. [what FILE ends with, else jsonl]")
@click.option("--since", metavar="TIME", help="From then on: 30m, 24h, 7d, 2w, or a date. [all that is kept]")
@click.option("--until", metavar="TIME", help="Up to then, said in the same ways. [now]")
@click.option("--session", metavar="ID", help="Of this session; the beginning of its id is enough.")
@click.option("--model", metavar="P/M", help="Of this target, or this model; `*` stands for anything.")
@click.option(
    "-o", "--out", metavar="FILE", type=click.Path(path_type=Path), help="Into a file that only you can read."
)
@data_dir_option
def command(
    what: Table,
    form: Format | None,
    since: str | None,
    until: str | None,
    session: str | None,
    model: str | None,
    out: Path | None,
    data_dir: str | None,
) -> None:
    """Write what is recorded as rows for other programs: events, calls, attempts, tasks, or hourly metrics.

    Rows come from the oldest on and hold no content: no prompt, no answer, no tool result, no key. Their columns are in
    docs/reference/exports.md. Cells of CSV are never formulas. Without --out they go to standard output.
    """
    from contextlib import closing

    from ullage.stores.exports import export, row_type, write_rows

    form = form or _form_of(out)
    if form == "parquet" and out is None:
        raise CallError("Parquet is written into a file.", hint="Name one with --out.", code="no_file")
    with closing(open_records(data_dir)) as reader:
        chosen = complete_id(session, "session", reader.session_ids) if session is not None else None
        selection = _select(since, until, chosen, model)
        with _opened(out) as stream:
            number = write_rows(export(reader, what, selection), row_type(what), form, stream)
    if out is not None:
        click.echo(f"{out}: {number:,} {what}")


def _form_of(out: Path | None) -> Format:
    ending = out.suffix.removeprefix(".").lower() if out is not None else ""
    found: dict[str, Format] = {"json": "json", "csv": "csv", "parquet": "parquet"}
    return found.get(ending, "jsonl")


def _select(since: str | None, until: str | None, session: str | None, model: str | None) -> Selection:
    from ullage.stores.exports import Selection
    from ullage.stores.metrics import parse_since

    now_ms = records.now_ms()
    return Selection(
        since_ms=parse_since(since, now_ms) if since is not None else 0,
        until_ms=parse_since(until, now_ms) if until is not None else now_ms,
        session=session,
        model=model,
    )


@contextlib.contextmanager
def _opened(out: Path | None) -> Iterator[IO[bytes]]:
    """Standard output, or a file that is there once it is whole, and for this account alone."""
    if out is None:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    import tempfile

    if out.exists() and not out.is_file():
        raise CallError(f"{out} is no file.", hint="Name one that may be written anew.", code="no_file")
    with tempfile.NamedTemporaryFile(dir=out.parent, prefix=f".{out.name}.", delete=False) as part:  # mode 0600
        try:
            yield part.file
            part.close()
            Path(part.name).replace(out)
        except BaseException:
            Path(part.name).unlink(missing_ok=True)
            raise
