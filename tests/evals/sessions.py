"""Small sessions of Pi whose prompts grow by a law, as files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.sources.rows import TIME, pi_header, pi_reply, pi_result, pi_user, write_lines
from ullage.core.tokens import get_estimator

if TYPE_CHECKING:
    from pathlib import Path

OPENAI = {"api": "openai-responses", "provider": "openai", "model": "gpt-5.6-sol"}
PREFIX_TOKENS = 5_000
OUTPUT_TOKENS = 40

_count = get_estimator("o200k-base-v1").text


def words(number: int) -> str:
    """A text that is another for every number, some two hundred words long at most."""
    return " ".join(f"line {number} of the file says {index}" for index in range(3 + (number * 7) % 30))


def tokens(text: str) -> int:
    return _count(text)


def reply(name: str, parent: str, prompt: int, **message: Any) -> dict[str, Any]:
    usage = {"input": prompt, "output": OUTPUT_TOKENS, "cacheRead": 0, "cacheWrite": 0}
    return pi_reply(name, parent, prompt=prompt, **{**OPENAI, "usage": usage, **message})


def growing(path: Path, *, calls: int = 12, a: int = 30, session: str = "s", **message: Any) -> Path:
    """A session in which every call adds its output, the tokens of one result and `a`."""
    rows = [pi_header(id=session), pi_user("u", None, "Go.")]
    parent, prompt = "u", PREFIX_TOKENS
    for number in range(calls):
        rows.append(reply(f"a{number}", parent, prompt, **message))
        text = words(number)
        rows.append(pi_result(f"r{number}", f"a{number}", text))
        parent, prompt = f"r{number}", prompt + OUTPUT_TOKENS + tokens(text) + a
    return write_lines(path, rows)


__all__ = ["OPENAI", "OUTPUT_TOKENS", "PREFIX_TOKENS", "TIME", "growing", "reply", "tokens", "words"]
