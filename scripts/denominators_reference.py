"""Makes docs/reference/denominators.md from the built-in tables of the inspectors."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from generated import settle

from ullage.core.profiles.heuristics import REPO_TABLE, SEED_TABLE

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ullage.core.profiles.heuristics import Row

INTRODUCTION = """
# Denominators

What `--estimator inspector-v2` and `inspector-v1` divide characters by, row by row; the first row that fits counts. A model that
no row knows is counted at four characters a token, its tools as the Responses payload. Your own numbers come over these:
[how to](../how-to/denominators.md).

An id is the end of a model's name, in any case, from one of `/ @ . _ -` on. Where nobody says who serves a model, one with a name
of OpenAI's counts as OpenAI's.
"""


def main() -> int:
    parts = [
        INTRODUCTION.strip(),
        "## `inspector-v2`: text",
        texts(REPO_TABLE.texts),
        "## `inspector-v2`: tools",
        tools(REPO_TABLE.tools),
        "## `inspector-v1`",
        whole(SEED_TABLE.texts),
    ]
    return settle("denominators.md", "\n\n".join(parts))


def texts(rows: tuple[Row, ...]) -> str:
    cells = (
        (row.label or "", who(row), number(row.text_denominator), number(row.session_denominator), row.source)
        for row in rows
    )
    return table(("label", "for", "text", "session", "source"), cells)


def tools(rows: tuple[Row, ...]) -> str:
    cells = ((f"`{row.tool_numerator}`", who(row), number(row.tool_denominator), row.source) for row in rows)
    return table(("counted as", "for", "tools", "source"), cells)


def whole(rows: tuple[Row, ...]) -> str:
    cells = (
        (
            row.label or "",
            who(row),
            number(row.text_denominator),
            number(row.session_denominator),
            f"`{row.tool_numerator}` ÷ {number(row.tool_denominator)}",
            row.source,
        )
        for row in rows
    )
    return table(("label", "for", "text", "session", "tools", "source"), cells)


def who(row: Row) -> str:
    """Whom a row is for, in words."""
    facts = [row.whom] if row.whom else []
    if row.dialects:
        facts.append(
            "on " + " or ".join(f"`{dialect}`" if dialect else "an unknown dialect" for dialect in row.dialects)
        )
    if row.ids:
        facts.append("ids " + ", ".join(f"`{name}`" for name in sorted(row.ids)))
    return "; ".join(facts)


def number(value: float | None) -> str:
    return "—" if value is None else f"{value:g}"


def table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [head, ("---",) * len(head), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


if __name__ == "__main__":
    sys.exit(main())
