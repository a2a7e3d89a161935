"""Providers whose address everybody may know, by name. Roots and dialects are those of the providers' own manuals."""

from __future__ import annotations

from msgspec import Struct

from ullage.core.wire.conversation import Dialect


class KnownProvider(Struct, frozen=True, kw_only=True):
    """A provider whose address everybody may know. `root` has no API version.

    Where every account has an address of its own, `example` shows its form in place of a `root`, `key` is where its key is found,
    as a setting would say it, and `source` the page of its manual that says so.
    """

    root: str = ""
    dialects: tuple[Dialect, ...]
    example: str = ""
    key: str = ""
    source: str = ""


_OPENAI: tuple[Dialect, ...] = ("openai-chat", "openai-responses")
# What clients of other protocols are translated to comes first: of OpenAI's own models, only Responses keep their reasoning.
_OPENAI_ITSELF: tuple[Dialect, ...] = ("openai-responses", "openai-chat")

WELL_KNOWN: dict[str, KnownProvider] = {
    "openai": KnownProvider(root="https://api.openai.com", dialects=_OPENAI_ITSELF),
    "anthropic": KnownProvider(root="https://api.anthropic.com", dialects=("anthropic",)),
    "google": KnownProvider(root="https://generativelanguage.googleapis.com", dialects=("gemini",)),
    "openrouter": KnownProvider(root="https://openrouter.ai/api", dialects=("openai-chat",)),
    "deepseek": KnownProvider(root="https://api.deepseek.com", dialects=("openai-chat",)),
    "mistral": KnownProvider(root="https://api.mistral.ai", dialects=("openai-chat",)),
    "groq": KnownProvider(root="https://api.groq.com/openai", dialects=_OPENAI),
    "xai": KnownProvider(root="https://api.x.ai", dialects=_OPENAI),
    "ollama": KnownProvider(root="http://127.0.0.1:11434", dialects=(*_OPENAI, "anthropic")),
    "llama-cpp": KnownProvider(root="http://127.0.0.1:8080", dialects=("openai-chat", "anthropic")),
    "vllm": KnownProvider(root="http://127.0.0.1:8000", dialects=(*_OPENAI, "anthropic")),
    "lmstudio": KnownProvider(root="http://127.0.0.1:1234", dialects=(*_OPENAI, "anthropic")),
    "azure": KnownProvider(
        dialects=_OPENAI_ITSELF,
        example="https://RESOURCE.openai.azure.com/openai",
        key="env:AZURE_OPENAI_API_KEY",
        source="https://learn.microsoft.com/en-us/azure/foundry/openai/api-version-lifecycle",
    ),
    "azure-claude": KnownProvider(
        dialects=("anthropic",),
        example="https://RESOURCE.services.ai.azure.com/anthropic",
        key="env:ANTHROPIC_FOUNDRY_API_KEY",
        source="https://platform.claude.com/docs/en/build-with-claude/claude-in-microsoft-foundry",
    ),
    "bedrock": KnownProvider(
        dialects=_OPENAI,
        example="https://bedrock-runtime.REGION.amazonaws.com/openai",
        key="env:AWS_BEARER_TOKEN_BEDROCK",
        source="https://docs.aws.amazon.com/bedrock/latest/userguide/inference-responses-api.html",
    ),
    "bedrock-claude": KnownProvider(
        dialects=("anthropic",),
        example="https://bedrock-mantle.REGION.api.aws/anthropic",
        key="env:AWS_BEARER_TOKEN_BEDROCK",
        source="https://docs.aws.amazon.com/bedrock/latest/userguide/inference-messages-api.html",
    ),
}
"""Those of this machine, and those without a root, count where the settings name them; what they speak is what their versions of
2026 do."""
