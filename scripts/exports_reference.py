"""Makes docs/reference/exports.md from the columns of every export."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, get_args, get_type_hints

from generated import settle
from msgspec import Meta

from ullage.stores.exports import TABLES, row_type
from ullage.stores.exports.events import KINDS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ullage.stores.exports import Row

INTRODUCTION = """
# Exports

`ullage export` writes what is recorded as rows for other programs: `events`, `calls`, `attempts`, `tasks` or hourly `metrics`.

```sh
ullage export                                             # all events, a JSON object a line
ullage export calls --since 7d --format csv --out week.csv
ullage export tasks --session 3f2a91c0 --format json
ullage export metrics --model 'anthropic/*' --since 2026-05-01 --until 2026-06-01 --out may.parquet
```

- No content: no prompt, answer, tool result, reason of a vote or key is ever in a row. What is recorded is
  [metadata](http.md), and lasts for `store.keep_days` days.
- Rows come from the oldest on, read little by little, also while a daemon writes. A range begins and ends with the time at which
  requests came.
- A file is there once it is whole, and only your account can read it (mode 0600). Without `--out` rows go to standard output.
- Columns keep their names and places; new ones are added at the end. Times are ISO 8601 UTC, money is USD, sizes are tokens or
  bytes. What is not known is `null`, and empty in CSV.
- CSV is comma separated with a header and lines that end with CRLF. Several words in a cell are joined by semicolons; `metadata`
  is JSON. A cell that a spreadsheet could take for a formula begins with an apostrophe.
- Parquet is written with pyarrow: `pip install 'ullage[parquet]'`.
""".strip()

SAID = {
    "events": "What happened, one after the other, told from calls, votes and what the gateway noticed. The default.",
    "calls": "A row for each request.",
    "attempts": "A row for each target that was asked: more than one of a request where some failed.",
    "tasks": "A row for each routed task, in the order in which they ended. A task that no call came of for six hours has ended.",
    "metrics": "A row for each hour (UTC) and target. Percentiles are nearest ranks: values that were seen.",
}


def main() -> int:
    parts = [INTRODUCTION]
    for name in TABLES:
        parts += [f"## `{name}`", SAID[name], columns(row_type(name))]
        if name == "events":
            parts += [
                "Kinds, beside those that the gateway notices (`compaction`, `rewrite`, `model_switch`, `cache_miss`, …):",
                table(("kind", "says that"), ((f"`{kind}`", meaning) for kind, meaning in KINDS.items())),
            ]
    return settle("exports.md", "\n\n".join(parts))


def columns(row: type[Row]) -> str:
    hints = get_type_hints(row, include_extras=True)
    return table(("column", "type", "what"), ((f"`{name}`", word(hint), meaning(hint)) for name, hint in hints.items()))


def word(hint: Any) -> str:
    """The type of a column in a word."""
    plain = get_args(hint)[0]
    kinds = [kind for kind in get_args(plain) if kind is not type(None)] or [plain]
    if plain == tuple[str, ...]:
        return "words"
    return {str: "text", int: "integer", float: "number", bool: "true or false"}.get(kinds[0], "object")


def meaning(hint: Any) -> str:
    return next(part.description or "" for part in get_args(hint)[1:] if isinstance(part, Meta))


def table(header: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [header, tuple("---" for _ in header), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


if __name__ == "__main__":
    sys.exit(main())
