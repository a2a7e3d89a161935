"""Claude, on every upstream.

Ratios to o200k: 4.4 over 3.8 characters a token for prose (accounting specification, section 4.2), 1.245 measured on growth and
1.6 for the newer vocabulary (24). The tool block is the vendor's table (7). The rest is fitted.
"""

from __future__ import annotations

from msgspec.structs import replace

from ullage.core.profiles.records import Family, Framing, Growth, ImageRule, SchemaRule, SealedRule, ToolRule

from .patterns import END

_IMAGES = ImageRule(
    kind="patches", unit=28, edge=1_568, cap=1_568, base=3, unknown_low=4, unknown=1_200, unknown_high=1_571
)
_LARGE_IMAGES = replace(_IMAGES, edge=2_576, cap=4_784, unknown_high=4_787)

_OLD = Family(
    id="claude",
    label="Anthropic heuristic",
    who="claude|anthropic",
    fitted=("claude", "claude-old"),
    prose=1.16,
    dense=1.245,
    error=0.1,
    framing=Framing(base=5),
    tools=ToolRule(shape="anthropic", block=313, block_forced=315),
    schema=SchemaRule(ratio=1.0),
    sealed=SealedRule(ratio=0.0),
    images=_IMAGES,
    page_low=1_500,
    page=2_500,
    growth=Growth(k=1.245, b=1.0, a=11.5, error=0.05),
)
_NEW = replace(
    _OLD,
    id="claude-4.7",
    label="Claude 4.7+ heuristic",
    fitted=("claude", "claude-new"),
    prose=1.6,
    dense=1.6,
    images=_LARGE_IMAGES,
    growth=Growth(k=1.6, b=1.0, a=4.0, error=0.05),
)


def _row(base: Family, suffix: str, model: str, block: int, forced: int, *fitted: str) -> Family:
    tools = replace(base.tools, block=block, block_forced=forced)
    return replace(base, id=f"{base.id}{suffix}", model=model, tools=tools, fitted=(*base.fitted, *fitted))


_45 = replace(_OLD, id="claude-4.5", label="Claude 4.5/4.6 heuristic")
CLAUDE = (
    _row(_NEW, "-opus-4.7", rf"opus-4[-.]7{END}", 675, 804, "claude-opus-4.7"),
    _row(_NEW, "-sonnet-5", rf"sonnet-5{END}", 354, 474),
    _row(_NEW, "-opus-5", rf"opus-5{END}", 286, 410),
    _row(_NEW, "", rf"(?:opus|sonnet|haiku|fable|mythos)-(?:5|4[-.][789]){END}", 290, 410),
    _row(_45, "-opus-4.6", rf"opus-4[-.]6{END}", 497, 589, "claude-4.6", "claude-opus-4.6"),
    _row(_45, "-4.6", rf"4[-.]6{END}", 497, 589, "claude-4.6"),
    _row(_45, "", rf"4[-.]5{END}", 496, 588),
    replace(
        _row(_OLD, "-3.7-databricks", r"3[-.]7", 346, 313, "claude-3", "claude-databricks"), provider=r"databricks"
    ),
    _row(_OLD, "-3.7", r"3[-.]7", 346, 313, "claude-3"),
    _row(_OLD, "-haiku-3.5", r"3[-.]5-haiku", 264, 355, "claude-3"),
    _row(_OLD, "-sonnet-3.5-v1", r"3[-.]5-sonnet-20240620", 294, 261, "claude-3"),
    _row(_OLD, "-sonnet-3.5", r"3[-.]5-sonnet", 346, 313, "claude-3"),
    _row(_OLD, "-opus-3", r"3-opus", 530, 281, "claude-3"),
    _row(_OLD, "-sonnet-3", r"3-sonnet", 159, 235, "claude-3"),
    _row(_OLD, "-haiku-3", r"3-haiku", 264, 340, "claude-3"),
    _OLD,
)  # fmt: skip
