"""What the commands on databases share: where these lie, their names and sizes for people, a bar for long work."""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ullage.cli.output import is_terminal
from ullage.core.errors import StoreError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from msgspec import Struct

    from ullage.settings import Settings

_BAR_FROM_BYTES = 8 * 1024 * 1024
"""Less is done before a bar could be read."""


def find_main(data_dir: str | None) -> tuple[Path, Settings]:
    """The user's database, which need not exist, and the settings. Raises `StoreError` where the store is no file."""
    from ullage.settings import load_settings
    from ullage.stores.opening import MEMORY, find_database

    loaded = load_settings(flags={"data_dir": data_dir})
    url = loaded.settings.store.url
    if url == MEMORY:
        raise StoreError(
            "The store is `memory`: there is no database.", hint='Set store.url = "sqlite".', code="no_database"
        )
    return find_database(url, loaded.paths.data_dir), loaded.settings


def need_main(main: Path) -> None:
    """Raises `StoreError` if there is no database yet."""
    if not main.is_file():
        raise StoreError(f"No database yet at {main}.", hint="Start `ullage serve`.", code="no_database")


def name_of(path: str, project: str | None, main: Path) -> str:
    """A database in a line for people: `shared`, the project's folder, or the file's name where that is not known."""
    return "shared" if path == str(main) else project or Path(path).name


def size(number: int) -> str:
    """Bytes in the unit that people read them in."""
    amount = float(number)
    for unit in ("B", "KiB", "MiB"):
        if amount < 1000:
            return f"{amount:.0f} {unit}" if unit == "B" else f"{amount:.1f} {unit}"
        amount /= 1024
    return f"{amount:,.1f} GiB"


def databases(number: int) -> str:
    return "1 database" if number == 1 else f"{number:,} databases"


def fields(record: Struct) -> dict[str, Any]:
    """A record as plain data, its times ISO 8601."""
    import msgspec

    from ullage.stores.report import iso_time

    plain: dict[str, Any] = msgspec.to_builtins(record)
    for name in [name for name in plain if name.endswith("_ms")]:
        time_ms = plain.pop(name)
        plain[f"{name.removesuffix('_ms')}_at"] = None if time_ms is None else iso_time(time_ms)
    return plain


@contextlib.contextmanager
def byte_bar(main: Path, label: str) -> Iterator[Callable[[int], object]]:
    """A bar on standard error over the bytes of all databases; nothing where no one looks or little is to do."""
    from ullage.stores.maintenance import total_bytes

    total = total_bytes(main)
    if not is_terminal(sys.stderr) or total < _BAR_FROM_BYTES:
        yield lambda _: None
        return
    with click.progressbar(length=total, label=label, file=sys.stderr) as bar:
        yield bar.update
