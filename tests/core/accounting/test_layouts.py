"""Where real clients put instruction files and skills: captured requests with marked ones, and the tags of section 2."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ullage.core.accounting import guess_shape, read_payload
from ullage.core.accounting.layouts import LAYOUTS, find_blocks

CLIENTS = Path(__file__).resolve().parents[2] / "data" / "clients"
# Texts of marked files and skills; the other marks stand in prompts, results and bodies of skills.
MARK = re.compile(r"MARK-(?!PROMPT|SECOND|AFTER|THIRD|SUBAGENT|SKILL-BODY|SYSTEM)[A-Z-]+[a-z-]*")


def captured() -> Iterator[Any]:
    for path in sorted(CLIENTS.glob("*.json")):
        capture = json.loads(path.read_text())
        for request in capture["requests"]:
            if isinstance(request["body"], dict):
                yield pytest.param(capture["client"], request["body"], id=f"{path.stem}-{request['name']}")


def instructions(body: dict[str, Any]) -> Iterator[str]:
    raw = json.dumps(body).encode()
    context = read_payload(raw, guess_shape(raw) or "openai-chat").context
    yield from context.system
    for message in context.messages:
        if message.role in ("system", "developer", "user"):
            yield from (part.text for part in message.parts if part.kind == "text")


@pytest.mark.parametrize(("client", "body"), list(captured()))
@pytest.mark.parametrize("named", [True, False], ids=["client known", "client unknown"])
def test_every_marked_file_and_skill_of_a_client_is_found(client: str, body: dict[str, Any], named: bool) -> None:
    for text in instructions(body):
        blocks = find_blocks(text, client if named else None)
        found = {
            mark for block in blocks for entry in block.entries for mark in MARK.findall(text[entry.start : entry.end])
        }
        assert found == set(MARK.findall(text))


def entries(text: str, client: str | None = None, part: str = "") -> list[tuple[str, str, str]]:
    return [
        (block.kind, entry.name, text[entry.start : entry.end])
        for block in find_blocks(text, client, part)
        for entry in block.entries
    ]


def test_pi_names_its_files_in_tags_and_only_the_body_counts() -> None:
    text = (
        "You are an agent.\n\n<project_context>\n"
        '<project_instructions path="/home/a/.pi/agent/AGENTS.md">\nBe brief.\n\n</project_instructions>\n'
        '<project_instructions path="/p/AGENTS.md">\nUse tabs.\n\n</project_instructions>\n'
        "</project_context>\n\nDate: today"
    )
    assert entries(text) == [
        ("context", "/home/a/.pi/agent/AGENTS.md", "Be brief.\n"),
        ("context", "/p/AGENTS.md", "Use tabs.\n"),
    ]


@pytest.mark.parametrize("tag", ["codex_skills", "skill_catalog"])
def test_a_compact_skill_list_may_have_long_and_empty_descriptions(tag: str) -> None:
    text = f"<{tag}>\n- one: First\nline two (file: /a)\n- two: (file: /b)\n</{tag}>"
    assert [name for _, name, _ in entries(text)] == ["one", "two"]


def test_a_bare_skill_index_is_found_without_a_wrapper() -> None:
    skill = "<skill><name>n</name><description>d</description><location>l</location></skill>"
    assert entries(f"x <available_skills>{skill}</available_skills> y") == [("skills", "n", skill)]


def test_a_user_file_and_project_files_of_codex_are_told_apart() -> None:
    both = "# AGENTS.md instructions for /p\n\n<INSTRUCTIONS>\nmine\n\n--- project-doc ---\n\nours\n</INSTRUCTIONS>"
    project = "# AGENTS.md instructions for /p\n\n<INSTRUCTIONS>\nours\n</INSTRUCTIONS>"
    mine = "# AGENTS.md instructions\n\n<INSTRUCTIONS>\nmine\n</INSTRUCTIONS>"
    assert [name for _, name, _ in entries(both)] == ["~/.codex/AGENTS.md", "/p/AGENTS.md"]
    assert [name for _, name, _ in entries(project)] == ["/p/AGENTS.md"]
    assert [name for _, name, _ in entries(mine)] == ["~/.codex/AGENTS.md"]


@pytest.mark.parametrize("more", ["", "# currentDate\nToday's date is 2026-01-01.\n"], ids=["alone", "with more"])
def test_the_files_of_an_older_claude_code_stand_in_a_list_of_what_may_matter(more: str) -> None:
    text = (
        "<system-reminder>\nAs you answer the user's questions, you can use the following context:\n# claudeMd\n"
        "Codebase and user instructions are shown below. Be sure to adhere to these instructions.\n\n"
        "Contents of /home/a/.claude/CLAUDE.md (user's private global instructions for all projects):\n\n# Mine\n\nBe brief.\n\n"
        f"Contents of /p/CLAUDE.md (project instructions, checked into the codebase):\n\nUse tabs.\n{more}"
        "\n      IMPORTANT: this context may or may not be relevant to your tasks.\n</system-reminder>\n"
    )
    assert entries(text, "claude-code") == [
        ("context", "/home/a/.claude/CLAUDE.md", "# Mine\n\nBe brief."),
        ("context", "/p/CLAUDE.md", "Use tabs."),
    ]


def test_an_attachment_of_a_record_is_a_skill_list_without_its_heading() -> None:
    text = "- one: First\n- two: Second"
    assert entries(text, "claude-code", "skill_listing") == [
        ("skills", "one", "- one: First"),
        ("skills", "two", "- two: Second"),
    ]
    assert entries(text, "claude-code", "text") == []


def test_a_text_that_only_talks_about_instruction_files_holds_none() -> None:
    text = "Please write AGENTS.md and CLAUDE.md; see <available_skills> and Instructions for more."
    assert find_blocks(text) == []


def test_every_row_says_which_client_and_version_it_was_found_in() -> None:
    assert all(row.client and row.version for row in LAYOUTS)


OPENINGS = (
    "<project_context>\n",
    '<project_instructions path="',
    "<skills>\n<available_skills>",
    "<skill><name></name><description>",
    "<system-reminder>\nCodebase and user instructions are shown below.",
    "<system-reminder>\nContents of a:\n\n",
    "# claudeMd\nCodebase and user instructions are shown below.",
    "# AGENTS.md instructions for x\n\n<INSTRUCTIONS>\n",
    "<skills_instructions>\n- a: ",
    "The following skills provide specialized instructions for specific tasks.\n",
    "Skills provide specialized instructions and workflows for specific tasks.\n",
    "--- Context from: a ---\n",
)


@pytest.mark.parametrize("opening", OPENINGS)
@pytest.mark.parametrize(
    "wrapper", ["{}", "<project_context>\n{}\n</project_context>", "<available_skills>{}</available_skills>"]
)
def test_a_text_full_of_openings_is_gone_through_in_linear_time(opening: str, wrapper: str) -> None:
    """Quadratic patterns would take minutes here; a linear one takes milliseconds."""
    started = time.process_time()
    find_blocks(wrapper.format(opening * (200_000 // len(opening))))
    assert time.process_time() - started < 2
