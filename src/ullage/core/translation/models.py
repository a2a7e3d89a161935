"""What models of some names refuse, whoever serves them: rows of data from the providers' manuals as of summer 2026."""

from __future__ import annotations

import re

_OPENAI = re.compile(r"^(?:gpt-[3-9]|chatgpt|o[1-9]|codex)")
_OPENAI_REASONING = re.compile(r"^(?:o[1-9]|gpt-[5-9](?!.*chat)|codex)")
# OpenAI's reasoning models and Anthropic's from Opus 4.7 on refuse temperature, top_p and top_k.
_FIXED_SAMPLING = re.compile(r"^(?:claude-opus-4[-.][7-9]|claude-[a-z]+-[5-9])")
# OpenAI's o models refuse to be told of parallel calls.
_ONE_CALL = re.compile(r"^o[1-9]")
# Mistral takes ids of nine letters and digits only.
_SHORT_IDS = re.compile(r"^(?:mi[ns]tral|mixtral|(?:code|dev|magi|pix|vox)stral|open-mi[sx]tral)")
# No answers of a schema: DeepSeek, and Anthropic's models before Opus 4.1 and Sonnet 4.5.
_NO_SCHEMAS = re.compile(r"^(?:deepseek|claude-[123]|claude-(?:opus|sonnet)-4(?:-0|-\d{8}|$))")
# Gemini's models before 3 refuse calls of tools together with an answer that must be JSON.
_NO_FORMAT_WITH_TOOLS = re.compile(r"^gemini-[12]")
# From Gemini 3 on a call without the signature of its thoughts is refused.
_SIGNED_CALLS = re.compile(r"^gemini-[3-9]")


# Bedrock puts its region and the maker before a name: `us.anthropic.claude-sonnet-4-5-20250929-v1:0`.
_MAKER = re.compile(
    r"^(?:[a-z]{2,6}(?:-[a-z]+)?\.)?(?:anthropic|openai|google|deepseek|mistral|qwen|meta|moonshot(?:ai)?|zai)\."
)


def base_name(model: str) -> str:
    """The name without its maker before it, in lower case."""
    return _MAKER.sub("", model.lower().rsplit("/", 1)[-1])


def is_openai(model: str) -> bool:
    """Whether it is one of OpenAI's own, which take more members than those of other hosts of its protocol."""
    return _OPENAI.match(base_name(model)) is not None


def is_openai_reasoning(model: str) -> bool:
    """Whether it refuses `max_tokens` and `stop`."""
    return _OPENAI_REASONING.match(base_name(model)) is not None


def has_fixed_sampling(model: str) -> bool:
    """Whether it refuses a temperature and its kin."""
    return is_openai_reasoning(model) or _FIXED_SAMPLING.match(base_name(model)) is not None


def takes_parallel_tools(model: str) -> bool:
    """Whether it may be told of several calls at once; those that may not make one at a time anyway."""
    return _ONE_CALL.match(base_name(model)) is None


def takes_short_ids(model: str) -> bool:
    """Whether ids of calls must be nine letters and digits."""
    return _SHORT_IDS.match(base_name(model)) is not None


def takes_schemas(model: str) -> bool:
    """Whether its answers can be held to a JSON schema."""
    return _NO_SCHEMAS.match(base_name(model)) is None


def takes_format_with_tools(model: str) -> bool:
    """Whether its answers can be held to JSON while it has tools."""
    return _NO_FORMAT_WITH_TOOLS.match(base_name(model)) is None


def wants_signed_calls(model: str) -> bool:
    """Whether a call in its history needs a signature."""
    return _SIGNED_CALLS.match(base_name(model)) is not None
