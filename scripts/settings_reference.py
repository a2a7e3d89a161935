"""Makes docs/reference/settings.md from the records in which settings are declared."""

from __future__ import annotations

import sys
from typing import Any

from generated import settle

from ullage.settings import Setting, catalog, sections

INTRODUCTION = """
# Settings

A setting is looked for in five places; a later one wins:

1. the default below;
2. the user's file, `$XDG_CONFIG_HOME/ullage/config.toml` (mostly `~/.config/ullage/config.toml`), or `--config FILE`;
3. the project's file, `.ullage.toml` in the working folder or the nearest folder above it. It may make ullage more careful and
   nothing else: of all settings it may set `mode`;
4. the environment variable;
5. a flag of the command.

`ullage config show --sources` prints every value with the place it comes from. A key that is wrong or unknown is left out alone,
with its file and line and what was probably meant; `ullage config check` lists them. The daemon does not start with a wrong
`server.host`, `data_dir`, `store.url` or upstream, nor with a user's file that it cannot read: the default in its place would
send traffic or records elsewhere than asked. `ullage config schema` prints a JSON Schema for editors.

An upstream is the root of a provider. A trailing `/v1` or `/v1beta` is taken off. A credential goes to the upstream of the
dialect it came in by and to no other.
"""


def main() -> int:
    parts = [INTRODUCTION.strip()]
    for section, meaning in sections().items():
        rows = [row(setting) for setting in catalog().values() if setting.section == section]
        heading = f"## `[{section}]`\n\n{meaning}" if section else f"## Top level\n\n{meaning}"
        head = "| key | default | must be | meaning | variable |\n|---|---|---|---|---|"
        parts.append("\n".join([heading, "", head, *rows]))
    return settle("settings.md", "\n\n".join(parts))


def row(setting: Setting) -> str:
    cells = (f"`{setting.name}`", default(setting.default), setting.allowed, setting.meaning, f"`{setting.variable}`")
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def default(value: Any) -> str:
    match value:
        case None | "":
            return "—"
        case bool():
            return f"`{str(value).lower()}`"
        case _:
            return f"`{value}`"


if __name__ == "__main__":
    sys.exit(main())
