"""Heuristics as people write them: how many characters make a token, for whom, and how a tool is written out to be counted.

These are settings records too: `[accounting.profiles.*]`, `[accounting.tool_shapes.*]`, `[accounting.defaults]` and
`[[accounting.rules]]` hold them under the same names.
"""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import Meta, Struct

# No text has a million characters in a token: what is larger, infinity with it, is a mistake.
Denominator = Annotated[float, Meta(gt=0, le=1_000_000)]

Label = Annotated[str | None, Meta(description="Name of the counting rule, as the views show it.")]
TextDenominator = Annotated[
    Denominator | None, Meta(description="Characters in a token of the system prompt, instruction files and skills.")
]
SessionDenominator = Annotated[
    Denominator | None, Meta(description="Characters in a token of messages and tool outputs.")
]
ToolDenominator = Annotated[Denominator | None, Meta(description="Characters in a token of tool definitions.")]
ToolNumerator = Annotated[
    str | None, Meta(description="How a tool is written out to be counted: a built-in shape or one of `tool_shapes`.")
]
ProfileName = Annotated[str | None, Meta(description="A profile of `profiles` that is applied first.")]


class Profile(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A way of counting under a name. A field that is not set leaves what was there."""

    label: Label = None
    text_denominator: TextDenominator = None
    session_denominator: SessionDenominator = None
    tool_denominator: ToolDenominator = None
    tool_numerator: ToolNumerator = None


class Defaults(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What counts for models that no built-in row knows."""

    profile: ProfileName = None
    text_denominator: TextDenominator = None
    session_denominator: SessionDenominator = None
    tool_denominator: ToolDenominator = None
    tool_numerator: ToolNumerator = None


class Match(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Whom a rule is for: all patterns that are given must fit, and none fits everyone.

    A pattern is a name in any case, a glob with `*` or `?`, or a regular expression between slashes with flags behind.
    """

    provider: Annotated[str | None, Meta(description="Pattern of the provider's name.")] = None
    model: Annotated[str | None, Meta(description="Pattern of the model's id.")] = None
    id: Annotated[str | None, Meta(description="The same as `model`.")] = None
    api: Annotated[str | None, Meta(description="Pattern of the dialect's name, ours or Pi's.")] = None


class Rule(Profile, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Fields for the models that it matches: those of a profile, then its own."""

    profile: ProfileName = None
    match: Annotated[Match, Meta(description="Whom the rule is for.")] = Match()


class ToolShape(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A shape of tool definitions that is not built in: a template, or another shape under a new name."""

    label: Annotated[str | None, Meta(description="Name of the shape, as the views show it.")] = None
    denominator: Annotated[
        Denominator | None, Meta(description="Characters in a token; wins over every `tool_denominator`.")
    ] = None
    url: Annotated[str | None, Meta(description="Where the shape is described; kept for readers.")] = None
    reference_url: Annotated[str | None, Meta(description="The same as `url`.")] = None
    shape: Annotated[str | None, Meta(description="Another shape that this one stands for.")] = None
    template: Annotated[
        Any, Meta(description="One tool as the provider is sent it, with placeholders; a table, or JSON as text.")
    ] = None


class Heuristics(Struct, frozen=True, kw_only=True):
    """Everything that a user and a project have set about counting. Rules are in order: a later one wins."""

    profiles: dict[str, Profile] = {}
    tool_shapes: dict[str, ToolShape] = {}
    defaults: Defaults = Defaults()
    rules: tuple[Rule, ...] = ()


NO_HEURISTICS = Heuristics()


class Row(Struct, frozen=True, kw_only=True):
    """One built-in row.

    `who` is searched in `provider/model`, `provider` in the provider, `model` in the model id, all lower case; `dialects` must
    hold the dialect, `ids` the end of the model id from a separator on. Those given must all fit. `whom` says it in words where
    patterns do; `source` says where the numbers are from.
    """

    label: str | None = None
    who: str | None = None
    provider: str | None = None
    model: str | None = None
    dialects: tuple[str | None, ...] = ()
    ids: frozenset[str] = frozenset()
    text_denominator: float | None = None
    session_denominator: float | None = None
    tool_denominator: float | None = None
    tool_numerator: str | None = None
    whom: str = ""
    source: str


class Table(Struct, frozen=True, kw_only=True):
    """Built-in rows of one inspector. The first row of `texts` that fits gives label, text and session denominator, the first of
    `tools` the tool numerator and denominator: whose tokenizer it is and which wire it goes over are separate facts."""

    texts: tuple[Row, ...]
    tools: tuple[Row, ...]
