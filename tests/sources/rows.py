"""Rows of session files as each client writes them, cut down to what a reader looks at."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

Row = dict[str, Any]

TIME = "2026-07-13T14:47:18.506Z"


def write_lines(path: Path, rows: Iterable[Row | str | bytes]) -> Path:
    """Writes a JSON Lines file; a string or bytes go in as they are."""
    path.write_bytes(b"".join(_line(row) + b"\n" for row in rows))
    return path


def _line(row: Row | str | bytes) -> bytes:
    if isinstance(row, dict):
        return json.dumps(row, ensure_ascii=False).encode("utf-8", "surrogatepass")
    return row if isinstance(row, bytes) else row.encode()


def texts(session: Any, call: int | None = None) -> list[str]:
    """What was sent, one text a message: the text of its parts joined."""
    return ["".join(_part_text(part) for part in message.parts) for message in session.context(call).messages]


def _part_text(part: Any) -> str:
    return part.text + "".join(_part_text(inner) for inner in part.parts)


def roles(session: Any, call: int | None = None) -> list[str]:
    return [message.role for message in session.context(call).messages]


# Pi ------------------------------------------------------------------------------------------------------------------


def pi_header(version: int | None = 3, **fields: Any) -> Row:
    row = {"type": "session", "id": "0198-pi", "timestamp": TIME, "cwd": "/project", **fields}
    return row if version is None else {**row, "version": version}


def pi_entry(kind: str, name: str, parent: str | None, **fields: Any) -> Row:
    return {"type": kind, "id": name, "parentId": parent, "timestamp": TIME, **fields}


def pi_user(name: str, parent: str | None, text: str) -> Row:
    return pi_entry("message", name, parent, message={"role": "user", "content": text})


def pi_reply(name: str, parent: str | None, text: str = "yes", *, prompt: int = 100, **message: Any) -> Row:
    usage = {"input": prompt, "output": 10, "cacheRead": 0, "cacheWrite": 0, "totalTokens": prompt + 10}
    content = [{"type": "text", "text": text}]
    base = {"role": "assistant", "content": content, "api": "anthropic-messages", "provider": "anthropic"}
    base |= {"model": "claude-opus-4-5", "usage": usage, "stopReason": "stop", "timestamp": 1783956713993}
    return pi_entry("message", name, parent, message=base | message)


def pi_result(name: str, parent: str | None, text: str) -> Row:
    message = {
        "role": "toolResult",
        "toolCallId": "t1",
        "toolName": "read",
        "content": [{"type": "text", "text": text}],
    }
    return pi_entry("message", name, parent, message=message | {"isError": False})


def first_version(row: Row) -> Row:
    """The entry as version 1 writes it: no ids, order is order in the file."""
    return {key: value for key, value in row.items() if key not in ("id", "parentId")}


# Claude Code ---------------------------------------------------------------------------------------------------------


def claude_row(kind: str, name: str, parent: str | None, **fields: Any) -> Row:
    base = {"parentUuid": parent, "isSidechain": False, "type": kind, "uuid": name, "timestamp": TIME}
    return base | {"sessionId": "s-1", "version": "2.1.126", "cwd": "/project"} | fields


def claude_prompt(name: str, parent: str | None, text: str, **fields: Any) -> Row:
    return claude_row("user", name, parent, message={"role": "user", "content": text}, **fields)


def claude_usage(*, fresh: int = 3, write: int = 0, read: int = 0, output: int = 50) -> Row:
    usage = {"input_tokens": fresh, "cache_creation_input_tokens": write, "cache_read_input_tokens": read}
    return usage | {"output_tokens": output}


def claude_reply(
    name: str, parent: str | None, message: str, block: Row, usage: Row | None = None, **fields: Any
) -> Row:
    body = {"id": message, "role": "assistant", "model": "claude-opus-4-7", "content": [block]}
    return claude_row("assistant", name, parent, message=body | {"usage": usage or claude_usage()}, **fields)


def claude_result(name: str, parent: str | None, call: str, text: str, **fields: Any) -> Row:
    block = {"type": "tool_result", "tool_use_id": call, "content": text}
    return claude_row("user", name, parent, message={"role": "user", "content": [block]}, **fields)


def said(text: str) -> Row:
    return {"type": "text", "text": text}


def called(call: str, **arguments: Any) -> Row:
    return {"type": "tool_use", "id": call, "name": "Bash", "input": arguments or {"command": "ls"}}


# Codex ---------------------------------------------------------------------------------------------------------------


def codex_line(kind: str, **payload: Any) -> Row:
    return {"timestamp": TIME, "type": kind, "payload": payload}


def codex_meta(name: str = "thread-1", **fields: Any) -> Row:
    base: Row = {"id": name, "cwd": "/project", "cli_version": "0.144.1", "model_provider": "openai"}
    return codex_line("session_meta", **base | {"base_instructions": {"text": "Be exact."}} | fields)


def codex_turn(model: str = "gpt-5.6-sol", **fields: Any) -> Row:
    return codex_line("turn_context", model=model, **fields)


def codex_message(role: str, text: str) -> Row:
    kind = "output_text" if role == "assistant" else "input_text"
    return codex_line("response_item", type="message", role=role, content=[{"type": kind, "text": text}])


def codex_call(name: str, **arguments: Any) -> Row:
    text = json.dumps(arguments, separators=(",", ":"))
    return codex_line("response_item", type="function_call", name="exec_command", arguments=text, call_id=name)


def codex_output(name: str, output: Any) -> Row:
    return codex_line("response_item", type="function_call_output", call_id=name, output=output)


def codex_reasoning(sealed: str = "SEALED") -> Row:
    return codex_line("response_item", type="reasoning", summary=[], encrypted_content=sealed)


def codex_count(total: int, *, prompt: int, cached: int = 0, output: int = 20, reasoning: int = 5) -> Row:
    last = {"input_tokens": prompt, "cached_input_tokens": cached, "output_tokens": output}
    last |= {"reasoning_output_tokens": reasoning, "total_tokens": prompt + output}
    totals = {"input_tokens": total, "output_tokens": output, "total_tokens": total + output}
    info = {"total_token_usage": totals, "last_token_usage": last, "model_context_window": 353400}
    return codex_line("event_msg", type="token_count", info=info)


# OpenHands -----------------------------------------------------------------------------------------------------------


def hands_event(number: int, source: str = "agent", **fields: Any) -> Row:
    return {"id": number, "timestamp": "2025-04-30T17:56:40.640800", "source": source, **fields}


def hands_user(number: int, text: str) -> Row:
    return hands_event(number, "user", action="message", args={"content": text, "image_urls": None})


def hands_reply(name: str, call: str, *, prompt: int = 100, text: str = "Let me look.", **usage: Any) -> Row:
    """The metadata that an action and its observation share."""
    function = {"name": "execute_bash", "arguments": '{"command": "ls"}'}
    message = {"role": "assistant", "content": text}
    message["tool_calls"] = [{"id": call, "type": "function", "function": function}]
    counts = {"prompt_tokens": prompt, "completion_tokens": 12} | usage
    choices = [{"finish_reason": "tool_calls", "index": 0, "message": message}]
    response = {"id": name, "model": "meta-llama/llama-4-maverick", "choices": choices, "usage": counts}
    return {"function_name": "execute_bash", "tool_call_id": call, "model_response": response}


def hands_action(number: int, metadata: Row) -> Row:
    return hands_event(number, action="run", args={"command": "ls", "thought": ""}, tool_call_metadata=metadata)


def hands_observation(number: int, reply: Row, content: str, **extras: Any) -> Row:
    return hands_event(number, observation="run", content=content, tool_call_metadata=reply, extras=extras)
