"""What is known of a family of models, as plain data: which tokens its text makes and what stands around the text."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

ToolShape = Literal["declaration", "anthropic", "openai-chat", "strings", "python", "marked"]
"""How a tool definition reaches the model: OpenAI's declaration, a JSON payload, only its strings, or one of Gemini's notations,
which calls and results are written in too."""

DeclarationStyle = Literal["lined", "flat", "legacy"]
"""Which line of OpenAI's models a declaration is written for: gpt-5 and o-series, gpt-4o, gpt-3.5 and gpt-4."""

ImageKind = Literal["patches", "rows", "rounded", "tiles", "squares", "crops", "area", "flat", "unknown"]


class ImageRule(Struct, frozen=True, kw_only=True):
    """Tokens of a picture from its size in pixels (accounting specification, section 7).

    `patches`: squares of `unit` pixels, scaled down first to `edge` pixels on the long side and `cap` patches; each costs
    `multiplier`, plus `base` once. `rows`: patches, and one more token at the end of each row of them. `rounded`: sides rounded
    to whole squares, four at least. `tiles`: `base` plus `per_tile` for each 512-pixel tile after scaling into 2,048 squared and
    768 on the short side; `low` for low detail. `squares`: `per_tile` for each square of `unit` pixels, and for one more, the
    whole picture, if there are several; `cap` squares at most. `crops`: Gemini's 258 a crop. `area`: pixels over `unit` squared.
    `flat`: `base`. `unknown_low`, `unknown`, and `unknown_high` are what is shown when the size is not known.
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

    `base` opens the request and the answer; `prefix` is hidden text of the vendor, `no_system` more of it where the request has
    no system prompt; `thinking` is added when thinking is on with a budget, `adaptive` when the model chooses, `task_budget` when
    the whole task has one. The others stand
    around one message of that kind, one tool call and one tool result; `name_again` is how often a called tool's name stands
    beside its result too, `parallel` is added for each further call made at once with another. `name` is added to the tokens of
    a speaker's name that is not the role's own word; `None` where names are not shown to the model.
    """

    base: int = 0
    prefix: int = 0
    no_system: int = 0
    thinking: int = 0
    adaptive: int = 0
    task_budget: int = 0
    system: int = 0
    user: int = 0
    assistant: int = 0
    call: int = 0
    result: int = 0
    name_again: int = 0
    parallel: int = 0
    name: int | None = None


class ToolRule(Struct, frozen=True, kw_only=True):
    """Cost of tool definitions.

    `block` comes once with the first tool, `block_forced` in its place if the choice names or demands a tool. To the block are
    added: `beside_system` if there is a system prompt, `serial` if parallel calls are forbidden, `deferred` if some tools wait to
    be loaded, and where `named` is given and the choice names a tool, `named` and the name's tokens. `block_inline` comes with
    each item of the conversation that defines tools. `none_hides` is true where a choice of none keeps the tools from the model.

    A tool costs its shape's tokens times `ratio`, plus `each`, plus `per_property` for every property at any depth, plus `bare`
    if it has no description. A tool with a grammar costs its JSON times `ratio`, plus `grammar`. `style` is of declarations.
    `error` is the relative error of the rule.
    """

    shape: ToolShape
    style: DeclarationStyle = "lined"
    block: int = 0
    block_forced: int | None = None
    serial: int = 0
    deferred: int = 0
    block_inline: int = 0
    beside_system: int = 0
    named: int | None = None
    none_hides: bool = False
    ratio: float = 1.0
    each: int = 0
    per_property: int = 0
    bare: int = 0
    grammar: int = 40
    error: float = 0.15


class SchemaRule(Struct, frozen=True, kw_only=True):
    """Cost of an output schema: `block`, its name if `named`, and its JSON's tokens times `ratio`.

    The keys in `dropped` are left out of it, those in `dropped_below` below its own level; `described` comes on top if a
    description stands beside it. A ratio and a block of 0 mean that the provider counts none.
    """

    block: int = 0
    ratio: float = 0.0
    named: bool = False
    dropped: tuple[str, ...] = ()
    dropped_below: tuple[str, ...] = ()
    described: int = 0
    error: float = 0.2


class SealedRule(Struct, frozen=True, kw_only=True):
    """Cost of hidden reasoning that is replayed sealed: `ratio` a character of the seal plus `base` for each, never below 0.

    A ratio of 0 means that the provider counts none; `None` that nothing is known. `always` means that seals of earlier turns are
    read too, where earlier thinking is not.
    """

    ratio: float | None = None
    base: int = 0
    always: bool = False


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

    `fitted` names the groups of measured constants that stand in the row, later ones above earlier ones; the first is what its
    error is reported under. `strips_thinking` is true where the template cuts readable thinking out of earlier answers.
    `sealed_thinking` is true where thinking comes back as sealed items: its readable summary is not part of the prompt.
    """

    id: str
    label: str
    who: str | None = None
    model: str | None = None
    provider: str | None = None
    dialects: tuple[str, ...] = ()
    fitted: tuple[str, ...] = ()
    vocabulary: str = "o200k_base"
    prose: float = 1.0
    dense: float = 1.0
    error: float = 0.0
    framing: Framing = Framing()
    tools: ToolRule = ToolRule(shape="openai-chat")
    schema: SchemaRule = SchemaRule()
    sealed: SealedRule = SealedRule()
    images: ImageRule
    page_low: int = 300
    page: int = 1_500
    page_high: int = 4_600
    growth: Growth = Growth()
    strips_thinking: bool = False
    sealed_thinking: bool = False
