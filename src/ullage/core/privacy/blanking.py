"""A slice that is blocked whole: what kind of thing it is stays, what it says does not.

Names, ids, types and the shape that a dialect asks for stay, so that calls keep their results and the provider can read the
request. Texts name the class. What a call or a result holds under names of its own goes with those names; so do pictures and
files, in whose place a text stands, since providers refuse empty ones.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from ullage.core.wire.jsontext import decode
from ullage.core.wire.texts import Editor, Place, Value, rewrite

from .markers import find_markers
from .placeholders import THINKING, withheld
from .secrets import find_secrets

if TYPE_CHECKING:
    from ullage.core.wire import Dialect, SliceKind

    from .classes import Classification

_STRUCTURE = frozenset(
    """
    api call_id detail execution format id index is_error item_id media_type mimeType mime_type model name object phase role
    server_label status stopReason stop_reason strict thought toolCallId tool_call_id tool_name tool_use_id ttl type
    defer_loading willContinue scheduling
    """.split()  # noqa: SIM905 - one word a line would hide the list
)
"""Names of values that say what something is (section 23.3, and the same in the four dialects)."""

_CONTENT = frozenset(
    """
    action allowed_callers annotations audio cache_control caller citations code codeExecutionResult code_execution_result
    content contents context custom description document documents error executableCode executable_code file fileData fileUri
    file_data file_id file_uri file_url filename function functionCall functionResponse function_call function_response image
    image_url inlineData inline_data input_audio instructions logprobs message messages outcome output parts queries query
    reasoning reasoning_content reasoning_details refusal result results source summary text thinking thinking_blocks title
    tool_calls tool_uses tools transcript url
    """.split()  # noqa: SIM905 - one word a line would hide the list
)
"""Names that the dialects give to content; what is under them is looked into."""

_SEALED = frozenset(
    {
        "b64_json",
        "data",
        "encrypted_content",
        "encrypted_index",
        "signature",
        "thoughtSignature",
        "thought_signature",
    }
)
_FREE = frozenset({"args", "arguments", "input", "response"})
_SCHEMAS = frozenset(
    ["input_schema", "parameters", "parametersJsonSchema", "parameters_json_schema", "response_json_schema"]
)
_MEDIA = frozenset(
    {
        "audio",
        "computer_screenshot",
        "document",
        "file",
        "image",
        "image_url",
        "input_audio",
        "input_file",
        "input_image",
        "video",
    }
)
_GEMINI_MEDIA = ("inlineData", "inline_data", "fileData", "file_data")
_THINKING = frozenset({"thinking", "redacted_thinking"})
_SAFE_NAME = "withheld"


def blank(raw: bytes, dialect: Dialect, kind: SliceKind, classification: Classification) -> tuple[bytes, int]:
    """The slice without anything that it said, and how many values were withheld."""
    root = decode(raw)
    ours = isinstance(root, dict) and root.get("role") in ("assistant", "model")
    editor = _Blanking(dialect, classification, ours=ours, is_tool=kind == "tool")
    return rewrite(raw, editor), editor.blocked


def thinking_block(dialect: Dialect) -> bytes:
    """What stands for a block of thinking that may not be shown as it was signed."""
    return _text_block(dialect, THINKING, ours=True)


def _text_block(dialect: Dialect, text: str, *, ours: bool) -> bytes:
    """A block of text; `ours` for a message of the model."""
    if dialect == "gemini":
        return msgspec.json.encode({"text": text})
    if dialect == "openai-responses":
        return msgspec.json.encode({"type": "output_text" if ours else "input_text", "text": text})
    return msgspec.json.encode({"type": "text", "text": text})


class _Blanking(Editor):
    def __init__(self, dialect: Dialect, classification: Classification, *, ours: bool, is_tool: bool) -> None:
        self._dialect = dialect
        self._ours = ours
        self._is_tool = is_tool
        self._text = withheld(classification)
        self.blocked = 0

    def whole(self, place: Place, raw: bytes, value: Value) -> bytes | None:
        name = place.key
        if value.kind in ("object", "array"):
            return self._container(place, raw, value)
        if name in _STRUCTURE:
            return self._kept(raw[value.start : value.end])
        if value.kind == "other":
            return None if name in _KNOWN or not name else self._withhold(self._text)
        if raw[value.start : value.end] == b'""':
            return None
        if name in _SEALED:
            return self._withhold("")
        if name == "arguments":
            return self._withhold(msgspec.json.encode({"text": self._text}).decode())
        return self._withhold(self._text)

    def text(self, place: Place, text: str) -> str:
        return text  # `whole` has seen it

    def name(self, place: Place, name: str) -> str:
        return name if name in _KNOWN and not _hides(name) else self._text

    def _container(self, place: Place, raw: bytes, value: Value) -> bytes | None:
        name = place.key
        if not place.path:
            return self._thinking(place, raw, value)
        if name in _SCHEMAS or (name in _FREE and self._is_tool):
            return self._withhold({"type": "object", "properties": {}})
        if name in _FREE:
            return self._withhold({"text": self._text})
        if name not in _KNOWN:
            return self._withhold(self._text)
        return self._thinking(place, raw, value)

    def _thinking(self, place: Place, raw: bytes, value: Value) -> bytes | None:
        """Blocks that a text stands for: thinking, whose signature would be wrong, pictures and files."""
        if value.kind != "object" or not place.path:
            return None
        kind = decode(value.member(raw, "type") or b"null")
        if kind in _THINKING:
            self.blocked += 1
            return thinking_block(self._dialect)
        gemini = any(value.member(raw, name) is not None for name in _GEMINI_MEDIA)
        if kind in _MEDIA or (gemini and self._dialect == "gemini"):
            self.blocked += 1
            return _text_block(self._dialect, self._text, ours=self._ours)
        return None

    def _kept(self, before: bytes) -> bytes:
        text = decode(before)
        return self._withhold(_SAFE_NAME) if isinstance(text, str) and _hides(text) else before

    def _withhold(self, value: Any) -> bytes:
        self.blocked += 1
        return msgspec.json.encode(value)


_KNOWN = _STRUCTURE | _CONTENT | _SEALED | _FREE | _SCHEMAS


def _hides(text: str) -> bool:
    return bool(find_markers(text) or find_secrets(text))
