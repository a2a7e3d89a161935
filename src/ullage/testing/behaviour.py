"""What the fake provider says when no script tells it otherwise: always the same answer to the same question."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from .prompt import as_dict, as_list
from .script import Reply, ToolUse

if TYPE_CHECKING:
    from .prompt import OfferedTool, Prompt

SHELL_TOOLS = ("bash", "exec_command", "run_shell_command", "shell", "local_shell")
"""Names, in lower case, under which coding agents offer a shell."""

SCRIPT_TOOL = "exec"
"""A tool of free input that takes JavaScript and calls the shell from there (Codex 0.171 with its newest models)."""

TOOL_PHRASE = "use the tool"
"""A prompt that holds these words gets a call of the shell tool, once."""

_QUOTED_CHARS = 200
_SUMMARY = "A summary of the conversation so far: the user asked, the folder was read, the answer was given."
_THINKING = "The question is plain. I answer it the same way every time."


def default_reply(prompt: Prompt) -> Reply:
    """The built-in answer to a request."""
    if prompt.asks_compaction:
        return Reply(text=_SUMMARY)
    if prompt.schema is not None or prompt.wants_json:
        value = example_of(prompt.schema or {"type": "object"})
        return Reply(text=msgspec.json.encode(value).decode())
    thinking = _THINKING if prompt.wants_thinking else ""
    if prompt.result_text is not None:
        return Reply(thinking=thinking, text=f"The tool returned:\n\n{_quote(prompt.result_text)}\n\nThat is all.")
    tool = None if prompt.is_compacted else _shell_tool(prompt)
    if tool is not None and TOOL_PHRASE in prompt.user_text.casefold():
        return Reply(thinking=thinking, text="I look at the folder first.", tool_calls=(_list_files(tool),))
    return Reply(thinking=thinking, text=_echo(prompt.user_text))


def _echo(user_text: str) -> str:
    if "<summary>" in user_text:
        # A compaction prompt that asks for this form is repeated until the answer has it (clients specification, section 3).
        return f"<analysis>\nNothing to add.\n</analysis>\n\n<summary>\n{_SUMMARY}\n</summary>"
    return f"You said: “{_quote(_own_words(user_text))}”. This answer comes from a fake provider; no model was called."


def _own_words(user_text: str) -> str:
    """The last paragraph block that is not a reminder put in by the client."""
    blocks = [block.strip() for block in user_text.split("\n\n")]
    words = [block for block in blocks if block and not block.startswith("<")]
    return words[-1] if words else user_text.strip()


def _quote(text: str) -> str:
    text = text.strip()
    return text if len(text) <= _QUOTED_CHARS else text[:_QUOTED_CHARS] + "…"


def _shell_tool(prompt: Prompt) -> OfferedTool | None:
    return next((tool for tool in prompt.tools if tool.name.lower() in SHELL_TOOLS or _is_script(tool)), None)


def _is_script(tool: OfferedTool) -> bool:
    return tool.custom and tool.name == SCRIPT_TOOL


def _list_files(tool: OfferedTool) -> ToolUse:
    """A call of the shell tool that runs `ls`, with whatever else its schema requires."""
    if _is_script(tool):
        return ToolUse(name=tool.name, arguments='text(await tools.exec_command({cmd: "ls"}))')
    if tool.custom:
        return ToolUse(name=tool.name, arguments="ls")
    properties = as_dict(tool.schema.get("properties"))
    command = next((key for key in ("command", "cmd") if key in properties), "command")
    is_list = as_dict(properties.get(command)).get("type") in ("array", "ARRAY")
    arguments: dict[str, Any] = {command: ["ls"] if is_list else "ls"}
    for key in as_list(tool.schema.get("required")):
        if key not in arguments:
            arguments[key] = example_of(as_dict(properties.get(key)))
    return ToolUse(name=tool.name, arguments=arguments)


def example_of(schema: dict[str, Any], root: dict[str, Any] | None = None, depth: int = 0) -> Any:
    """A small value that a JSON schema accepts. Understands what clients use, not the whole of the standard."""
    root = schema if root is None else root
    if depth > 20:
        return None
    schema = _resolve(schema, root)
    if schema.get("enum"):
        return schema["enum"][0]
    if "const" in schema:
        return schema["const"]
    for key in ("anyOf", "oneOf", "allOf"):
        if as_list(schema.get(key)):
            return example_of(as_dict(schema[key][0]), root, depth + 1)
    return _typed_example(schema, root, depth)


def _resolve(schema: dict[str, Any], root: dict[str, Any]) -> dict[str, Any]:
    """Follows a reference inside the document."""
    reference = schema.get("$ref")
    if not isinstance(reference, str) or not reference.startswith("#/"):
        return schema
    found: Any = root
    for step in reference[2:].split("/"):
        found = as_dict(found).get(step)
    return as_dict(found)


def _typed_example(schema: dict[str, Any], root: dict[str, Any], depth: int) -> Any:
    kind = schema.get("type")
    kind = str(kind[0] if isinstance(kind, list) and kind else kind).lower()
    if kind == "object" or "properties" in schema:
        properties = as_dict(schema.get("properties"))
        return {key: example_of(as_dict(inner), root, depth + 1) for key, inner in properties.items()}
    if kind == "array":
        count = int(schema.get("minItems", 0))
        return [example_of(as_dict(schema.get("items")), root, depth + 1)] * count
    if kind in ("integer", "number"):
        return schema.get("minimum", 1)
    if kind == "boolean":
        return False
    if kind == "null":
        return None
    return "A short answer".ljust(int(schema.get("minLength", 0)), ".")[: int(schema.get("maxLength", 200))]
