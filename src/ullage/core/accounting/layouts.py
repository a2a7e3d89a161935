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
    nothing. `block` finds the whole place with its wrapper; `entry`, searched inside it, one file (groups `path`, `body`) or one
    skill (group `name`). A file that is not named is called `name` in the folder `path` of the block; without such a folder, or
    if it matches as `user`, it is the user's own, `user_name`. `part` is the wire type of the parts that the row is for, where
    the client's record tells them apart and leaves out their wrapper.
    """

    client: str
    version: str
    kind: BlockKind
    mark: str
    block: re.Pattern[str]
    entry: re.Pattern[str]
    name: str = ""
    user_name: str = ""
    part: str = ""


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


def _re(text: str) -> re.Pattern[str]:
    return re.compile(text, re.DOTALL)


def _up_to(barrier: str) -> str:
    """As little as possible, never past `barrier`: a text full of openings without an end is then gone through only once."""
    return rf"(?:(?!{barrier}).)*?"


_IN_SKILL = _up_to("<skill>")
_XML_SKILL = _re(
    rf"<skill>\s*+(?><name>(?P<name>{_IN_SKILL})</name>)\s*+(?><description>{_IN_SKILL}</description>)\s*+"
    rf"(?><location>{_IN_SKILL}</location>)\s*+</skill>"
)
_LISTED_SKILL = _re(r"(?m:^)- (?P<name>[\w:.@/-]+)(?:: .*?)?(?=\n- [\w:.@/-]+(?::|\n|\Z)|\Z)")
_XML_INDEX = rf"<available_skills>{_up_to('<available_skills>')}</available_skills>"
_WHOLE = _re(r"\A.+\Z")

LAYOUTS: tuple[Layout, ...] = (
    Layout(
        "pi", "1.6.0", "context", "<project_context>",
        _re(rf"<project_context>\n{_up_to('<project_context>')}\n</project_context>"),
        _re(
            r'<project_instructions path="(?P<path>[^"]*)">\n'
            rf"(?P<body>{_up_to('<project_instructions ')})\n</project_instructions>"
        ),
    ),
    Layout(
        "pi", "1.6.0", "skills", "<skills>",
        _re(rf"<skills>\n{_up_to('<skills>')}{_XML_INDEX}\n</skills>"), _XML_SKILL,
    ),
    Layout(
        "pi", "0.74.2", "context", "# Project Context\n\nProject-specific instructions and guidelines:",
        _re(
            r"# Project Context\n\nProject-specific instructions and guidelines:\n\n## .*?"
            r"(?=\n\nThe following skills provide specialized instructions for specific tasks\.\n"
            r"|\nCurrent date: \d{4}-\d\d-\d\d\nCurrent working directory: |\Z)"
        ),
        _re(r"(?m:^)## (?P<path>/[^\n]*)\n\n(?P<body>.*?)(?=\n\n## /|\n*\Z)"),
    ),
    Layout(
        "pi", "0.74.2", "skills", "The following skills provide specialized instructions for specific tasks.",
        _re(
            r"The following skills provide specialized instructions for specific tasks\.\n"
            rf"(?:(?!The following skills)[^\n]+\n)*+\n{_XML_INDEX}"
        ),
        _XML_SKILL,
    ),
    # The compact list and the bare index of the accounting specification, section 2.
    Layout(
        "pi", "2026-09", "skills", "<codex_skills>",
        _re(rf"<codex_skills>\n{_up_to('<codex_skills>')}\n</codex_skills>"), _LISTED_SKILL,
    ),
    Layout(
        "pi", "2026-09", "skills", "<skill_catalog>",
        _re(rf"<skill_catalog>\n{_up_to('<skill_catalog>')}\n</skill_catalog>"), _LISTED_SKILL,
    ),
    Layout("pi", "2026-09", "skills", "<available_skills>", _re(_XML_INDEX), _XML_SKILL),
    Layout(
        "claude-code", "2.1.332", "context", "Codebase and user instructions are shown below.",
        _re(
            r"<system-reminder>\nCodebase and user instructions are shown below\."
            rf"{_up_to('<system-reminder>.Codebase and user')}\n</system-reminder>"
        ),
        _re(
            r"\n\nContents of (?P<path>[^\n]+) \([^()\n]*\):\n\n(?P<body>.*?)"
            r"(?=\n\nContents of [^\n]+ \([^()\n]*\):\n\n|\n</system-reminder>)"
        ),
    ),
    Layout(
        "claude-code", "2.0.14", "context", "# claudeMd\nCodebase and user instructions are shown below.",
        _re(
            r"# claudeMd\nCodebase and user instructions are shown below\."
            rf"{_up_to('# claudeMd.Codebase and user')}"
            r"(?=\n# currentDate\n|\n+ *+IMPORTANT: this context may or may not be relevant|\n</system-reminder>)"
        ),
        _re(
            r"\n\nContents of (?P<path>[^\n]+) \([^()\n]*\):\n\n(?P<body>.*?)"
            r"(?=\n\nContents of [^\n]+ \([^()\n]*\):\n\n|\Z)"
        ),
    ),
    Layout(
        "claude-code", "2.1.332", "context", "<system-reminder>\nContents of ",
        _re(
            rf"<system-reminder>\nContents of [^\n]+:\n\n{_up_to('<system-reminder>.Contents of ')}\n\n?</system-reminder>"
        ),
        _re(r"\A<system-reminder>\nContents of (?P<path>[^\n]+):\n\n(?P<body>.*?)\n\n?</system-reminder>"),
    ),
    Layout(
        "claude-code", "2.1.332", "skills", "The following skills are available for use with the Skill tool:",
        _re(
            r"(?:(?<=\A)|(?<=\n)|(?<=<system-reminder>\n))"
            r"The following skills are available for use with the Skill tool:\n\n- .*?(?=\n\n(?!- )|\n</system-reminder>|\Z)"
        ),
        _LISTED_SKILL,
    ),
    Layout("claude-code", "2.1.126", "skills", "", _WHOLE, _LISTED_SKILL, part="skill_listing"),
    Layout("claude-code", "2.1.126", "context", "", _WHOLE, _WHOLE, user_name="nested memory", part="nested_memory"),
    Layout(
        "codex", "0.171.0", "context", "# AGENTS.md instructions",
        _re(
            r"# AGENTS\.md instructions(?: for (?P<path>[^\n]+))?\n\n<INSTRUCTIONS>\n"
            rf"{_up_to('# AGENTS.md instructions')}\n</INSTRUCTIONS>"
        ),
        _re(
            rf"<INSTRUCTIONS>\n(?P<user>{_up_to('<INSTRUCTIONS>')})(?=\n\n--- project-doc ---\n\n)"
            r"|(?:<INSTRUCTIONS>\n|\n\n--- project-doc ---\n\n)(?P<body>.*?)(?=\n</INSTRUCTIONS>)"
        ),
        name="AGENTS.md",
        user_name="~/.codex/AGENTS.md",
    ),
    Layout(
        "codex", "0.171.0", "skills", "<skills_instructions>",
        _re(rf"<skills_instructions>\n{_up_to('<skills_instructions>')}\n</skills_instructions>"),
        _re(rf"(?m:^)- (?P<name>[^\n:]+(?::[^\n: ]+)*+): {_up_to('.- ')} \(file: [^)\n]+\)(?m:$)"),
    ),
    Layout(
        "opencode", "1.18.33", "context", "Instructions from: ",
        _re(
            r"(?m:^)Instructions from: .*?"
            r"(?=\n\nSkills provide specialized instructions and workflows for specific tasks\.\n|\n</system-reminder>|\Z)"
        ),
        _re(r"(?m:^)Instructions from: (?P<path>[^\n]+)\n(?P<body>.*?)(?=\n\nInstructions from: |\Z)"),
    ),
    Layout(
        "opencode", "1.18.33", "skills", "Skills provide specialized instructions and workflows for specific tasks.",
        _re(
            r"Skills provide specialized instructions and workflows for specific tasks\.\n"
            rf"(?:(?!Skills provide|<available_skills>)[^\n]+\n)*+{_XML_INDEX}"
        ),
        _XML_SKILL,
    ),
    Layout(
        "gemini-cli", "0.61.0", "context", "<loaded_context>",
        _re(rf"<loaded_context>\n{_up_to('<loaded_context>')}\n</loaded_context>"),
        _re(
            rf"--- Context from: (?P<path>[^\n]+?) ---\n(?P<body>{_up_to('--- Context from: ')})"
            r"\n--- End of Context from: (?P=path) ---"
        ),
    ),
    Layout(
        "gemini-cli", "0.61.0", "skills", "# Available Agent Skills",
        _re(rf"# Available Agent Skills\n\n(?:[^\n]+\n+)?+{_XML_INDEX}"), _XML_SKILL,
    ),
    Layout(
        "aider", "0.86.2", "context", "Here are some READ ONLY files, provided for your reference.",
        _re(r"\AHere are some READ ONLY files, provided for your reference\.\n.*"),
        _re(r"(?m:^)(?P<path>[^\n`]+)\n(?P<fence>`{3,9}+)\n(?P<body>.*?)\n(?P=fence)\n"),
    ),
)  # fmt: skip
"""Rows in the order in which they are tried; of two that overlap, the one that begins first wins, then the earlier row."""


def find_blocks(text: str, client: str | None = None, part: str = "") -> list[Block]:
    """The places in a text, in order, without overlaps. `part` is the wire type of the part that the text came from.

    `client` narrows the rows to those of one client; a client without rows, or none, means all rows.
    """
    rows = [row for row in LAYOUTS if row.client == client] or list(LAYOUTS)
    fitting = [row for row in rows if row.mark in text and row.part in ("", part)]
    found = [(match, row) for row in fitting for match in row.block.finditer(text)]
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
    span = match.span("body" if "body" in groups else 0)
    if groups.get("user") is not None:
        return Entry(row.user_name, *match.span("user"))
    named = groups.get("path") or groups.get("name")
    folder = block.groupdict().get("path")
    return Entry(named or (f"{folder}/{row.name}" if folder else row.user_name), *span)
