"""Answers of Gemini generateContent: chunks of one shape, streamed or alone, also as one JSON list."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct

from ullage.core.wire.jsontext import compact, decode_as

from .reader import DialectReader
from .tally import chars
from .usage import gemini_usage

if TYPE_CHECKING:
    from ullage.core.content import StopReason

_OUTPUTS = ("inlineData", "fileData", "executableCode", "codeExecutionResult")
_STOP_REASONS: dict[str, StopReason] = {
    "blocklist": "refusal",
    "finish_reason_unspecified": "other",
    "image_safety": "refusal",
    "language": "refusal",
    "malformed_function_call": "error",
    "max_tokens": "length",
    "prohibited_content": "refusal",
    "recitation": "refusal",
    "safety": "refusal",
    "spii": "refusal",
    "stop": "end",
    "too_many_tool_calls": "error",
    "unexpected_tool_call": "error",
}


class _Content(Struct):
    parts: list[Any] | None = None


class _Candidate(Struct, rename="camel"):
    content: _Content | None = None
    finish_reason: Any = None


class _Chunk(Struct, rename="camel"):
    candidates: list[_Candidate] | None = None
    prompt_feedback: Any = None
    usage_metadata: Any = None
    model_version: Any = None
    response_id: Any = None
    total_tokens: Any = None
    error: Any = None


_CHUNKS = msgspec.json.Decoder(_Chunk, float_hook=float)
_LISTS = msgspec.json.Decoder(list[_Chunk], float_hook=float)


class GeminiReader(DialectReader):
    """Complete once a candidate has a finish reason, or the prompt was blocked. Each `usageMetadata` replaces the one before."""

    def read_event(self, _name: str | None, data: bytes) -> None:
        """One chunk."""
        self._read(decode_as(_CHUNKS, data))

    def read_body(self, body: bytes) -> None:
        """One answer, a stream written as a list, an error, or a token count."""
        if body.lstrip().startswith(b"["):
            for chunk in decode_as(_LISTS, body):
                self._read(chunk)
        else:
            self._read(decode_as(_CHUNKS, body))
        self.tally.complete = True

    def _read(self, chunk: _Chunk) -> None:
        tally = self.tally
        tally.name_response(chunk.response_id)
        tally.name_model(chunk.model_version)
        if chunk.error:
            tally.fail(chunk.error)
        self._read_usage(chunk)
        for candidate in chunk.candidates or ():
            for part in (candidate.content.parts if candidate.content is not None else None) or ():
                if isinstance(part, dict):
                    self._read_part(part)
            self._stop(candidate.finish_reason)
        if isinstance(chunk.prompt_feedback, dict) and chunk.prompt_feedback.get("blockReason"):
            self._stop(chunk.prompt_feedback["blockReason"])
            tally.stop_reason = "refusal"

    def _read_usage(self, chunk: _Chunk) -> None:
        payload = chunk.usage_metadata
        if payload is None and chunk.total_tokens is not None:
            payload = {"promptTokenCount": chunk.total_tokens}
        if isinstance(payload, dict):
            self.tally.report(gemini_usage(payload))

    def _read_part(self, part: dict[str, Any]) -> None:
        if part.get("thought") is True:
            self.tally.thinking_chars += chars(part.get("text"))
        else:
            self.tally.say(chars(part.get("text")))
            self.tally.spoke = self.tally.spoke or any(part.get(key) for key in _OUTPUTS)
        call = part.get("functionCall")
        if isinstance(call, dict):
            key = len(self.tally.calls)
            self.tally.spoke = True
            self.tally.calls.open(key, call_id=call.get("id"), name=call.get("name"))
            self.tally.calls.add(key, compact(call.get("args") or {}))

    def _stop(self, reason: Any) -> None:
        if not isinstance(reason, str) or not reason:
            return
        self.tally.complete = True
        self.tally.stop(reason, _STOP_REASONS)
        if self.tally.stop_reason == "end" and len(self.tally.calls):
            self.tally.stop_reason = "tool_calls"
