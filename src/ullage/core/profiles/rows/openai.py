"""OpenAI's models. Text is exact to the token (accounting specification, section 6), tools are declarations (5.3)."""

from __future__ import annotations

from msgspec.structs import replace

from ullage.core.profiles.records import Family, Framing, Growth, ImageRule, SchemaRule, SealedRule, ToolRule

from .patterns import END, END_OF_MAJOR, NO_IMAGES_KNOWN, START

_TILES = ImageRule(kind="tiles", base=85, per_tile=170, low=85, unknown_low=85, unknown=765, unknown_high=1_445)
_PATCHES = ImageRule(
    kind="patches", unit=32, cap=1_536, unknown_low=1, unknown=1_000, unknown_high=1_843, multiplier=1.2
)
_MINI_TILES = replace(
    _TILES, base=2_833, per_tile=5_667, low=2_833, unknown_low=2_833, unknown=8_500, unknown_high=48_169
)


def _patches(multiplier: float) -> ImageRule:
    return replace(_PATCHES, multiplier=multiplier, unknown_high=round(1_536 * multiplier))


_EXACT = Growth(k=1.0, b=1.0, a=12.0, error=0.02)
_GPT_4O = Family(
    id="gpt-4o",
    label="o200k_base, gpt-4o line",
    model=rf"{START}(?:chatgpt-4o|gpt-4o|gpt-4\.1|gpt-4\.5)",
    fitted=("openai", "gpt-4o"),
    framing=Framing(base=3, system=4, user=4, assistant=4, name_again=1, name=1),
    tools=ToolRule(shape="declaration", style="flat"),
    schema=SchemaRule(ratio=1.0, named=True, dropped=("additionalProperties",), dropped_below=("required",)),
    images=_TILES,
    growth=_EXACT,
    sealed_thinking=True,
)
_GPT_5 = replace(
    _GPT_4O,
    id="gpt-5",
    label="o200k_base, gpt-5 line and o-series",
    model=rf"{START}(?:gpt-(?:[5-9]|[1-9]\d)|o[1-9]|codex-|computer-use)",
    fitted=("openai", "gpt-5"),
    framing=Framing(base=2, system=4, user=4, assistant=6, name_again=1, name=1),
    tools=ToolRule(shape="declaration", style="lined"),
    images=_patches(1.2),
)
_RESPONSES = ("openai-responses",)


def _responses(chat: Family) -> Family:
    fitted = (*chat.fitted, f"{chat.fitted[1]}-responses")
    return replace(chat, id=f"{chat.id}-responses", dialects=_RESPONSES, fitted=fitted)


def _variant(base: Family, suffix: str, model: str, images: ImageRule) -> tuple[Family, Family]:
    chat = replace(base, id=f"{base.id}{suffix}", model=model, images=images)
    return _responses(chat), chat


_GPT_4 = Family(
    id="gpt-4",
    label="cl100k_base",
    model=rf"{START}gpt-(?:3\.5|35|4){END_OF_MAJOR}",
    fitted=("openai", "gpt-4"),
    vocabulary="cl100k_base",
    framing=Framing(base=3, system=4, user=4, assistant=4, name=1),
    # A tool that the choice names costs 4 and its name (20).
    tools=ToolRule(shape="declaration", style="legacy", named=4),
    images=_TILES,
    growth=_EXACT,
)
# The first one took a token more for a message and left the role out beside a name (the vendor's cookbook).
_GPT_35_0301 = replace(
    _GPT_4,
    id="gpt-3.5-0301",
    model=r"gpt-3\.5-turbo-0301",
    framing=replace(_GPT_4.framing, system=5, user=5, assistant=5, name=-1),
)
_GPT_OSS = Family(
    id="gpt-oss",
    label="o200k_base, gpt-oss",
    model=r"gpt-oss",
    fitted=("gpt-oss",),
    framing=Framing(base=2, prefix=61, system=8, user=4, assistant=6, name_again=1),
    tools=ToolRule(shape="declaration", style="lined"),
    sealed=SealedRule(ratio=0.0),
    images=NO_IMAGES_KNOWN,
    growth=_EXACT,
    strips_thinking=True,
)
# The aggregator speaks Responses with the gpt-5 line, whatever its clients speak (counted).
_GPT_5_OPENROUTER = replace(_responses(_GPT_5), id="gpt-5-openrouter", provider=r"openrouter", dialects=())
OPENAI = (
    _GPT_35_0301,
    _GPT_4,
    *_variant(_GPT_4O, "-mini", rf"{START}gpt-4o-mini", _MINI_TILES),
    *_variant(_GPT_4O, "-4.1-mini", rf"{START}gpt-4\.1-mini", _patches(1.62)),
    *_variant(_GPT_4O, "-4.1-nano", rf"{START}gpt-4\.1-nano", _patches(2.46)),
    _responses(_GPT_4O),
    _GPT_4O,
    _GPT_OSS,
    _GPT_5_OPENROUTER,
    *_variant(_GPT_5, "-mini", rf"{START}gpt-5(?:\.\d+)?-mini", _patches(1.2)),
    *_variant(_GPT_5, "-nano", rf"{START}gpt-5(?:\.\d+)?-nano", _patches(1.5)),
    *_variant(_GPT_5, "-o4-mini", rf"{START}o4-mini", _patches(1.72)),
    *_variant(_GPT_5, "-o1", rf"{START}o[13]{END}", _TILES),
    *_variant(_GPT_5, "-tiles", rf"{START}gpt-5{END_OF_MAJOR}", replace(_TILES, base=70, per_tile=140, low=70)),
    _responses(_GPT_5),
    _GPT_5,
    replace(
        _responses(_GPT_5), id="openai", label="OpenAI heuristic", model=None, provider=r"^(?:openai|azure)(?!.*compat)",
        dialects=(), error=0.1,
    ),
)  # fmt: skip
