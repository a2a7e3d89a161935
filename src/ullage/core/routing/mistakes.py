"""What became of tool calls: mistakes of the model that made them, told apart from trouble that no model could help.

Routing specification, section 21. The rows are sentences of clients, each with where it was seen: "recorded" are the transcripts
that the evaluation of this project reads, a reference is the client's own tracker. What no row knows is no mistake.
"""

from __future__ import annotations

import re
from collections import deque
from typing import TYPE_CHECKING, Literal, NamedTuple

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ullage.core.content import Message, Part

MistakeKind = Literal["text-not-found", "text-ambiguous", "nothing-changed", "invalid-arguments"]
Result = Literal["mistake", "success", "trouble", "failure"]
"""`trouble` is of the environment, of the user's will or of the program under work (tests that fail); `failure` is any other."""

_HEAD_CHARS = 1_000
_TAIL_CHARS = 2_000
_FIRST_CHARS = 200


class ToolOutcome(Struct, frozen=True, kw_only=True):
    """One call and its result. `arguments` is whatever tells calls apart: their text, or a hash of it."""

    tool: str
    arguments: str
    text: str
    is_error: bool = False


class Mistake(NamedTuple):
    """A recognised mistake: its kind, and whose sentence it was known by."""

    kind: MistakeKind
    client: str


class _Row(NamedTuple):
    client: str
    seen: str
    tools: re.Pattern[str]
    kind: MistakeKind
    pattern: re.Pattern[str]


_EDITS = re.compile(
    r"edit|multi_?edit|write|notebook_?edit|replace|apply_patch|patch|str_replace_editor|str_replace_based_edit_tool",
    re.IGNORECASE,
)
_PATCHES = re.compile(r"apply_patch|exec|exec_command|shell|local_shell|patch|edit", re.IGNORECASE)
_ANY = re.compile(r".*", re.DOTALL)


def _row(client: str, seen: str, tools: re.Pattern[str], kind: MistakeKind, pattern: str) -> _Row:
    return _Row(client, seen, tools, kind, re.compile(pattern))


ROWS: tuple[_Row, ...] = (
    _row("Claude Code", "recorded, 1.0.117", _EDITS, "text-not-found", r"String to replace not found in file"),
    _row("Claude Code", "recorded, 1.0.117", _EDITS, "text-ambiguous", r"Found \d+ matches of the string to replace"),
    _row(
        "Claude Code", "recorded, 1.0.117", _EDITS, "nothing-changed", r"No changes to make: old_string and new_string"
    ),
    _row(
        "Claude Code",
        "anthropics/claude-code#676, #31714",
        _ANY,
        "invalid-arguments",
        r"InputValidationError: \S{1,80} failed due to the following issue",
    ),
    _row(
        "Codex",
        "recorded, 0.122.0 and 0.144.1",
        _PATCHES,
        "text-not-found",
        r"apply_patch verification failed: Failed to find ",
    ),
    _row(
        "Codex",
        "recorded, 0.144.1",
        _PATCHES,
        "invalid-arguments",
        r"apply_patch verification failed: invalid (?:hunk|patch)",
    ),
    _row("Codex", "openai/codex#35361", _PATCHES, "invalid-arguments", r"Invalid patch: "),
    _row("Codex", "openai/codex#13927", _ANY, "invalid-arguments", r"failed to parse function arguments: "),
    _row("Pi", "recorded, format 1", _EDITS, "text-not-found", r"Could not find the exact text in "),
    _row("Pi", "earendil-works/pi#4430", _EDITS, "text-not-found", r"Could not find edits\[\d+\] in "),
    _row("Pi", "earendil-works/pi#8654", _EDITS, "text-ambiguous", r"Found \d+ occurrences "),
    _row(
        "Pi",
        "recorded, format 1",
        _EDITS,
        "nothing-changed",
        r"No changes made to .{1,500}? The replacement produced identical",
    ),
    _row("Pi", "earendil-works/pi#1259", _ANY, "invalid-arguments", r'Validation failed for tool "'),
    _row("a fork of Pi", "recorded", _EDITS, "text-not-found", r"Edit rejected: \d+ anchors? do(?:es)? not match"),
    _row("a fork of Pi", "recorded", _EDITS, "invalid-arguments", r"line \d+: expected a full anchor"),
    _row("opencode", "anomalyco/opencode#15888", _EDITS, "text-not-found", r"Could not find oldString in the file"),
    _row("opencode", "anomalyco/opencode#2051", _EDITS, "text-not-found", r"oldString not found in content"),
    _row("opencode", "anomalyco/opencode#15515", _EDITS, "text-ambiguous", r"Found multiple matches for oldString"),
    _row("opencode", "anomalyco/opencode#2051", _EDITS, "text-ambiguous", r"oldString found multiple times"),
    _row(
        "opencode",
        "anomalyco/opencode#18131",
        _ANY,
        "invalid-arguments",
        r"The \S{1,80} tool was called with invalid arguments: ",
    ),
    _row(
        "Gemini CLI", "google-gemini/gemini-cli#3127", _EDITS, "text-not-found", r"Failed to edit, could not find the "
    ),
    _row("Gemini CLI", "google-gemini/gemini-cli#18370", _EDITS, "text-not-found", r"Failed to edit, 0 occurrences "),
    _row("OpenHands", "recorded", _EDITS, "text-not-found", r"No replacement was performed, old_str "),
    _row("OpenHands", "recorded", _EDITS, "text-ambiguous", r"No replacement was performed\. Multiple occurrences"),
    _row(
        "OpenHands", "recorded", _EDITS, "nothing-changed", r"Invalid `new_str` parameter: .{0,900}?must be different"
    ),
    _row("OpenHands", "recorded", _EDITS, "invalid-arguments", r"Parameter `\w+` is required for command"),
)

# What clients put before the sentence of a tool.
_WRAPPINGS = re.compile(
    r"(?:\s+|<tool_use_error>|ERROR:|Error:|Error invoking tool \S{1,80}:?|Script failed|Script error:|execution error:"
    r'|\{"(?:error|output)":\s*"'
    r"|Wall time:? [^\n]{0,40}|Chunk ID: [^\n]{0,40}|Process exited with code \d+|Original token count: \d+|Output:)+"
)
_TROUBLE = (
    "command not found",
    "permission denied",
    "not permitted",
    "access denied",
    "no such file or directory",
    "file not found",
    "doesn't want to proceed",
    "doesn't want to take this action",
    "request interrupted by user",
    "was rejected",
    "command aborted",
    "blocked",
    "timed out",
    "timeout",
    "connection refused",
    "could not resolve",
    "network error",
    "rate limit",
)
_TESTS = re.compile(
    r"\bFAIL(?:ED|URES?)?\b|\bAssertionError\b|\bnot ok \d"
    r"|(?i:\bassertion failed\b|\b\d+ (?:tests? )?fail(?:ed|ing)\b|\btest result: failed)"
)
_EXIT = re.compile(r"(?:exit(?:ed)?(?: with)?(?: exit)? code:?|exit status) [1-9]")


def find_mistake(outcome: ToolOutcome) -> Mistake | None:
    """The mistake that a result tells of, by the sentence that it begins with."""
    text = outcome.text[:_HEAD_CHARS]
    wrapping = _WRAPPINGS.match(text)
    start = wrapping.end() if wrapping is not None else 0
    for row in ROWS:
        if row.pattern.match(text, start) and row.tools.fullmatch(outcome.tool):
            return Mistake(row.kind, row.client)
    return None


class Judged(NamedTuple):
    """What became of a call, and the mistake that it was."""

    result: Result
    mistake: Mistake | None = None


def judge_outcome(outcome: ToolOutcome) -> Judged:
    """What became of a call. Where a dialect marks no errors, what nothing speaks against is a success."""
    mistake = find_mistake(outcome)
    return Judged("mistake", mistake) if mistake is not None else Judged(_judge_other(outcome))


def _judge_other(outcome: ToolOutcome) -> Result:
    """The same of a call that is known to be no mistake."""
    head, tail = outcome.text[:_HEAD_CHARS], outcome.text[-_TAIL_CHARS:]
    if not (outcome.is_error or _exits(head) or _exits(tail)):
        return "trouble" if _has_trouble(head[:_FIRST_CHARS]) else "success"
    if _has_trouble(head) or _has_trouble(tail) or _TESTS.search(head) or _TESTS.search(tail):
        return "trouble"
    return "failure"


def _exits(text: str) -> bool:
    """Whether a program says that it failed. The plain word is looked for first: results are long, and most have none."""
    lowered = text.lower()
    return "exit" in lowered and _EXIT.search(lowered) is not None


def _has_trouble(text: str) -> bool:
    lowered = text.lower()
    return any(words in lowered for words in _TROUBLE)


def tool_of(outcome: ToolOutcome) -> str:
    """The tool that a call used: a patch is one also where a shell or a script applies it, as Codex has it."""
    if outcome.tool != "apply_patch" and _PATCHES.fullmatch(outcome.tool) and "apply_patch" in outcome.arguments:
        return "apply_patch"
    return outcome.tool


def is_edit(outcome: ToolOutcome) -> bool:
    """Whether a call writes to files by a tool that is made for it."""
    return _EDITS.fullmatch(tool_of(outcome)) is not None


def read_outcomes(turn: Iterable[Message]) -> list[ToolOutcome]:
    """The calls of a turn that have a result, in the order of the results. `turn` is what follows the user's newest words.

    Gemini's calls may have no ids: they are answered in their order, by name.
    """
    calls: dict[str, deque[Part]] = {}
    found = []
    for message in turn:
        for part in message.parts:
            if part.kind == "tool_call":
                calls.setdefault(part.call_id or part.name or "", deque()).append(part)
            elif part.kind == "tool_result":
                waiting = calls.get(part.call_id or part.name or "")
                call = waiting.popleft() if waiting else None
                found.append(
                    ToolOutcome(
                        tool=(call.name if call is not None else part.name) or "",
                        arguments=call.text if call is not None else "",
                        text=_text_of(part),
                        is_error=part.is_error,
                    )
                )
    return found


def _text_of(part: Part) -> str:
    return "\n".join(inner.text for inner in part.parts if inner.text) if part.parts else part.text
