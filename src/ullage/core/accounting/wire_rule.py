"""`wire-v1`: what a request weighs on the wire of a family (accounting specification, sections 5 to 7 and 24)."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import msgspec

from ullage.core.profiles import image_tokens
from ullage.core.tokens import compact_json, load_vocabulary

from .amounts import Amount, between, exactly, round_half_up, total, within
from .gemini_tools import (
    MARK,
    marked_call,
    marked_declaration,
    marked_result,
    python_call,
    python_declaration,
    python_result,
)
from .tool_declaration import declare_tool
from .tool_shapes import count_properties, schema_strings, tool_payload

if TYPE_CHECKING:
    from ullage.core.content import Media, Role, ToolSpec
    from ullage.core.profiles import Family

    from .options import Options

_IMAGE_ERROR = 0.05
# Documents and sounds of unknown length (accounting specification, section 7): what a common file of that size holds.
_BYTES_PER_PAGE = 60_000
_BYTES_PER_AUDIO_SECOND = 16_000
_AUDIO_TOKENS_PER_SECOND = 32
_VIDEO_TOKENS_PER_SECOND = 258 + _AUDIO_TOKENS_PER_SECOND
_BYTES_PER_VIDEO_SECOND = 250_000
_SHAPES = {
    "declaration": "OpenAI declaration",
    "anthropic": "anthropic payload",
    "openai-chat": "openai-chat payload",
    "strings": "strings",
    "python": "Python declaration",
    "marked": "declaration",
}
# Of a schema under these keys only the names outside it are counted where strings are.
_JSON_SCHEMA_KEYS = (b"parametersJsonSchema", b"parameters_json_schema")
_NAMED_SCHEMAS = ("properties", "$defs", "definitions")
_GRAMMAR_ERROR = 0.3
_BYTES_PER_TOKEN = 4
_TEXT_DOCUMENT_ERROR = 0.4
_TEXT_DOCUMENTS = ("text/", "/txt", "/md", "/csv", "/html", "/json", "/xml")


class WireRule:
    """Counts by the family's vocabulary; loads it at the first text."""

    def __init__(self, family: Family) -> None:
        self._family = family
        self._text_method = _scaled(family.vocabulary, family.prose)
        self._dense_method = _scaled(family.vocabulary, family.dense)

    @property
    def tools_method(self) -> str:
        rule = self._family.tools
        return f"{_SHAPES[rule.shape]}, {_scaled(self._family.vocabulary, rule.ratio)}"

    @property
    def sealed_thinking(self) -> bool:
        return self._family.sealed_thinking

    @property
    def strips_thinking(self) -> bool:
        return self._family.strips_thinking

    def prose(self, text: str) -> Amount:
        return self._text(text, self._family.prose, self._text_method)

    def speech(self, text: str) -> Amount:
        return self.prose(text)

    def dense(self, text: str) -> Amount:
        return self._text(text, self._family.dense, self._dense_method)

    def call(self, name: str, arguments: str) -> Amount:
        match self._family.tools.shape:
            case "python":
                return self.dense(python_call(name, arguments))
            case "marked":
                return self._marked_amount(marked_call(name, arguments))
            case _:
                return self._data(arguments).plus(self.dense(name).tokens)

    def result(self, text: str, name: str | None = None) -> Amount:
        match self._family.tools.shape:
            case "python":
                return self.dense(python_result(name, text))
            case "marked":
                return self._marked_amount(marked_result(name, text))
            case _:
                return self._data(text)

    def tool(self, spec: ToolSpec) -> Amount:
        rule = self._family.tools
        if spec.kind == "hosted":
            return exactly(0, "run by the provider: cost unknown")
        if spec.kind == "custom":
            text = compact_json({"name": spec.name, "description": spec.description, "format": spec.format})
            return within(self._count(text) * rule.ratio + rule.grammar, _GRAMMAR_ERROR, self.tools_method)
        tokens = self._tool_text(spec) * rule.ratio + rule.each
        tokens += rule.per_property * count_properties(spec.parameters) + rule.bare * (not spec.description)
        return within(tokens, rule.error, self.tools_method)

    def media(self, media: Media) -> Amount:
        match media.kind:
            case "image":
                return self._image(media)
            case "document":
                return self._document(media)
            case "audio":
                return _by_seconds(media, _AUDIO_TOKENS_PER_SECOND, _BYTES_PER_AUDIO_SECOND)
            case "video":
                return _by_seconds(media, _VIDEO_TOKENS_PER_SECOND, _BYTES_PER_VIDEO_SECOND)

    def knows(self, media: Media) -> bool:
        match media.kind:
            case "image":
                return self._family.images.kind != "unknown" and media.width is not None and media.height is not None
            case "document":
                return media.pages is not None or (media.size_bytes is not None and _is_text(media))
            case "audio" | "video":
                return media.seconds is not None

    def schema(self, options: Options) -> Amount:
        rule = self._family.schema
        if not rule.ratio and not rule.block:
            return exactly(0, "not counted by the provider")
        text = compact_json(_without(options.schema, rule.dropped, rule.dropped_below))
        tokens = rule.block + self._count(text) * rule.ratio + rule.described * options.schema_described
        tokens += self._count(options.schema_name) if rule.named else 0
        # Where a template drops more than the schema adds, a row below zero would explain nothing.
        return within(max(tokens, 0.0), rule.error, f"schema, {self._family.vocabulary}")

    def message_frame(self, role: Role, blocks: int) -> int:
        framing = self._family.framing
        match role:
            case "system" | "developer":
                return framing.system
            case "user":
                return framing.user
            case "assistant":
                return framing.assistant
            case "tool":
                return 0

    def system_frame(self) -> int:
        return self._family.framing.system

    def name_frame(self, name: str, role: Role) -> int:
        extra = self._family.framing.name
        if extra is None:
            return 0
        return extra if name == role else extra + self._count(name)

    def call_frame(self, name: str | None) -> int:
        framing = self._family.framing
        return framing.call + (framing.name_again * self._count(name) if name and framing.name_again else 0)

    def parallel_frame(self) -> int:
        return self._family.framing.parallel

    def result_frame(self, name: str | None, blocks: int) -> int:
        return self._family.framing.result

    def sealed(self, chars: int) -> int | None:
        rule = self._family.sealed
        if rule.ratio is None:
            return None
        return max(0, round_half_up(chars * rule.ratio) + rule.base) if rule.ratio else 0

    @property
    def seals_last(self) -> bool:
        return self._family.sealed.always

    def opening(self) -> int:
        return self._family.framing.base

    def hidden(self, options: Options, *, system: bool = True) -> int:
        framing = self._family.framing
        told = framing.thinking * options.thinking + framing.adaptive * options.adaptive
        told += framing.task_budget * options.task_budget
        return framing.prefix + told + (0 if system else framing.no_system)

    def tool_block(self, options: Options, *, system: bool = True) -> int:
        rule = self._family.tools
        block = rule.block
        if options.forced_tool and rule.block_forced is not None:
            block = rule.block_forced
        if options.choice == "tool" and rule.named is not None:
            block += rule.named + self._count(options.tool_name)
        return block + rule.beside_system * system + rule.serial * (options.parallel is False)

    def deferred_block(self) -> int:
        return self._family.tools.deferred

    def inline_block(self) -> int:
        return self._family.tools.block_inline

    def hides_tools(self, options: Options) -> bool:
        return options.choice == "none" and self._family.tools.none_hides

    def _count(self, text: str) -> int:
        return load_vocabulary(self._family.vocabulary).count(text) if text else 0

    def _count_marked(self, text: str) -> int:
        """Tokens of a text in which marks stand for tokens of their own."""
        return sum(map(self._count, text.split(MARK))) + text.count(MARK)

    def _marked_amount(self, text: str) -> Amount:
        return exactly(self._count_marked(text), self._dense_method)

    def _text(self, text: str, ratio: float, method: str) -> Amount:
        tokens = self._count(text)
        if ratio == 1.0 and not self._family.error:
            return exactly(tokens, method)
        return within(tokens * ratio, self._family.error, method)

    def _tool_text(self, spec: ToolSpec) -> int:
        match self._family.tools.shape:
            case "declaration":
                style = self._family.tools.style
                return self._count(declare_tool(spec.name, spec.description, spec.parameters, style))
            case "strings":
                texts = () if _is_json_schema(spec) else schema_strings(spec.parameters)
                return sum(map(self._count, (spec.name, spec.description, *texts)))
            case "python":
                return self._count(python_declaration(spec.name, spec.description, spec.parameters))
            case "marked":
                return self._count_marked(marked_declaration(spec.name, spec.description, spec.parameters))
            case "anthropic" | "openai-chat" as shape:
                return self._count(tool_payload(spec, shape, placeholder=False))

    def _data(self, text: str) -> Amount:
        """Arguments or a result; where only strings are shown, those of its JSON."""
        if self._family.tools.shape != "strings" or not text.startswith(("{", "[")):
            return self.dense(text)
        return total([self.dense(string) for string in _strings(text)], self._dense_method)

    def _image(self, media: Media) -> Amount:
        rule = self._family.images
        if media.width is None or media.height is None or rule.kind == "unknown":
            return between(rule.unknown_low, rule.unknown, rule.unknown_high, "picture of unknown cost")
        tokens = image_tokens(rule, media.width, media.height, media.detail)
        return within(tokens, _IMAGE_ERROR, f"picture, {rule.kind}")

    def _document(self, media: Media) -> Amount:
        family = self._family
        if media.size_bytes and _is_text(media):
            tokens = media.size_bytes / _BYTES_PER_TOKEN * family.prose
            return within(tokens, _TEXT_DOCUMENT_ERROR, "document, by size")
        known = media.pages is not None
        pages = media.pages or max(1, round((media.size_bytes or 0) / _BYTES_PER_PAGE))
        low, high = (pages, pages) if known else (1, pages * 4)
        return between(low * family.page_low, pages * family.page, high * family.page_high, "document, by pages")


def _is_json_schema(spec: ToolSpec) -> bool:
    return any(key in spec.wire for key in _JSON_SCHEMA_KEYS)


def _is_text(media: Media) -> bool:
    mime = media.mime or ""
    return any(mime.startswith(mark) or mime.endswith(mark) for mark in _TEXT_DOCUMENTS)


def _by_seconds(media: Media, per_second: int, bytes_per_second: int) -> Amount:
    if media.seconds is not None:
        return within(media.seconds * per_second, 0.1, f"{media.kind}, {per_second} a second")
    guess = max(1.0, (media.size_bytes or 0) / bytes_per_second) * per_second
    return between(per_second, math.ceil(guess), math.ceil(guess * 8), f"{media.kind} of unknown length")


def _scaled(vocabulary: str, ratio: float) -> str:
    return vocabulary if ratio == 1.0 else f"{vocabulary} × {ratio:g}"


def _without(value: Any, dropped: tuple[str, ...], below: tuple[str, ...]) -> Any:
    """A schema without some of its keywords, and more of them below its own level; names of properties are no keywords."""
    if isinstance(value, list):
        return [_without(member, (*dropped, *below), ()) for member in value]
    if not isinstance(value, dict):
        return value
    return {
        key: {name: _without(schema, (*dropped, *below), ()) for name, schema in member.items()}
        if key in _NAMED_SCHEMAS and isinstance(member, dict)
        else _without(member, (*dropped, *below), ())
        for key, member in value.items()
        if key not in dropped
    }


def _strings(arguments: str) -> list[str]:
    try:
        value = msgspec.json.decode(arguments)
    except (msgspec.DecodeError, RecursionError, UnicodeEncodeError):
        return [arguments]
    found: list[str] = []
    _collect(value, found)
    return found


def _collect(value: Any, found: list[str]) -> None:
    if isinstance(value, dict):
        for key, member in value.items():
            found.append(key)
            _collect(member, found)
    elif isinstance(value, list):
        for member in value:
            _collect(member, found)
    else:
        found.append(value if isinstance(value, str) else compact_json(value))
