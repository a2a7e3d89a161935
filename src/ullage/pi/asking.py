"""What the extension says to the daemon: one record for each route below `/ullage/v1/pi/`. JSON is snake_case, as elsewhere."""

from __future__ import annotations

from typing import Any

from msgspec import Raw, Struct, field

from .messages import Tool

PROTOCOL = 1
"""Raised when an older extension and a newer daemon, or the other way round, would not understand each other."""


class Model(Struct, frozen=True, kw_only=True):
    """A model as Pi knows it. Prices are USD per million tokens; 0 or `None` says nothing."""

    provider: str
    id: str
    api: str = ""
    base_url: str = ""
    context_window: int | None = None
    max_tokens: int | None = None
    reasoning: bool = False
    images: bool = False
    levels: dict[str, str | None] = {}
    input: float | None = None
    output: float | None = None
    cache_read: float | None = None
    cache_write: float | None = None

    @property
    def target(self) -> str:
        """`provider/model`."""
        return f"{self.provider}/{self.id}"

    @property
    def root(self) -> str:
        """The address of its provider, without the version of an API."""
        return self.base_url.rstrip("/").removesuffix("/v1")


class Teller(Struct, frozen=True, kw_only=True):
    """Who says something: a session of Pi, and which of the programs that may have it open at once."""

    session: str
    process: int = 0

    @property
    def teller(self) -> tuple[str, int]:
        """What tells it from others."""
        return self.session, self.process


class Hello(Teller, frozen=True, kw_only=True):
    """A session begins in Pi, in the folder `cwd`. `models` are those that Pi may use: what its scope holds, else what it has
    credentials for."""

    protocol: int
    version: str
    cwd: str = ""
    models: tuple[Model, ...] = ()


class Update(Teller, frozen=True, kw_only=True):
    """What is new in a conversation: its first `known` messages are those that were said before, the last of which has the key
    `last`; then come `messages` with their `keys`. `prompt` and `tools` are there where they changed; so are `labels`, by the
    keys of the messages that they are on, and `places`: which of the entries named by the answer to `Kept` are on the branch."""

    known: int = 0
    last: str = ""
    keys: tuple[str, ...] = ()
    messages: tuple[Raw, ...] = ()
    prompt: str | None = None
    tools: tuple[Tool, ...] | None = None
    labels: dict[str, str] | None = None
    places: tuple[str, ...] | None = None


class Context(Update, frozen=True, kw_only=True):
    """A request that Pi is about to make of `model`, or, where it is `routed`, of whichever is chosen among those that were told
    of when the session began. `reason` is Pi's own word: `direct` is an errand, that is no part of the conversation; `errand`
    says which: `compaction` or `branch_summary`."""

    model: Model
    pi: str = ""
    cwd: str = ""
    parent: str = ""
    routed: bool = False
    reason: str = "user"
    errand: str = ""


class Answer(Struct, frozen=True, kw_only=True):
    """How a request ended. `message` is Pi's, with its usage; `status` and `headers` are the provider's, where there were any."""

    id: str
    message: dict[str, Any]
    status: int | None = None
    headers: dict[str, str] = field(default_factory=dict)
    first_ms: float | None = None
    lasted_ms: float | None = None


class Payload(Struct, frozen=True, kw_only=True):
    """The body that is about to leave for a model's provider."""

    model: Model
    payload: Raw


class Clear(Struct, frozen=True, kw_only=True):
    """Messages that Pi is about to have summarised by one of these models, which one is not known yet."""

    models: tuple[Model, ...]
    messages: tuple[Raw, ...]


class Custom(Struct, frozen=True, kw_only=True):
    """An entry that another extension has left in a session's file, in Pi's words."""

    custom_type: str
    data: Any = None


class Kept(Struct, frozen=True, kw_only=True):
    """The changes to pins and memories that a session's file in Pi holds, as they were told of before, and those of DS4 among its
    `custom` entries, in the order of the file, whoever wrote it. `trusted`: Pi trusts the folder that it is in."""

    session: str
    cwd: str = ""
    trusted: bool = True
    entries: tuple[Any, ...] = ()
    custom: tuple[Custom, ...] = ()


class Activate(Struct, frozen=True, kw_only=True):
    """The model that stands for others was selected by hand in this session."""

    session: str


class RouteQuestion(Struct, frozen=True, kw_only=True):
    """Another extension asks which of these models a prompt should go to. `context_tokens` are those before the prompt."""

    models: tuple[Model, ...]
    prompt: str
    context_tokens: int = 0
    images: int = 0
    policy: str = "balanced"


class Panel(Update, frozen=True, kw_only=True):
    """The screen of what fills the context is to be drawn. `used` are the tokens of the newest answer, where there is one."""

    model: Model
    width: int = 80
