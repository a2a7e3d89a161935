"""Makes docs/reference/settings.md from the records in which settings are declared."""

from __future__ import annotations

import sys
from typing import Any

import msgspec
from generated import settle

from ullage.settings import ORDERS, TABLES, Setting, catalog, header_of, record_settings, sections

INTRODUCTION = """
# Settings

A setting is looked for in five places; a later one wins:

1. the default below;
2. the user's file, `$XDG_CONFIG_HOME/ullage/config.toml` (mostly `~/.config/ullage/config.toml`), or `--config FILE`;
3. the project's file, `.ullage.toml` in the working folder or the nearest folder above it. It may make ullage more careful and
   say how to count, and nothing else: of all settings it may set `mode`, `accounting.number_style`, `accounting.defaults` and
   the tables of `accounting` below; and it may lower, never raise, the three ratios and three budgets of `planning` and the
   budgets in `models.overrides`, lower the limits of `budget` and have more done where they are exceeded, and make `privacy`
   stricter, never looser;
4. the environment variable;
5. a flag of the command.

`ullage config show --sources` prints every value with the place it comes from, `ullage config set KEY VALUE` writes one. A key
that is wrong or unknown is left out alone, with its file and line and what was probably meant; `ullage config check` lists them.
The daemon does not start with a wrong
`server.host`, `data_dir`, `store.url`, upstream or setting of `privacy` or `budget`, nor with a user's file that it cannot read:
the default in its place would send traffic or records elsewhere than asked, or spend more. `ullage config schema` prints a JSON
Schema for editors.

Some values must stand in an order. A place that breaks one is not heard on any of its keys, and what held before stays:

ORDERS

What the extensions of Pi have in files of their own can be taken over: [DS4](../how-to/from-ds4.md), the
[inspector](../how-to/denominators.md#take-over-the-inspectors-files).

An upstream is the root of a provider. A trailing `/v1` or `/v1beta` is taken off. A credential goes to the upstream of the
dialect it came in by and to no other.
"""


TABLES_INTRODUCTION = """
## Tables

These have names of your own, or are lists, so no variable sets them. Members of the same name in the project's file replace
those of the user's file; its rules of counting come after the user's, its rules of routing before them. How those of
`accounting` are used is told in [how to count by denominators of your own](../how-to/denominators.md).

An override of a model stands under `"*"`, `"provider/*"` or `"provider/model"`, in quotes. The provider is the part before the
first slash; a model may have more of them. What they say is merged field by field, in this order. Of one entry, an answer
(`max_output_tokens`) that is longer than its window drops both.

A project's override may hold `recent_tail_tokens`, `max_retrieved_history_tokens` and `max_project_tokens` alone, at most what
these models have without it: what your own overrides say, else the lower of `planning`'s cap and the automatic budget of their
window (of the smallest windows, where your overrides give none). It is laid over your entry of the same name, the rest of which
holds.

A remote provider goes by its name, its host, or host and port, and `openrouter = ["normal"]` under `[privacy.remote_providers]`
says the same as a table with `allowed` in it: see [privacy](../how-to/privacy.md).

How those of `routing` and the providers are used is told in [settings of routing](../how-to/routing-settings.md). In a rule and
in a scenario a list may be given as one text. A rule, a scenario, a pool, an alias or a provider of which a value cannot be used
is left out as a whole: with one value less it would mean something else. A project may have rules, scenarios and pools; aliases,
targets, quotas and providers are yours alone.
"""


def main() -> int:
    parts = [INTRODUCTION.strip().replace("ORDERS", "\n".join(f"- `{order}`" for order in ORDERS))]
    for section, meaning in sections().items():
        rows = [row(setting) for setting in catalog().values() if setting.section == section]
        heading = f"## `[{section}]`\n\n{meaning}" if section else f"## Top level\n\n{meaning}"
        head = "| key | default | must be | meaning | variable |\n|---|---|---|---|---|"
        parts.append("\n".join([heading, "", head, *rows]))
    parts += [TABLES_INTRODUCTION.strip(), *(table(name, record) for name, record in TABLES.items())]
    return settle("settings.md", "\n\n".join(parts))


def table(name: str, record: type[msgspec.Struct]) -> str:
    meaning = " ".join((record.__doc__ or "").split())
    rows = (
        f"| `{setting.key}` | {setting.allowed} | {setting.meaning} |".replace("a table, a list or a value", "anything")
        for setting in record_settings(record)
    )
    return "\n".join(
        [f"### `{header_of(name)}`", "", meaning, "", "| key | must be | meaning |", "|---|---|---|", *rows]
    )


def row(setting: Setting) -> str:
    cells = (f"`{setting.name}`", default(setting.default), setting.allowed, setting.meaning, f"`{setting.variable}`")
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def default(value: Any) -> str:
    match value:
        case None | "":
            return "—"
        case bool():
            return f"`{str(value).lower()}`"
        case tuple():
            return f"`{msgspec.json.encode(value).decode().replace(',', ', ')}`"
        case _:
            return f"`{value}`"


if __name__ == "__main__":
    sys.exit(main())
