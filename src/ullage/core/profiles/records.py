"""What is known of a family of models, as plain data: which tokens its text makes and what stands around the text."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

ToolShape = Literal["render", "anthropic", "openai-chat", "strings"]
"""How a tool definition reaches the model: OpenAI's declaration, a JSON payload, or only its strings."""

ImageKind = Literal["patches", "tiles", "crops", "flat", "unknown"]


class ImageRule(Struct, frozen=True, kw_only=True):
    """Tokens of a picture from its size in pixels (accounting specification, section 7).

    `patches`: squares of `unit` pixels, scaled down first to `edge` pixels on the long side and `cap` patches; each costs
    `multiplier`, plus `base` once. `tiles`: `base` plus `per_tile` for each 512-pixel tile after scaling into 2,048 squared and
    768 on the short side; `low` for low detail. `crops`: Gemini's 258 a crop. `flat`: `base`. `unknown_low`, `unknown`, and
    `unknown_high` are what is shown when the size is not known.
    """

    kind: ImageKind
    unit: int = 0
    edge: int = 0
    cap: int = 0
    multiplier: float = 1.0
    base: int = 0
    per_tile: int = 0
    low: int = 0
    unknown_low: int
    unknown: int
    unknown_high: int


class Framing(Struct, frozen=True, kw_only=True):
    """Tokens around the content of a request, none of which the client wrote.

    `base` opens the request and the answer; `prefix` is hidden text of the vendor; `thinking` is added when thinking is on. The
    others stand around one message of that kind, one tool call and one tool result. `name` is added to the tokens of a name that
    is not the role's own word; `None` where names are not shown to the model.
    """

    base: int = 0
    prefix: int = 0
    thinking: int = 0
    system: int = 0
    user: int = 0
    assistant: int = 0
    call: int = 0
    result: int = 0
    name: int | None = None


class ToolRule(Struct, frozen=True, kw_only=True):
    """Cost of tool definitions. `block` comes once with the first tool, `block_forced` if the choice names or demands a tool.

    A tool costs its shape's tokens times `ratio`, plus `each`, plus `per_property` for every property at any depth, plus `strict`
    if it is strict. `error` is the relative error of the rule.
    """

    shape: ToolShape
    block: int = 0
    block_forced: int | None = None
    ratio: float = 1.0
    each: int = 0
    per_property: int = 0
    strict: int = 0
    error: float = 0.15


class SchemaRule(Struct, frozen=True, kw_only=True):
    """Cost of an output schema: `block`, its name if `named`, and its JSON's tokens times `ratio` without the keys in `dropped`.

    A ratio of 0 means that the provider counts none.
    """

    block: int = 0
    ratio: float = 0.0
    named: bool = False
    dropped: tuple[str, ...] = ()
    error: float = 0.2


class Growth(Struct, frozen=True, kw_only=True):
    """Prior of the growth law (accounting specification, section 24): `k` tokens per o200k token of new text, `b` per output
    token, `a` once a call; `error` is the relative error of the growth."""

    k: float = 1.0
    b: float = 1.0
    a: float = 0.0
    error: float = 0.15


class Family(Struct, frozen=True, kw_only=True):
    """One tokenizer family. `who` is searched in `provider/model`, `model` in the model id, `provider` in the provider, all lower
    case; those given must all match, and `dialects`, if any, must hold the dialect. The first matching row wins.

    `vocabulary` counts the text; `prose` and `dense` turn its count into tokens of the family, for prose and for tool results,
    arguments and code; both are 1 and `error` is 0 where the vocabulary is the family's own. `error` is relative. `page_low`,
    `page` and `page_high` are the tokens of one page of a document.
    """

    id: str
    label: str
    who: str | None = None
    model: str | None = None
    provider: str | None = None
    dialects: tuple[str, ...] = ()
    vocabulary: str = "o200k_base"
    prose: float = 1.0
    dense: float = 1.0
    error: float = 0.0
    framing: Framing = Framing()
    tools: ToolRule = ToolRule(shape="openai-chat")
    schema: SchemaRule = SchemaRule()
    images: ImageRule
    page_low: int = 300
    page: int = 1_500
    page_high: int = 4_600
    growth: Growth = Growth()
    sealed_thinking: bool = False
    """Thinking comes back as sealed items: its readable summary is not part of the prompt."""
