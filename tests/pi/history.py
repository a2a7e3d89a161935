"""A session's file of Pi with a long history: prompts, calls, results and answers of an agent at work."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

_WORDS = "The quick brown fox reads the file, edits a line and runs the tests again. "
_COST = {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0}
_USAGE = {"input": 10, "output": 100, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 110, "cost": _COST}
_SENDER = {"api": "anthropic-messages", "provider": "anthropic", "model": "anthropic-model"}


def write_session(file: Path, messages: int, *, project: Path) -> Path:
    """Writes a session of so many messages, a multiple of four, which began in the folder of a project."""
    head = {"type": "session", "version": 3, "id": f"made-{messages}", "timestamp": _time(0), "cwd": str(project)}
    rows: list[dict[str, Any]] = []
    for number, message in enumerate(one for turn in range(messages // 4) for one in _turn(turn)):
        place = {"id": f"{number:08x}", "parentId": f"{number - 1:08x}" if number else None, "timestamp": _time(number)}
        rows.append({"type": "message", **place, "message": {**message, "timestamp": 1_760_000_000_000 + number}})
    file.write_text("".join(json.dumps(row) + "\n" for row in [head, *rows]))
    return file


def _turn(number: int) -> list[dict[str, Any]]:
    call = {"type": "toolCall", "id": f"toolu_{number}", "name": "bash", "arguments": {"command": f"ls {number}"}}
    result = {"role": "toolResult", "toolCallId": f"toolu_{number}", "toolName": "bash", "isError": False}
    return [
        {"role": "user", "content": [_text(f"Prompt {number}. {_WORDS * 3}")]},
        _answer([_text(f"I look at {number}. {_WORDS}"), call], "toolUse"),
        {**result, "content": [_text(f"Result {number}. {_WORDS * 10}")]},
        _answer([_text(f"Done with {number}. {_WORDS * 2}")], "stop"),
    ]


def _answer(content: list[dict[str, Any]], stop: str) -> dict[str, Any]:
    return {"role": "assistant", "content": content, **_SENDER, "usage": _USAGE, "stopReason": stop}


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def _time(number: int) -> str:
    return f"2026-01-01T{number // 3600:02}:{number // 60 % 60:02}:{number % 60:02}.000Z"
