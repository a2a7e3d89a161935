"""A request in no dialect: what is common to all four, with the data that a target needs.

The nouns of `core.content` leave out data and seals on purpose; these carry them, and live no longer than one translation.
"""

from __future__ import annotations

from typing import Any, Literal

from msgspec import Struct

from ullage.core.profiles.thinking import ThinkingLevel
from ullage.core.wire import Dialect

Speaker = Literal["user", "assistant", "system"]
ToolMode = Literal["auto", "none", "required", "tool"]
FormatKind = Literal["json", "schema"]
Mark = dict[str, Any]
"""A `cache_control` object of Anthropic, as it came."""


REDACTED = "redacted"
"""In place of an item's id: Anthropic's thinking that is a seal and nothing else."""


UNSIGNED = ("skip_thought_signature_validator", "context_engineering_is_the_way_to_go")
"""What Google lets a call have in place of another model's signature (its manual on thought signatures)."""


class Seal(Struct, frozen=True, kw_only=True, gc=False):
    """What lets a provider replay hidden reasoning: a signature or an encrypted copy. Only its owner can read it.

    `family` is the first word of the model's name (`claude`, `gpt`), empty where nobody said. `id` is the id of the item that
    it belongs to, which OpenAI asks back, or `REDACTED`.
    """

    owner: Dialect
    data: str
    family: str = ""
    id: str = ""


class Text(Struct, frozen=True, kw_only=True, gc=False):
    """Prose."""

    text: str
    mark: Mark | None = None


class Media(Struct, frozen=True, kw_only=True, gc=False):
    """A picture or a document: base64 `data` of a media type, or a `url`. `name` is a file's name or title."""

    kind: Literal["image", "document"]
    mime: str = ""
    data: str = ""
    url: str = ""
    name: str = ""
    detail: str = ""
    mark: Mark | None = None


class Reasoning(Struct, frozen=True, kw_only=True, gc=False):
    """Thinking of the model: a readable text, a seal, or both."""

    text: str = ""
    seal: Seal | None = None


class Refusal(Struct, frozen=True, kw_only=True, gc=False):
    """The model's own words of refusal, which OpenAI keeps apart from its text."""

    text: str


class Call(Struct, frozen=True, kw_only=True, gc=False):
    """A tool call. `arguments` is JSON text, or the free input of a `custom` tool."""

    id: str
    name: str
    arguments: str
    custom: bool = False
    mark: Mark | None = None


class Result(Struct, frozen=True, kw_only=True, gc=False):
    """What a tool said. `name` is that of the tool, where it is known."""

    id: str
    name: str = ""
    parts: tuple[Text | Media, ...] = ()
    is_error: bool = False
    custom: bool = False
    mark: Mark | None = None


Part = Text | Media | Reasoning | Refusal | Call | Result


class Message(Struct, frozen=True, kw_only=True, gc=False):
    """One message. Results stand in messages of the user."""

    role: Speaker
    parts: tuple[Part, ...]


class Tool(Struct, frozen=True, kw_only=True):
    """A tool that the client runs. `schema` is decoded JSON schema; a `custom` tool has a grammar (`format`) in its place."""

    name: str
    description: str = ""
    schema: dict[str, Any] | None = None
    strict: bool | None = None
    custom: bool = False
    format: Any = None
    mark: Mark | None = None


class ToolChoice(Struct, frozen=True, kw_only=True):
    """Whether tools may, must or must not be called; `name` of the one that must be; `allowed` are all that may be."""

    mode: ToolMode = "auto"
    name: str = ""
    allowed: tuple[str, ...] = ()


class AnswerFormat(Struct, frozen=True, kw_only=True):
    """The answer is to be JSON, perhaps of a schema."""

    kind: FormatKind
    schema: dict[str, Any] | None = None
    name: str = ""
    description: str = ""
    strict: bool | None = None


class Effort(Struct, frozen=True, kw_only=True):
    """How much the model is to think. `level` is `None` where the client wants thinking and leaves the amount to the model.

    `shown` says whether the client asked to see it.
    """

    level: ThinkingLevel | None = None
    shown: bool = False


class Sampling(Struct, frozen=True, kw_only=True):
    """What bears on the choice of the next token, and when to stop. `None` is what the client did not say."""

    max_tokens: int | None = None
    temperature: float | None = None
    top_p: float | None = None
    top_k: int | None = None
    stop: tuple[str, ...] = ()
    frequency_penalty: float | None = None
    presence_penalty: float | None = None
    seed: int | None = None


class Request(Struct, frozen=True, kw_only=True):
    """A request in no dialect. `system` is what stands before the conversation; later system messages stay messages.

    `parallel_tools` is `None` where the client did not say. `user` is an id of the client's user. `namespaces` holds the
    namespace and the member of each tool that stands in one.
    """

    system: tuple[Text, ...] = ()
    messages: tuple[Message, ...] = ()
    tools: tuple[Tool, ...] = ()
    tool_choice: ToolChoice | None = None
    parallel_tools: bool | None = None
    format: AnswerFormat | None = None
    effort: Effort | None = None
    sampling: Sampling = Sampling()
    stream: bool = False
    user: str = ""
    verbosity: str = ""
    cache_key: str = ""
    namespaces: dict[str, tuple[str, str]] = {}
