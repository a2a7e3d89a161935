"""Everybody else: open weights wherever they are served, Grok, Mistral, Nova.

A vocabulary of the family's own counts the text; where there is none, a ratio to o200k stands (accounting specification, 17.9).
Templates of open weights leave the thinking of earlier answers out, and tools out where the choice is none.
"""

from __future__ import annotations

from msgspec.structs import replace

from ullage.core.profiles.records import Family, Framing, Growth, ImageRule, SealedRule, ToolRule

from .patterns import NO_IMAGES_KNOWN

_OPEN = Family(
    id="open",
    label="open weights",
    fitted=("open",),
    framing=Framing(base=3, system=2, user=2, assistant=2),
    tools=ToolRule(shape="openai-chat", none_hides=True),
    sealed=SealedRule(ratio=0.0),
    images=NO_IMAGES_KNOWN,
    growth=Growth(k=1.015, b=0.95, a=12.0, error=0.05),
    strips_thinking=True,
)
# Sides rounded to squares of 28 pixels, 4 to 16,384 of them, and a mark on both ends (the models' published processors).
_ROUNDED = ImageRule(kind="rounded", unit=28, cap=16_384, base=2, unknown_low=6, unknown=1_000, unknown_high=16_386)
# Patches and a mark at the end of each row: of 16 pixels in Pixtral, of 28 since Mistral Small 3.1 (the published processors).
_PIXTRAL = ImageRule(kind="rows", unit=16, edge=1_024, unknown_low=2, unknown=1_000, unknown_high=4_160)
_MISTRAL = replace(_PIXTRAL, unit=28, edge=1_540, unknown_high=3_080)
# Squares of 448 pixels at 256 tokens, six at most, and the whole picture once more (the vendor's documentation).
_GROK_IMAGES = ImageRule(
    kind="squares", unit=448, per_tile=256, cap=6, unknown_low=256, unknown=768, unknown_high=1_792
)
_LLAMA_4_IMAGES = ImageRule(
    kind="squares", unit=336, per_tile=145, cap=16, base=3, unknown_low=148, unknown=728, unknown_high=2_468
)
# What its pictures cost is not published: one token for about 29 by 29 pixels was counted.
_NOVA_2_IMAGES = ImageRule(kind="area", unit=29, unknown_low=100, unknown=400, unknown_high=2_600)
# The vendor's table begins at 800 for 900 by 450 pixels; a small picture was counted at 1,826.
_NOVA_IMAGES = ImageRule(kind="flat", base=1_826, unknown_low=800, unknown=1_826, unknown_high=2_600)


def _row(name: str, label: str, model: str, vocabulary: str, *, fitted: str | None = None) -> Family:
    groups = (fitted or name,)
    return replace(_OPEN, id=name, label=label, model=model, vocabulary=vocabulary, fitted=groups, error=0.01)


def _on(family: Family, provider: str, suffix: str) -> Family:
    """The row for one upstream, whose template differs."""
    fitted = (*family.fitted, f"{family.fitted[0]}-{suffix}")
    return replace(family, id=f"{family.id}-{suffix}", provider=provider, fitted=fitted)


_GROK = replace(
    _OPEN,
    id="grok",
    label="Grok heuristic",
    model=r"grok",
    fitted=("grok",),
    error=0.08,
    tools=ToolRule(shape="openai-chat"),
    sealed=SealedRule(always=True),
    images=_GROK_IMAGES,
    strips_thinking=False,
)
_GROK_43 = replace(
    _GROK,
    id="grok-4.3",
    label="Grok 4.20/4.3 tokenizer",
    model=r"grok-(?:4\.20|4\.3|build)",
    fitted=("grok", "grok-4.3"),
)
_GROK_45 = replace(_GROK_43, id="grok-4.5", label="Grok 4.5 tokenizer", model=r"grok-4\.5", fitted=("grok", "grok-4.5"))
_QWEN = _row("qwen-3", "Qwen 2.5/3 tokenizer", r"qwen", "qwen3")
_QWEN_VL = replace(
    _row("qwen-vl", "Qwen 2.5/3 tokenizer", r"qwen.*-vl", "qwen3", fitted="qwen-3"), images=_ROUNDED,
    fitted=("qwen-3", "qwen-vl"),
)  # fmt: skip
_GLM = _row("glm-4.5", "GLM 4.5 tokenizer", r"glm-?4", "glm4", fitted="glm")
_LLAMA_3 = replace(_row("llama-3", "Llama 3 tokenizer", r"llama|hermes-3", "llama3"), strips_thinking=True)
# 1.00 to 1.03 on growth (24).
_LLAMA_4 = replace(
    _OPEN, id="llama-4", label="Llama 4 heuristic", model=r"llama-?4", fitted=("llama-4",), dense=1.02, error=0.04,
    images=_LLAMA_4_IMAGES,
)  # fmt: skip
_MISTRAL_ROW = replace(
    _row("mistral", "Mistral tokenizer", r"(?:mis|minis|magis|devs)tral|codestral", "mistral_v3"),
    images=_MISTRAL, strips_thinking=False,
)  # fmt: skip
_NOVA = replace(
    _OPEN, id="nova", label="Nova heuristic", model=r"nova-", fitted=("nova",), error=0.12, images=_NOVA_IMAGES,
    tools=ToolRule(shape="anthropic"), strips_thinking=False,
)  # fmt: skip
OPEN_WEIGHTS = (
    _row("kimi-k3", "Kimi tokenizer", r"kimi-k3|^k3(?:-256k)?$", "kimi_k3", fitted="kimi"),
    _row("kimi-k2", "Kimi tokenizer", r"kimi-(?:k2|for-coding|linear)", "kimi_k2", fitted="kimi"),
    _row("glm-5", "GLM 5 tokenizer", r"glm-?(?:5|4\.7-flash)", "glm4", fitted="glm"),
    replace(_GLM, id="glm-vl", model=r"glm-?4\.\dv", images=_ROUNDED),
    _GLM,
    # 13,798 and 13,120 tokens where GLM has 13,528 and o200k about 13,330 (17.9).
    replace(_OPEN, id="command-r", label="Command R tokenizer", model=r"command-r", prose=1.04, dense=1.15, error=0.05),
    replace(_OPEN, id="north", label="North Mini Code tokenizer", model=r"north-mini-code", prose=0.98, error=0.05),
    _GROK_43,
    _GROK_45,
    _on(_GROK, r"^azure", "azure"),
    _GROK,
    replace(
        _row("deepseek-r1", "DeepSeek tokenizer", r"deepseek.*r1(?!.*distill)", "deepseek_v3", fitted="deepseek"),
        fitted=("deepseek", "deepseek-r1"),
    ),
    _row("deepseek", "DeepSeek tokenizer", r"deepseek(?!.*distill)", "deepseek_v3"),
    replace(_OPEN, id="qwen-3.5", label="Qwen 3.5 tokenizer", model=r"qwen-?3\.5", prose=1.03, dense=1.05, error=0.06),
    _QWEN_VL,
    replace(_QWEN, id="qwen-coder", model=r"qwen-?3-coder", fitted=("qwen-3", "qwen-coder")),
    _QWEN,
    replace(_MISTRAL_ROW, id="mistral-small", model=r"mistral-small-(?:latest|26)", fitted=("mistral", "mistral-small")),
    replace(_MISTRAL_ROW, id="pixtral-12b", model=r"pixtral-12b", fitted=("mistral",)),
    replace(_MISTRAL_ROW, id="pixtral", model=r"pixtral", images=_PIXTRAL, fitted=("mistral",)),
    replace(_MISTRAL_ROW, id="mixtral", model=r"mixtral"),
    _MISTRAL_ROW,
    _on(_LLAMA_4, r"groq", "groq"),
    _on(_LLAMA_4, r"bedrock", "bedrock"),
    _LLAMA_4,
    replace(_LLAMA_3, id="llama-3-distilled", model=r"distill-llama", fitted=("llama-3-distilled",)),
    replace(_LLAMA_3, id="llama-3-first", model=r"llama-?3-\d+b", fitted=("llama-3-first",)),
    _on(_LLAMA_3, r"huggingface", "huggingface"),
    _LLAMA_3,
    replace(_NOVA, id="nova-2", label="Nova 2 heuristic", model=r"nova-2", images=_NOVA_2_IMAGES, fitted=("nova-2",)),
    _NOVA,
)  # fmt: skip
