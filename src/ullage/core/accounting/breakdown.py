"""What a context report says: sections that sum to the total, with the gap between them named and signed."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from ullage.core.profiles import ContentKind

TotalKind = Literal["usage", "estimate"]


class Item(Struct, frozen=True, kw_only=True):
    """One thing in a section that a person can act on: a tool, a skill, a kind of text. `count` is how many pieces it sums up.

    `state` is "deferred" or "inactive" for a tool that costs nothing yet; `loaded_tokens` is what it would cost.
    """

    name: str
    tokens: int
    low: int
    high: int
    chars: int = 0
    count: int = 1
    state: str | None = None
    loaded_tokens: int | None = None


class Section(Struct, frozen=True, kw_only=True):
    """One row. `chars` are code points; `method` names the rule behind most of its tokens; `detail` is what a view adds to it.

    `measured_share` is the part of its characters whose tokens were measured from usage, from 0 to 1; `None` if none could be.
    """

    id: str
    title: str
    tokens: int
    low: int
    high: int
    chars: int
    method: str
    items: tuple[Item, ...] = ()
    measured_share: float | None = None

    @property
    def exact(self) -> bool:
        """Whether the number came from the provider."""
        return self.method == "usage"


class Notice(Struct, frozen=True, kw_only=True):
    """Something that makes the numbers less than they seem. `code` is stable."""

    code: str
    message: str


class Heuristic(Struct, frozen=True, kw_only=True):
    """The denominators that made an inspector's numbers. `source` is the patch that had the last word: a built-in row's label,
    `defaults`, `profile:NAME` or a rule's label; `tools` is how tool definitions were counted, by a denominator or, if that is
    `None`, by a formula of its own."""

    label: str
    source: str
    text_denominator: float
    session_denominator: float
    tool_denominator: float | None
    tool_numerator: str
    tools: str


class Total(Struct, frozen=True, kw_only=True):
    """The prompt of a call: from the provider, or estimated by `method` within bounds.

    `content` is what made an estimate hard; `measured` says that the bounds come from payloads of the same kind and size that a
    provider counted, and not from a guess.
    """

    tokens: int
    low: int
    high: int
    kind: TotalKind
    method: str
    content: ContentKind = "text"
    measured: bool = True


class Field(Struct, frozen=True, kw_only=True):
    """One line of a tool's schema, `depth` levels in."""

    name: str
    type: str
    required: bool
    description: str
    depth: int


class ToolDetails(Struct, frozen=True, kw_only=True):
    """What a view shows of a tool beyond its cost."""

    description: str
    source: str | None
    fields: tuple[Field, ...] = ()


class Details(Struct, frozen=True, kw_only=True):
    """Words for the views, kept apart because a report holds none. `previews` are the first lines of a section's text."""

    tools: dict[str, ToolDetails] = {}
    skills: dict[str, str] = {}
    previews: dict[str, tuple[str, ...]] = {}


class Breakdown(Struct, frozen=True, kw_only=True):
    """A request, section by section: `sum(section.tokens) + gap == total.tokens`, always.

    `window` is the provider's limit where it is known; `output` is the last answer's, which is no part of the prompt.
    `heuristic` is there if characters were divided. `details` never leaves the process.
    """

    estimator: str
    family: str
    total: Total
    sections: tuple[Section, ...]
    gap: int
    window: int | None = None
    output: int | None = None
    source: str | None = None
    client: str | None = None
    session: str | None = None
    dialect: str | None = None
    provider: str | None = None
    model: str | None = None
    warnings: tuple[Notice, ...] = ()
    heuristic: Heuristic | None = None
    details: Details | None = None

    @property
    def ullage(self) -> int | None:
        """Tokens still free in the window; negative if it is overfull, `None` if the window is unknown."""
        return None if self.window is None else self.window - self.total.tokens
