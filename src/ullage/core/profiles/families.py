"""Tokenizer families as rows: the only place where model names stand.

Upstream, dialect and family are three separate facts; a row may ask for any of them. Sources: accounting specification, sections
4.2 (which ids belong together), 6 and 7 (framing, images, Claude's tool block), 24 (ratios, growth); what is marked "counted" is
the median over the payloads of section 23 that concern it, never a single payload.
"""

from __future__ import annotations

import re
from functools import lru_cache

from msgspec.structs import replace

from .records import Family, Framing, Growth, ImageRule, SchemaRule, ToolRule

# Digits of a version end here, so that a date behind a name is no minor version (accounting specification, section 4.2).
_END = r"(?=$|[-.:@])"
_END_OF_MAJOR = r"(?=$|[-:@])"
_START = r"(?:^|[/.@])"

_NO_IMAGES_KNOWN = ImageRule(kind="unknown", unknown_low=85, unknown=1_200, unknown_high=5_000)
_CLAUDE_IMAGES = ImageRule(
    kind="patches", unit=28, edge=1_568, cap=1_568, base=3, unknown_low=4, unknown=1_200, unknown_high=1_571
)
_CLAUDE_LARGE_IMAGES = replace(_CLAUDE_IMAGES, edge=2_576, cap=4_784, unknown_high=4_787)
_OPENAI_TILES = ImageRule(kind="tiles", base=85, per_tile=170, low=85, unknown_low=85, unknown=765, unknown_high=1_445)
_OPENAI_PATCHES = ImageRule(
    kind="patches", unit=32, cap=1_536, unknown_low=1, unknown=1_000, unknown_high=1_843, multiplier=1.2
)
_GEMINI_FLAT = ImageRule(kind="flat", base=258, unknown_low=258, unknown=258, unknown_high=258)
_GEMINI_CROPS = ImageRule(kind="crops", unknown_low=258, unknown=1_290, unknown_high=3_354)
_GEMINI_3_IMAGES = ImageRule(kind="flat", base=1_100, unknown_low=258, unknown=1_100, unknown_high=1_120)


def _openai_patches(multiplier: float) -> ImageRule:
    return replace(_OPENAI_PATCHES, multiplier=multiplier, unknown_high=round(1_536 * multiplier))


# --- Claude -------------------------------------------------------------------------------------------------------------------
# Ratios: 4.4 over 3.8 characters a token for prose (4.2), 1.245 measured on growth (24); 1.6 for the newer vocabulary. Tools:
# 3.48 characters a net token on 48,237 characters that o200k counts as 10.8k (17.1, 17.2), 7 more for each (counted).
_CLAUDE = Family(
    id="claude",
    label="Anthropic heuristic",
    who="claude|anthropic",
    prose=1.16,
    dense=1.245,
    error=0.10,
    framing=Framing(base=5, thinking=28, user=2, assistant=2, call=36, result=12),
    tools=ToolRule(shape="anthropic", block=313, block_forced=315, ratio=1.285, each=7, error=0.08),
    schema=SchemaRule(block=105, ratio=1.8),
    images=_CLAUDE_IMAGES,
    page_low=1_500,
    page=2_500,
    growth=Growth(k=1.245, b=1.0, a=11.5, error=0.05),
)
_CLAUDE_NEW = replace(
    _CLAUDE,
    id="claude-4.7",
    label="Claude 4.7+ heuristic",
    prose=1.6,
    dense=1.6,
    tools=replace(_CLAUDE.tools, ratio=1.6),
    images=_CLAUDE_LARGE_IMAGES,
    growth=Growth(k=1.6, b=1.0, a=4.0, error=0.05),
    framing=replace(_CLAUDE.framing, thinking=0),
)


def _claude(base: Family, suffix: str, model: str, block: int, forced: int, thinking: int | None = None) -> Family:
    framing = base.framing if thinking is None else replace(base.framing, thinking=thinking)
    tools = replace(base.tools, block=block, block_forced=forced)
    return replace(base, id=f"{base.id}{suffix}", model=model, tools=tools, framing=framing)


_CLAUDE_45 = replace(_CLAUDE, id="claude-4.5", label="Claude 4.5/4.6 heuristic")
_CLAUDE_ROWS = (
    _claude(_CLAUDE_NEW, "-opus-4.7", rf"opus-4[-.]7{_END}", 675, 804, 5),
    _claude(_CLAUDE_NEW, "-sonnet-5", rf"sonnet-5{_END}", 354, 474),
    _claude(_CLAUDE_NEW, "-opus-5", rf"opus-5{_END}", 286, 410),
    _claude(_CLAUDE_NEW, "", rf"(?:opus|sonnet|haiku|fable|mythos)-(?:5|4[-.][789]){_END}", 290, 410),
    _claude(_CLAUDE_45, "-4.6", rf"4[-.]6{_END}", 497, 589, 17),
    _claude(_CLAUDE_45, "", rf"4[-.]5{_END}", 496, 588),
    _claude(_CLAUDE, "-3.7", r"3[-.]7", 346, 313),
    _claude(_CLAUDE, "-haiku-3.5", r"3[-.]5-haiku", 264, 355),
    _claude(_CLAUDE, "-sonnet-3.5-v1", r"3[-.]5-sonnet-20240620", 294, 261),
    _claude(_CLAUDE, "-sonnet-3.5", r"3[-.]5-sonnet", 346, 313),
    _claude(_CLAUDE, "-opus-3", r"3-opus", 530, 281),
    _claude(_CLAUDE, "-sonnet-3", r"3-sonnet", 159, 235),
    _claude(_CLAUDE, "-haiku-3", r"3-haiku", 264, 340),
    _CLAUDE,
)  # fmt: skip

# --- OpenAI -------------------------------------------------------------------------------------------------------------------
# Text is exact to the token (6). A call and its result together: 14 tokens on the gpt-4o line, 22 on the gpt-5 line, 20 on chat
# (counted); Codex has 11 around a result. An output schema: its name and its JSON without additionalProperties (counted).
_OPENAI_EXACT = Growth(k=1.0, b=1.0, a=12.0, error=0.02)
_GPT_4O = Family(
    id="gpt-4o",
    label="o200k_base, gpt-4o line",
    model=rf"{_START}(?:chatgpt-4o|gpt-4o|gpt-4\.1|gpt-4\.5)",
    framing=Framing(base=3, system=4, user=4, assistant=4, call=7, result=7, name=1),
    tools=ToolRule(shape="render", block=15, error=0.06),
    schema=SchemaRule(block=-1, ratio=1.0, named=True, dropped=("additionalProperties",), error=0.1),
    images=_OPENAI_TILES,
    growth=_OPENAI_EXACT,
    sealed_thinking=True,
)
_GPT_5 = replace(
    _GPT_4O,
    id="gpt-5",
    label="o200k_base, gpt-5 line and o-series",
    model=rf"{_START}(?:gpt-(?:[5-9]|[1-9]\d)|o[1-9]|codex-|computer-use)",
    framing=Framing(base=2, system=4, user=4, assistant=6, call=11, result=11, name=1),
    # 14 for one strict tool, 15 for one that is not (6).
    tools=ToolRule(shape="render", block=15, strict=-1, error=0.06),
    images=_openai_patches(1.2),
)
_RESPONSES = ("openai-responses",)
_GPT_4O_MINI_IMAGES = replace(
    _OPENAI_TILES, base=2_833, per_tile=5_667, low=2_833, unknown_low=2_833, unknown=8_500, unknown_high=48_169
)


def _variant(base: Family, suffix: str, model: str, images: ImageRule) -> tuple[Family, Family]:
    chat = replace(base, id=f"{base.id}{suffix}", model=model, images=images)
    return _responses(chat), chat


def _responses(chat: Family) -> Family:
    block = 9 if chat.id.startswith("gpt-4") else 15
    return replace(chat, id=f"{chat.id}-responses", dialects=_RESPONSES, tools=replace(chat.tools, block=block))


_GPT_5_CHAT = replace(
    _GPT_5, tools=replace(_GPT_5.tools, block=97), framing=replace(_GPT_5.framing, call=10, result=10)
)
_OPENAI_ROWS = (
    Family(
        id="gpt-4",
        label="cl100k_base",
        model=rf"{_START}gpt-(?:3\.5|35|4){_END_OF_MAJOR}",
        vocabulary="cl100k_base",
        framing=Framing(base=3, system=4, user=4, assistant=4, call=7, result=7, name=1),
        tools=ToolRule(shape="render", block=15, error=0.1),
        images=_OPENAI_TILES,
        growth=_OPENAI_EXACT,
    ),
    *_variant(_GPT_4O, "-mini", rf"{_START}gpt-4o-mini", _GPT_4O_MINI_IMAGES),
    *_variant(_GPT_4O, "-4.1-mini", rf"{_START}gpt-4\.1-mini", _openai_patches(1.62)),
    *_variant(_GPT_4O, "-4.1-nano", rf"{_START}gpt-4\.1-nano", _openai_patches(2.46)),
    _responses(_GPT_4O),
    _GPT_4O,
    Family(
        id="gpt-oss",
        label="o200k_base, gpt-oss",
        model=r"gpt-oss",
        # Hidden system text of 61 tokens, then as the gpt-5 line (counted 67 to 68 for one message).
        framing=Framing(base=2, prefix=61, system=8, user=4, assistant=6, call=11, result=11),
        tools=ToolRule(shape="render", block=32, error=0.15),
        images=_NO_IMAGES_KNOWN,
        growth=_OPENAI_EXACT,
    ),
    *_variant(_GPT_5_CHAT, "-mini", rf"{_START}gpt-5(?:\.\d+)?-mini", _openai_patches(1.2)),
    *_variant(_GPT_5_CHAT, "-nano", rf"{_START}gpt-5(?:\.\d+)?-nano", _openai_patches(1.5)),
    *_variant(_GPT_5_CHAT, "-o4-mini", rf"{_START}o4-mini", _openai_patches(1.72)),
    *_variant(_GPT_5_CHAT, "-o1", rf"{_START}o[13]{_END}", _OPENAI_TILES),
    *_variant(_GPT_5_CHAT, "-tiles", rf"{_START}gpt-5{_END_OF_MAJOR}", replace(_OPENAI_TILES, base=70, per_tile=140, low=70)),
    _responses(_GPT_5),
    _GPT_5_CHAT,
    replace(_GPT_5, id="openai", label="OpenAI heuristic", model=None, provider=r"^(?:openai|azure)(?!.*compat)", error=0.1),
)  # fmt: skip

# --- Gemini -------------------------------------------------------------------------------------------------------------------
# Gemma's vocabulary counts Gemini's text to the token (counted: 83 texts). The public API adds one a message from 2.5 on, and
# braces and keywords of declarations; Vertex and older models count the strings of a declaration only (counted).
_GEMINI = Family(
    id="gemini",
    label="gemma3, Gemini 2.5+",
    model=r"gemini",
    vocabulary="gemma3",
    error=0.01,
    framing=Framing(system=1, user=1, assistant=1, call=12, result=12),
    tools=ToolRule(shape="strings", each=18, per_property=8, error=0.15),
    images=_GEMINI_FLAT,
    page_low=258,
    page=258,
    page_high=258,
)
_GEMINI_STRINGS = replace(
    _GEMINI,
    id="gemini-vertex",
    label="gemma3, Vertex",
    provider=r"vertex",
    framing=Framing(call=1, result=1),
    tools=ToolRule(shape="strings", error=0.1),
)
_GEMINI_ROWS = (
    replace(_GEMINI_STRINGS, id="gemini-3-vertex", model=r"gemini-3", images=_GEMINI_3_IMAGES),
    _GEMINI_STRINGS,
    replace(
        _GEMINI_STRINGS,
        id="gemini-2.0",
        label="gemma3, Gemini up to 2.0",
        provider=None,
        model=r"gemini-(?:1|2\.0)",
        images=_GEMINI_CROPS,
    ),
    replace(
        _GEMINI, id="gemini-3", label="gemma3, Gemini 3", model=r"gemini-3", images=_GEMINI_3_IMAGES,
        tools=replace(_GEMINI.tools, each=14),
    ),
    _GEMINI,
    replace(_GEMINI, id="gemma", label="gemma3", model=r"gemma", framing=Framing(base=4, user=5, assistant=5), error=0.02),
)  # fmt: skip

# --- others -------------------------------------------------------------------------------------------------------------------
_OPEN = Family(
    id="open",
    label="open weights",
    framing=Framing(base=3, system=2, user=2, assistant=2, call=15, result=8),
    images=_NO_IMAGES_KNOWN,
    growth=Growth(k=1.015, b=0.95, a=12.0, error=0.05),
)


def _open(
    name: str, label: str, model: str, vocabulary: str, framing: Framing, tools: ToolRule, *, error: float = 0.01
) -> Family:
    return replace(
        _OPEN, id=name, label=label, model=model, vocabulary=vocabulary, framing=framing, tools=tools, error=error
    )


_KIMI_FRAMING = Framing(base=3, system=3, user=4, assistant=5, call=8, result=8)
_KIMI_TOOLS = ToolRule(shape="openai-chat", block=12, error=0.2)
_GLM_FRAMING = Framing(base=4, system=1, user=1, assistant=3, call=18, result=6)
_GLM_TOOLS = ToolRule(shape="openai-chat", block=105, ratio=1.1, error=0.2)
_QWEN_FRAMING = Framing(base=3, system=5, user=5, assistant=5, call=18, result=9)
_QWEN_TOOLS = ToolRule(shape="openai-chat", block=115, ratio=1.1, error=0.2)
_LLAMA_FRAMING = Framing(base=30, user=5, assistant=5, call=12, result=6)
_GROK_FRAMING = Framing(base=0, user=1, assistant=5, call=20, result=5)
_GROK = replace(
    _OPEN,
    id="grok",
    label="Grok heuristic",
    model=r"grok",
    prose=1.03,
    dense=1.03,
    error=0.08,
    framing=_GROK_FRAMING,
    tools=ToolRule(shape="openai-chat", block=150, ratio=0.9, error=0.15),
)
_OTHER_ROWS = (
    _open("kimi-k3", "Kimi tokenizer", r"kimi-k3|^k3(?:-256k)?$", "kimi_k3", _KIMI_FRAMING, _KIMI_TOOLS),
    _open("kimi-k2", "Kimi tokenizer", r"kimi-(?:k2|for-coding|linear)", "kimi_k2", _KIMI_FRAMING, _KIMI_TOOLS),
    _open("glm-5", "GLM 5 tokenizer", r"glm-?(?:5|4\.7-flash)", "glm4", _GLM_FRAMING, _GLM_TOOLS, error=0.02),
    _open("glm-4.5", "GLM 4.5 tokenizer", r"glm-?4", "glm4", _GLM_FRAMING, _GLM_TOOLS),
    # 13,798 and 13,120 tokens where GLM has 13,528 and o200k about 13,330 (17.9).
    replace(_OPEN, id="command-r", label="Command R tokenizer", model=r"command-r", prose=1.04, dense=1.15, error=0.05),
    replace(_OPEN, id="north", label="North Mini Code tokenizer", model=r"north-mini-code", prose=0.98, error=0.05),
    replace(
        _GROK,
        id="grok-4.3",
        label="Grok 4.20/4.3 tokenizer",
        model=r"grok-(?:4\.20|4\.3|build)",
        prose=0.99,
        dense=1.0,
        # A hidden text of 191 tokens (6); tools by the counted payloads.
        framing=replace(_GROK_FRAMING, prefix=191),
        tools=ToolRule(shape="openai-chat", block=27, ratio=1.13, error=0.15),
    ),
    replace(
        _GROK,
        id="grok-4.5",
        label="Grok 4.5 tokenizer",
        model=r"grok-4\.5",
        prose=1.02,
        dense=1.08,
        framing=replace(_GROK_FRAMING, prefix=191),
    ),
    _GROK,
    _open(
        "deepseek", "DeepSeek tokenizer", r"deepseek(?!.*distill)", "deepseek_v3",
        Framing(base=3, user=1, assistant=3, call=28, result=14),
        ToolRule(shape="openai-chat", block=225, ratio=1.05, error=0.08),
    ),
    replace(
        _OPEN, id="qwen-3.5", label="Qwen 3.5 tokenizer", model=r"qwen-?3\.5", prose=1.03, dense=1.05, error=0.06,
        framing=_QWEN_FRAMING, tools=_QWEN_TOOLS,
    ),
    _open("qwen-3", "Qwen 2.5/3 tokenizer", r"qwen", "qwen3", _QWEN_FRAMING, _QWEN_TOOLS, error=0.02),
    _open(
        "mistral-small", "Mistral tokenizer", r"mistral-small-(?:latest|26)", "mistral_v3",
        # The current small model opens with 12 tokens of settings (counted).
        Framing(base=1, prefix=12, system=2, user=2, assistant=1, call=3, result=3),
        ToolRule(shape="openai-chat", block=4, ratio=1.25, error=0.1),
    ),
    _open(
        "mistral", "Mistral tokenizer", r"(?:mis|minis|magis|devs)tral|pixtral|codestral", "mistral_v3",
        Framing(base=1, system=2, user=2, assistant=1, call=3, result=3),
        ToolRule(shape="openai-chat", block=4, ratio=1.25, error=0.15), error=0.03,
    ),
    # Hidden date lines of 25 tokens (6): 35 for one message.
    replace(
        _OPEN, id="llama-4", label="Llama 4 heuristic", model=r"llama-?4", prose=1.0, dense=1.02, error=0.04,
        framing=Framing(base=5, user=5, assistant=5, call=12, result=6),
        tools=ToolRule(shape="openai-chat", block=560, ratio=1.05, error=0.3),
    ),
    _open(
        "llama-3", "Llama 3 tokenizer", r"llama|hermes-3", "llama3", _LLAMA_FRAMING,
        ToolRule(shape="openai-chat", block=80, ratio=1.35, error=0.3),
    ),
    replace(
        _OPEN, id="nova-2", label="Nova 2 heuristic", model=r"nova-2", prose=1.02, dense=1.1, error=0.12,
        framing=Framing(base=0, prefix=46, call=30, result=10),
        tools=ToolRule(shape="anthropic", block=845, ratio=1.2, error=0.15),
    ),
    replace(
        _OPEN, id="nova", label="Nova heuristic", model=r"nova-", prose=1.0, dense=1.1, error=0.12,
        framing=Framing(call=20, result=10), tools=ToolRule(shape="anthropic", block=345, ratio=1.2, error=0.4),
    ),
)  # fmt: skip

UNKNOWN_FAMILY = Family(
    id="unknown",
    label="no family known: o200k_base as a guess",
    prose=1.05,
    dense=1.1,
    error=0.2,
    framing=Framing(base=3, system=4, user=4, assistant=4, call=10, result=8),
    tools=ToolRule(shape="openai-chat", block=15, error=0.4),
    images=_NO_IMAGES_KNOWN,
)
"""Used when no row matches, as for every alias whose target moves: nothing learned, a wide interval."""

FAMILIES: tuple[Family, ...] = (*_CLAUDE_ROWS, *_OTHER_ROWS, *_OPENAI_ROWS, *_GEMINI_ROWS)
"""All rows in the order in which they are tried."""


@lru_cache(maxsize=1024)
def find_family(provider: str | None, dialect: str | None, model: str | None) -> Family:
    """The first row that fits, else `UNKNOWN_FAMILY`. Names are compared in lower case."""
    provider, model = (provider or "").lower(), (model or "").lower()
    for family in FAMILIES:
        if _fits(family, provider, dialect or "", model):
            return family
    return UNKNOWN_FAMILY


def _fits(family: Family, provider: str, dialect: str, model: str) -> bool:
    wanted = ((family.who, f"{provider}/{model}"), (family.model, model), (family.provider, provider))
    if family.dialects and dialect not in family.dialects:
        return False
    return all(pattern is None or re.search(pattern, subject) for pattern, subject in wanted)
