"""The inspector's built-in tables: the seed's and the newer one of its repository, row by row.

Model ids are listed, not guessed: a variant that nobody has counted, and every alias whose target moves, has no row and counts at
four characters a token.
"""

from __future__ import annotations

from .records import Row, Table

_CLAUDE = r"^[^/]*anthropic|/.*claude"
# A digit more behind the version is a date: `opus-4-20250514` is no 4.2.
_END = r"(?=$|[-.:@])"
_CLAUDE_47 = rf"(?<!\d)4[-.]?[7-9]{_END}|(?:fable|opus|sonnet|haiku)[-.]?5{_END}"
_CLAUDE_45 = rf"(?<!\d)4[-.]?[56]{_END}"
_GOOGLE = r"^[^/]*google|/.*gemini"

_ANY_CLAUDE = "ids with `claude`, providers with `anthropic`"
_NEW_CLAUDE = f"{_ANY_CLAUDE}: 4.7 to 4.9, and Fable, Opus, Sonnet and Haiku 5"
_CODEX = "providers with `openai-codex`"
_OPENAI = "providers with `openai`"

# --- the seed's table ---------------------------------------------------------------------------------------------------------
_SEED = "accounting specification, section 4.1"
_SEED_CLAUDE_DIALECTS = ("anthropic", None)


def _seed_row(label: str, tool_numerator: str, tool_denominator: float, **who: str | tuple[str | None, ...]) -> Row:
    return Row(
        label=label,
        text_denominator=4,
        session_denominator=4,
        tool_numerator=tool_numerator,
        tool_denominator=tool_denominator,
        source=_SEED,
        **who,  # type: ignore[arg-type]
    )


_SEED_ROWS = (
    Row(
        label="Claude 4.7+ heuristic",
        whom=_NEW_CLAUDE,
        who=_CLAUDE,
        model=_CLAUDE_47,
        dialects=_SEED_CLAUDE_DIALECTS,
        text_denominator=2.6,
        session_denominator=2.6,
        tool_numerator="anthropic",
        tool_denominator=2.6,
        source=f"{_SEED}; full requests and sections counted on opus-4-7 and 4-8 (17.2)",
    ),
    Row(
        label="Claude up to 4.6 heuristic",
        whom=_ANY_CLAUDE,
        who=_CLAUDE,
        dialects=_SEED_CLAUDE_DIALECTS,
        text_denominator=3.8,
        session_denominator=3.5,
        tool_numerator="anthropic",
        tool_denominator=3.3,
        source=f"{_SEED}; full requests and sections counted on opus-4-5 and 4-6 (17.2)",
    ),
    _seed_row("OpenAI-Codex heuristic", "openai-cookbook", 5.5, whom=_CODEX, provider="openai-codex"),
    _seed_row(
        "OpenAI Responses heuristic",
        "openai-responses",
        5.5,
        whom=_OPENAI,
        provider="openai",
        dialects=("openai-responses", None),
    ),
    _seed_row("OpenAI-chat-style heuristic", "openai-chat", 5.5, dialects=("openai-chat",)),
    _seed_row("Gemini/Vertex heuristic", "gemini", 4, dialects=("gemini",)),
    _seed_row("Bedrock heuristic", "bedrock", 4, dialects=("bedrock",)),
)

SEED_TABLE = Table(texts=_SEED_ROWS, tools=_SEED_ROWS)
"""`inspector-v1`: by provider and wire, as the seed has it."""

# --- the repository's table ---------------------------------------------------------------------------------------------------
_REPO = "accounting specification, section 4.2"
_COUNTED = f"{_REPO}; a public corpus counted by the model's own tokenizer (17.9)"


def _ids(names: str, suffixes: str = "") -> frozenset[str]:
    """Each name alone and with each of the suffixes."""
    return frozenset(name + suffix for name in names.split() for suffix in ("", *suffixes.split()))


def _text_row(label: str, text: float, session: float, *, source: str = _COUNTED, **who: str | frozenset[str]) -> Row:
    return Row(label=label, text_denominator=text, session_denominator=session, source=source, **who)  # type: ignore[arg-type]


_KIMI = ("Kimi tokenizer", 4.1, 3.8)
_KIMI_IDS = _ids(
    "kimi-k2 kimi-k2.5 kimi-k2.6 kimi-k2.7-code kimi-k2p6 kimi-k2p7-code kimi-k2-0711-preview kimi-k2-0905 kimi-k2-0905-preview "
    "kimi-k2-thinking kimi-k2-thinking-turbo kimi-k2-turbo-preview kimi-k2-instruct kimi-k2-instruct-0905 kimi-k3",
    "-fast -highspeed -turbo :free",
)
_KIMI_CODING = r"^(?:k3(?:-256k)?|kimi-for-coding(?:-highspeed)?)$"
_KIMI_CODING_IDS = "provider `kimi-coding`: `k3`, `k3-256k`, `kimi-for-coding`, `kimi-for-coding-highspeed`"
_GLM_5_IDS = _ids("glm-4.7-flash glm-5 glm-5.1 glm-5.2 glm-5p2", "-fast -free :free")
_GLM_45_IDS = _ids("glm-4.5 glm-4.5-air glm-4.5v glm-4.6 glm-4.6v glm-4.6v-flash glm-4.7", ":free")
_COMMAND_R_IDS = _ids("command-r-08-2024 command-r-plus-08-2024", ":free")
_NORTH_IDS = _ids("north-mini-code", "-1.0 -free :free")
_GROK_43_IDS = _ids(
    "grok-4.20 grok-4.20-reasoning grok-4.20-non-reasoning grok-4.20-0309-reasoning grok-4.20-0309-non-reasoning "
    "grok-4.20-multi-agent grok-4.20-multi-agent-0309 grok-4.3 grok-build-0.1",
    ":free",
)
_GEMINI_IDS = _ids(
    "gemini-2.0-flash gemini-2.0-flash-lite gemini-2.5-flash gemini-2.5-flash-lite gemini-2.5-pro "
    "gemini-2.5-computer-use-preview-10-2025 gemini-3-flash-preview gemini-3-pro-preview gemini-3-pro-image "
    "gemini-3.1-flash-lite gemini-3.1-flash-lite-preview gemini-3.1-flash-lite-image gemini-3.1-pro-preview "
    "gemini-3.1-pro-preview-customtools gemini-3.5-flash gemini-3.5-flash-lite gemini-3.6-flash",
    ":batch",
)
_DEEPSEEK_IDS = _ids(
    "deepseek-chat-v3 deepseek-chat-v3-0324 deepseek-chat-v3.1 deepseek-r1 deepseek-r1-0528 deepseek-v3 deepseek-v3-0324 "
    "deepseek-v3.1 deepseek-v3.1-terminus deepseek-v3.2 deepseek-v3.2-exp deepseek-v3.2-thinking deepseek-v4-flash "
    "deepseek-v4-flash-0731 deepseek-v4-pro",
    "-free",
) | _ids("deepseek.r1-v1:0 deepseek.v3-v1:0 deepseek.v3.2")
_QWEN_IDS = _ids("qwen2.5-7b-instruct qwen2.5-72b-instruct qwen-2.5-7b-instruct qwen-2.5-72b-instruct", "-turbo") | {
    f"{brand}3-{variant}"
    for brand in ("qwen", "qwen-")
    for variant in _ids(
        "8b 14b 30b 30b-a3b 32b 235b 235b-a22b 30b-a3b-instruct-2507 30b-a3b-thinking-2507 235b-a22b-instruct-2507 "
        "235b-a22b-thinking-2507 30b-a3b-fp8 235b-a22b-2507 32b-v1:0 235b-a22b-2507-v1:0 coder-next coder-30b-a3b-v1:0 "
        "coder-480b-a35b-v1:0"
    )
    | _ids("coder-30b-a3b coder-480b-a35b", "-instruct")
    | _ids("next-80b-a3b vl-8b vl-30b-a3b vl-32b vl-235b-a22b", "-instruct -thinking")
}
_QWEN_35_IDS = _ids("qwen3.5-9b qwen3.5-27b qwen3.5-35b-a3b qwen3.5-122b-a10b qwen3.5-397b-a17b")

_REPO_TEXTS = (
    _text_row("Claude 4.7+ heuristic", 2.6, 2.6, whom=_NEW_CLAUDE, who=_CLAUDE, model=_CLAUDE_47, source=_REPO),
    _text_row(
        "Claude 4.5/4.6 heuristic",
        3.8,
        3.5,
        whom=f"{_ANY_CLAUDE}: 4.5, 4.6",
        who=_CLAUDE,
        model=_CLAUDE_45,
        source=_REPO,
    ),
    _text_row("Anthropic heuristic", 3.5, 3.5, whom=_ANY_CLAUDE, who=_CLAUDE, source=_REPO),
    _text_row(*_KIMI, ids=_KIMI_IDS),
    _text_row(*_KIMI, whom=_KIMI_CODING_IDS, provider=r"^kimi-coding$", model=_KIMI_CODING),
    _text_row("GLM 5 tokenizer", 4, 3.9, ids=_GLM_5_IDS),
    _text_row("GLM 4.5 tokenizer", 4, 3.9, ids=_GLM_45_IDS),
    _text_row("Command R tokenizer", 4, 3.4, ids=_COMMAND_R_IDS),
    _text_row("North Mini Code tokenizer", 4.2, 3.9, ids=_NORTH_IDS),
    _text_row("Grok 4.20/4.3 tokenizer", 4.2, 3.9, ids=_GROK_43_IDS),
    _text_row("Grok 4.5 tokenizer", 4.1, 3.6, ids=_ids("grok-4.5", ":free")),
    _text_row("Gemini 2/3 countTokens", 3.9, 3.4, ids=_GEMINI_IDS, source=f"{_REPO}; counted by the provider"),
    _text_row("DeepSeek tokenizer", 4, 3.6, ids=_DEEPSEEK_IDS),
    _text_row("Qwen 3.5 tokenizer", 3.9, 3.5, ids=_QWEN_35_IDS),
    _text_row("Qwen 2.5/3 tokenizer", 4, 3.8, ids=_QWEN_IDS),
    _text_row(
        "OpenAI-Codex heuristic",
        4.4,
        4,
        whom=_CODEX,
        provider="openai-codex",
        source=f"{_REPO}; 96 instruction files (17.9)",
    ),
    _text_row(
        "OpenAI Responses heuristic",
        4.4,
        4,
        whom=_OPENAI,
        provider="openai",
        source=f"{_REPO}; 96 instruction files (17.9)",
    ),
    _text_row(
        "Gemini/Vertex heuristic", 4, 4, whom="ids with `gemini`, providers with `google`", who=_GOOGLE, source=_REPO
    ),
)


def _tool_row(numerator: str, denominator: float, **who: str | tuple[str | None, ...]) -> Row:
    return Row(tool_numerator=numerator, tool_denominator=denominator, source=_REPO, **who)  # type: ignore[arg-type]


_REPO_TOOLS = (
    _tool_row("openai-cookbook", 5.5, whom=_CODEX, provider="openai-codex"),
    _tool_row("openai-cookbook", 5.5, whom=_OPENAI, provider="openai", dialects=("openai-responses",)),
    _tool_row("openai-responses", 4, dialects=("openai-responses",)),
    _tool_row("anthropic", 2.6, whom=_NEW_CLAUDE, who=_CLAUDE, model=_CLAUDE_47, dialects=("anthropic",)),
    _tool_row("anthropic", 3.3, whom=_ANY_CLAUDE, who=_CLAUDE, dialects=("anthropic",)),
    _tool_row("anthropic", 4, dialects=("anthropic",)),
    _tool_row("openai-chat", 4, dialects=("openai-chat",)),
    _tool_row("gemini", 4, dialects=("gemini",)),
    _tool_row("bedrock", 4, dialects=("bedrock",)),
    _tool_row("pi-messages", 4, dialects=("pi-messages",)),
)

REPO_TABLE = Table(texts=_REPO_TEXTS, tools=_REPO_TOOLS)
"""`inspector-v2`: whose tokenizer and which wire, each by itself."""

OPENAI_IDS = r"^(?:gpt-|chatgpt-|codex-|o\d)"
"""Models that stand for OpenAI where nobody says who serves them; the tables know OpenAI by its provider alone."""
