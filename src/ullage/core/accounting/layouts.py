"""Where instruction files and skill indexes sit in each client's request, as rows.

Found by capturing the real client with a marked instruction file and a marked skill; `client` and `version` say which. A client
that moves them gets a new row, the old one stays for recorded sessions.
"""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

BlockKind = Literal["context", "skills"]


class Layout(NamedTuple):
    """One place of one client.

    `mark` is a plain text without which the place cannot be there; it is looked for first, because that costs next to
    nothing. `block` finds the whole place; `entry`, searched inside it, one file (groups `path`, `body`) or one skill (group
    `name`). A file that is not named is called `name` in the folder `path` of the block; one that matches as `user` is the
    user's own.
    """

    client: str
    version: str
    kind: BlockKind
    mark: str
    block: re.Pattern[str]
    entry: re.Pattern[str]
    name: str = ""
    user_name: str = ""


class Entry(NamedTuple):
    """One file or skill inside a block, as offsets in the text: what it is named and what is counted for it."""

    name: str
    start: int
    end: int


class Block(NamedTuple):
    """One place that was found, as offsets in the text, with what is in it."""

    kind: BlockKind
    start: int
    end: int
    entries: tuple[Entry, ...]


def _pattern(text: str, flags: re.RegexFlag = re.DOTALL) -> re.Pattern[str]:
    return re.compile(text, flags)


_XML_SKILL = _pattern(r"<skill>\s*<name>(?P<name>.*?)</name>.*?</skill>")
_LISTED_SKILL = _pattern(
    r"^- (?P<name>[^\n]*?): .*?(?:\(file: [^)\n]*\)|(?=\n- [^\n]+: |\n\n|\n<|\Z))", re.DOTALL | re.MULTILINE
)

LAYOUTS: tuple[Layout, ...] = (
    Layout(
        "pi", "1.6.0", "context", "<project_instructions",
        _pattern(r'<project_instructions path="[^"]*">.*</project_instructions>'),
        _pattern(r'<project_instructions path="(?P<path>[^"]*)">\n?(?P<body>.*?)\n?</project_instructions>'),
    ),
    Layout(
        "pi", "1.6.0", "skills", "<available_skills>",
        _pattern(r"(?:<skills>\n.*?)?<available_skills>.*?</available_skills>(?:\n</skills>)?"), _XML_SKILL,
    ),
    Layout(
        "pi", "newer", "skills", "<skill_catalog>",
        _pattern(r"<(?P<tag>skill_catalog|codex_skills)>.*?</(?P=tag)>"), _LISTED_SKILL,
    ),
    Layout(
        "claude-code", "2.1.332", "context", "Codebase and user instructions are shown below",
        _pattern(r"<system-reminder>\n[^<]{0,400}?Codebase and user instructions are shown below.*?</system-reminder>"),
        _pattern(
            r"(?:^|\n\n)Contents of (?P<path>[^\n]+?) \([^\n]*?\):\n\n(?P<body>.*?)"
            r"(?=\n\nContents of [^\n]+ \([^\n]*\):\n\n|\n</system-reminder>)"
        ),
    ),
    Layout(
        "claude-code", "2.1.332", "skills", "skills are available for use with the Skill tool:",
        _pattern(
            r"The following skills are available for use with the Skill tool:\n\n- .*?"
            r"(?=\n\n(?!- )|\n</system-reminder>|\Z)"
        ),
        _LISTED_SKILL,
    ),
    Layout(
        "codex", "0.171.0", "context", "# AGENTS.md instructions for ",
        _pattern(r"# AGENTS\.md instructions for (?P<path>[^\n]+)\n\n<INSTRUCTIONS>\n.*?\n</INSTRUCTIONS>"),
        _pattern(
            r"<INSTRUCTIONS>\n(?P<user>.*?)(?=\n\n--- project-doc ---\n)"
            r"|(?:<INSTRUCTIONS>\n|--- project-doc ---\n\n)(?P<body>.*?)(?=\n</INSTRUCTIONS>)"
        ),
        name="AGENTS.md",
        user_name="~/.codex/AGENTS.md",
    ),
    Layout(
        "codex", "0.171.0", "skills", "<skills_instructions>",
        _pattern(r"<skills_instructions>.*?</skills_instructions>"), _LISTED_SKILL,
    ),
    Layout(
        "opencode", "1.18.33", "context", "Instructions from: ",
        _pattern(r"^Instructions from: [^\n]+\n.*?(?=\n\nSkills provide specialized instructions|\Z)", re.DOTALL | re.MULTILINE),
        _pattern(
            r"^Instructions from: (?P<path>[^\n]+)\n(?P<body>.*?)(?=\n\n?Instructions from: |\Z)", re.DOTALL | re.MULTILINE
        ),
    ),
    Layout(
        "opencode", "1.18.33", "skills", "Skills provide specialized instructions",
        _pattern(r"Skills provide specialized instructions[^\n]*\n.*?</available_skills>"), _XML_SKILL,
    ),
    Layout(
        "gemini-cli", "0.61.0", "context", "--- Context from: ",
        _pattern(r"--- Context from: [^\n]+ ---\n.*--- End of Context from: [^\n]+ ---"),
        _pattern(r"--- Context from: (?P<path>[^\n]+) ---\n(?P<body>.*?)\n--- End of Context from: (?P=path) ---"),
    ),
    Layout(
        "gemini-cli", "0.61.0", "skills", "# Available Agent Skills",
        _pattern(r"# Available Agent Skills\n.*?</available_skills>"), _XML_SKILL,
    ),
)  # fmt: skip
"""Rows in the order in which they are tried; of two that overlap, the one that begins first wins, then the earlier row."""


def find_blocks(text: str, client: str | None = None) -> list[Block]:
    """The places in a text, in order, without overlaps.

    `client` narrows the rows to those of one client; a client without rows, or none, means all rows.
    """
    rows = [row for row in LAYOUTS if row.client == client] or list(LAYOUTS)
    found = [(match, row) for row in rows if row.mark in text for match in row.block.finditer(text)]
    found.sort(key=lambda pair: pair[0].start())
    blocks: list[Block] = []
    end = 0
    for match, row in found:
        if match.start() >= end:
            blocks.append(_block(text, match, row))
            end = match.end()
    return blocks


def _block(text: str, match: re.Match[str], row: Layout) -> Block:
    entries = tuple(_entry(entry, match, row) for entry in row.entry.finditer(text, match.start(), match.end()))
    return Block(row.kind, match.start(), match.end(), entries)


def _entry(match: re.Match[str], block: re.Match[str], row: Layout) -> Entry:
    groups = match.groupdict()
    if groups.get("user") is not None:
        return Entry(row.user_name, *match.span("user"))
    folder = block.groupdict().get("path")
    name = groups.get("path") or groups.get("name") or (f"{folder}/{row.name}" if folder else row.name)
    return Entry(name, *match.span("body" if "body" in groups else 0))
