"""Gemini and Gemma. Gemma's vocabulary counts Gemini's text to the token; of a declaration its strings are counted."""

from __future__ import annotations

from msgspec.structs import replace

from ullage.core.profiles.records import Family, Framing, ImageRule, SchemaRule, SealedRule, ToolRule

_FLAT = ImageRule(kind="flat", base=258, unknown_low=258, unknown=258, unknown_high=258)
_CROPS = ImageRule(kind="crops", unknown_low=258, unknown=1_290, unknown_high=3_354)
_GEMINI_3_IMAGES = ImageRule(kind="flat", base=1_100, unknown_low=258, unknown=1_100, unknown_high=1_120)

_GEMINI = Family(
    id="gemini",
    label="gemma3, Gemini 2.5",
    model=r"gemini",
    fitted=("gemini",),
    vocabulary="gemma3",
    framing=Framing(system=1, user=1, assistant=1),
    tools=ToolRule(shape="python"),
    schema=SchemaRule(),
    sealed=SealedRule(ratio=0.0),
    images=_FLAT,
    page_low=258,
    page=258,
    page_high=258,
)
_VERTEX = replace(
    _GEMINI,
    id="gemini-vertex",
    label="gemma3, Vertex",
    provider=r"vertex",
    fitted=("gemini-vertex",),
    framing=Framing(),
    tools=ToolRule(shape="strings"),
)
GEMINI = (
    replace(
        _VERTEX, id="gemini-3-vertex", model=r"gemini-3", fitted=("gemini-vertex", "gemini-3-vertex"), images=_GEMINI_3_IMAGES
    ),
    _VERTEX,
    replace(
        _GEMINI, id="gemini-2.0", label="gemma3, Gemini up to 2.0", model=r"gemini-(?:1|2\.0)", fitted=("gemini-2.0",),
        framing=Framing(), tools=ToolRule(shape="strings"), images=_CROPS,
    ),
    replace(
        _GEMINI, id="gemini-3", label="gemma3, Gemini 3", model=r"gemini-(?:3|(?:flash|pro|flash-lite)-latest)",
        fitted=("gemini", "gemini-3"),
        tools=ToolRule(shape="marked"), sealed=SealedRule(always=True), images=_GEMINI_3_IMAGES,
    ),
    _GEMINI,
    replace(
        _GEMINI, id="gemma", label="gemma3", model=r"gemma", fitted=("gemma",),
        framing=Framing(base=4, user=5, assistant=5), tools=ToolRule(shape="marked"),
    ),
)  # fmt: skip
