"""A session of Pi in several turns whose provider caches all that was sent, as a file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.evals.sessions import words
from tests.sources.rows import pi_entry, pi_header, pi_result, pi_user, write_lines
from ullage.core.profiles import ModelProfile, resolve_profile
from ullage.core.profiles.facts import Layer, ModelFacts, Prices

if TYPE_CHECKING:
    from pathlib import Path

HARNESS = 5_000
GROWTH = 400
START_MS = 1_783_956_000_000
MODEL = "claude-opus-4-5"


def talking(
    path: Path, *, turns: int = 6, calls: int = 5, wait_ms: int = 10_000, session: str = "s", **message: Any
) -> Path:
    """Every call adds `GROWTH` tokens, and finds in the cache what the one before sent."""
    rows = [pi_header(id=session)]
    parent: str | None = None
    prompt, held, now_ms, number = HARNESS, 0, START_MS, 0
    for turn in range(turns):
        rows.append(pi_user(f"u{turn}", parent, f"Now do task number {turn} of the list."))
        parent = f"u{turn}"
        for _ in range(calls):
            number, now_ms = number + 1, now_ms + wait_ms
            usage = {"input": 0, "output": 40, "cacheRead": held, "cacheWrite": prompt - held}
            rows.append(_reply(f"a{number}", parent, number, now_ms, usage, message))
            result = pi_result(f"r{number}", f"a{number}", f"{words(number)} symbol_{number}.py")
            result["message"]["toolCallId"] = f"t{number}"
            rows.append(result)
            parent, held, prompt = f"r{number}", prompt, prompt + GROWTH
    return write_lines(path, rows)


def _reply(
    name: str, parent: str, number: int, now_ms: int, usage: dict[str, int], message: dict[str, Any]
) -> dict[str, Any]:
    """An answer that takes a word from the result before it, and calls a tool."""
    content = [
        {"type": "text", "text": f"I saw symbol_{number - 1}.py there."},
        {"type": "toolCall", "id": f"t{number}", "name": "read", "arguments": {"line": number}},
    ]
    body = {
        "role": "assistant",
        "content": content,
        "api": "anthropic-messages",
        "provider": "anthropic",
        "model": MODEL,
        "usage": usage,
        "stopReason": "toolUse",
        "timestamp": now_ms,
    }
    return pi_entry("message", name, parent, message=body | message)


def profile_of(provider: str | None, model: str | None, dialect: str | None) -> ModelProfile:
    """A model with a window of 100,000 tokens and the prices of Claude; another has none."""
    layers: tuple[Layer, ...] = ()
    if model == MODEL:
        prices = Prices(input=5, output=25, cache_read=0.5, cache_write=6.25)
        facts = ModelFacts(context_window=100_000, max_output_tokens=8_192, prices=prices)
        layers = (Layer(source="litellm", facts=facts, exact=True, matched=MODEL),)
    return resolve_profile(provider or "", model or "", dialect=dialect, layers=layers)
