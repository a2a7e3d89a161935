"""Which call read, wrote or edited which file, told from the arguments of the tools that coding agents have."""

from __future__ import annotations

import posixpath
import re
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from ullage.core.wire.jsontext import decode

from .blocks import result_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from ullage.core.content import Message, Part

Action = Literal["read", "write", "edit"]


class Span(NamedTuple):
    """Lines of a file, both ends included; `last` is `None` for everything behind the first."""

    first: int = 1
    last: int | None = None

    def covers(self, other: Span) -> bool:
        """Whether all lines of the other are among these."""
        if self.last is None:
            return self.first <= other.first
        return self.first <= other.first and other.last is not None and other.last <= self.last


class Touch(NamedTuple):
    """One tool call that had to do with one file. `message` and `part` are those of the call, `result` those of its result."""

    message: int
    part: int
    action: Action
    tool: str
    path: str
    span: Span
    result: tuple[int, int]
    call_chars: int
    result_chars: int


# Tools by their name in lower case, without what stands before the last `__`, `.` or `:` of a name.
_ACTIONS: dict[str, Action] = {
    "read": "read",
    "read_file": "read",
    "read_text_file": "read",
    "readfile": "read",
    "view": "read",
    "view_file": "read",
    "open_file": "read",
    "cat": "read",
    "fs_read": "read",
    "notebookread": "read",
    "write": "write",
    "write_file": "write",
    "write_to_file": "write",
    "writefile": "write",
    "create_file": "write",
    "edit": "edit",
    "edit_file": "edit",
    "multiedit": "edit",
    "multi_edit": "edit",
    "notebookedit": "edit",
    "replace": "edit",
    "replace_in_file": "edit",
    "str_replace": "edit",
    "search_replace": "edit",
    "apply_diff": "edit",
    "insert_content": "edit",
}
# Tools with several commands in one: which of them does what.
_COMMANDS: dict[str, Action] = {
    "view": "read",
    "create": "write",
    "str_replace": "edit",
    "insert": "edit",
    "undo_edit": "edit",
}
_COMMAND_TOOLS = frozenset(
    {"str_replace_editor", "str_replace_based_edit_tool", "text_editor", "editor", "fs_write", "oh_editor"}
)
_SHELLS = frozenset(
    {
        "bash",
        "exec",
        "exec_command",
        "execute_bash",
        "execute_command",
        "local_shell",
        "run_command",
        "run_shell_command",
        "run_terminal_cmd",
        "shell",
        "shell_command",
        "terminal",
    }
)
_PATH_KEYS = ("file_path", "filePath", "path", "absolute_path", "notebook_path", "filename", "file", "target_file")
_FIRST_KEYS = ("offset", "start_line", "startLine", "start_line_one_indexed", "line_start")
_COUNT_KEYS = ("limit", "num_lines")
_LAST_KEYS = ("end_line", "endLine", "end_line_one_indexed_inclusive", "line_end")
_SCRIPT_KEYS = ("command", "cmd", "script", "code")
_FOLDER_KEYS = ("workdir", "cwd", "dir_path", "directory")

_PREFIX = re.compile(r"^.*(?:__|[.:])")
_LINES_BEHIND_PATH = re.compile(r"^(?P<path>.+?):(?P<first>\d+)(?:-(?P<last>\d+))?$")
_PATCHED = re.compile(r"\*\*\* (?P<verb>Add|Update|Delete) File: (?P<path>[^\n\r\\\"]{1,1000})")
# A script that is one call of a shell tool, as code-mode clients write it.
_SCRIPTED = re.compile(r'"(?P<key>cmd|workdir)"\s*:\s*(?P<value>"(?:[^"\\]|\\.)*")')
_NAME = r"(?P<path>'[^']+'|\"[^\"$`]+\"|[^\s'\"|;&<>$`*?(){}\[\]#\\]+)"
_SHELL_READS = tuple(
    re.compile(rf"(?:cd (?P<folder>[^\s'\"|;&<>$`*?]+) && )?{command}\s*")
    for command in (
        rf"cat (?:-n )?{_NAME}",
        rf"sed -n ['\"](?P<first>\d+),(?P<last>\d+)p['\"] {_NAME}",
        rf"nl -ba {_NAME} \| sed -n ['\"](?P<first>\d+),(?P<last>\d+)p['\"]",
        rf"head -(?:n ?)?(?P<last>\d+) {_NAME}",
    )
)


def find_touches(messages: Sequence[Message], folder: str | None = None) -> list[Touch]:
    """Every call with a result that read or changed a file, in order. Calls that failed are left out; relative paths are taken
    from the call's own folder, else from `folder`.
    """
    results = {
        part.call_id: (index, number, part)
        for index, message in enumerate(messages)
        for number, part in enumerate(message.parts)
        if part.kind == "tool_result" and part.call_id is not None
    }
    touches = []
    for index, message in enumerate(messages):
        for number, part in enumerate(message.parts):
            found = results.get(part.call_id or "") if part.kind == "tool_call" else None
            if found is not None and not found[2].is_error:
                chars = len(result_text(found[2]))
                touches += [
                    Touch(index, number, action, part.name or "", path, span, found[:2], len(part.text), chars)
                    for action, path, span in _touched(part, folder)
                ]
    return touches


def _touched(part: Part, folder: str | None) -> Iterator[tuple[Action, str, Span]]:
    text = part.text
    if "*** Begin Patch" in text:
        yield from _patched(text, folder)
        return
    tool = _PREFIX.sub("", (part.name or "").lower())
    arguments = decode(text.encode("utf-8", "replace")) if text.lstrip().startswith("{") else None
    if tool in _SHELLS:
        yield from _read_by_shell(arguments if isinstance(arguments, dict) else _scripted(text), folder)
    elif isinstance(arguments, dict):
        action = _COMMANDS.get(str(arguments.get("command"))) if tool in _COMMAND_TOOLS else _ACTIONS.get(tool)
        path = _first_text(arguments, _PATH_KEYS)
        if action is not None and path is not None:
            name, span = _span(path, arguments)
            yield action, _resolve(name, _first_text(arguments, _FOLDER_KEYS) or folder), span


def _patched(text: str, folder: str | None) -> Iterator[tuple[Action, str, Span]]:
    """Files of a patch, whether it came raw, as a string of JSON or inside a script."""
    for match in _PATCHED.finditer(text):
        action: Action = "edit" if match["verb"] == "Update" else "write"
        yield action, _resolve(match["path"].strip(), folder), Span()


def _scripted(text: str) -> dict[str, Any]:
    """The command of a script that calls a shell once; nothing if it calls more."""
    found = [(match["key"], decode(match["value"].encode("utf-8", "replace"))) for match in _SCRIPTED.finditer(text)]
    keys = [key for key, _ in found]
    return dict(found) if len(keys) == len(set(keys)) else {}


def _read_by_shell(arguments: Mapping[str, Any], folder: str | None) -> Iterator[tuple[Action, str, Span]]:
    script = next((arguments[key] for key in _SCRIPT_KEYS if key in arguments), None)
    if isinstance(script, list):
        script = script[-1] if script else None
    if not isinstance(script, str):
        return
    here = _first_text(arguments, _FOLDER_KEYS) or folder
    for pattern in _SHELL_READS:
        match = pattern.fullmatch(script.strip())
        if match is not None:
            groups = match.groupdict()
            first, last = int(groups.get("first") or 1), groups.get("last")
            inside = _resolve(groups["folder"], here) if groups["folder"] else here
            yield "read", _resolve(match["path"].strip("'\""), inside), Span(first, int(last) if last else None)
            return


def _span(path: str, arguments: Mapping[str, Any]) -> tuple[str, Span]:
    """The path, and the lines that were asked for: in arguments of their own, or behind the path."""
    view = arguments.get("view_range")
    if isinstance(view, list) and len(view) == 2 and all(isinstance(line, int) for line in view):
        return path, Span(max(1, view[0]), view[1] if view[1] >= view[0] else None)
    behind = _LINES_BEHIND_PATH.match(path) if "://" not in path else None
    if behind is not None:
        first = int(behind["first"])
        return behind["path"], Span(first, int(behind["last"] or first))
    first, last = _first_line(arguments, _FIRST_KEYS) or 1, _first_line(arguments, _LAST_KEYS)
    count = _first_line(arguments, _COUNT_KEYS)
    return path, Span(first, last if last is not None else (first + count - 1 if count is not None else None))


def _first_line(arguments: Mapping[str, Any], keys: Sequence[str]) -> int | None:
    values = (arguments[key] for key in keys if key in arguments)
    return next(
        (value for value in values if isinstance(value, int) and not isinstance(value, bool) and value > 0), None
    )


def _first_text(arguments: Mapping[str, Any], keys: Sequence[str]) -> str | None:
    values = (arguments[key] for key in keys if key in arguments)
    return next((value for value in values if isinstance(value, str) and value), None)


def _resolve(path: str, folder: str | None) -> str:
    """The path as one spelling: absolute where a folder is known, addresses as they are."""
    if "://" in path:
        return path
    path = path.replace("\\", "/")
    if folder and not path.startswith(("/", "~")) and not re.match(r"[A-Za-z]:/", path):
        path = f"{folder.replace(chr(92), '/')}/{path}"
    return posixpath.normpath(path)
