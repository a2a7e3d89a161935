"""Providers whose address everybody may know, by name. Roots and dialects are those of the providers' own manuals."""

from __future__ import annotations

from msgspec import Struct

from ullage.core.wire.conversation import Dialect


class KnownProvider(Struct, frozen=True, kw_only=True):
    """A provider whose address everybody may know. `root` has no API version."""

    root: str
    dialects: tuple[Dialect, ...]


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
}
"""Those of this machine count where the settings name them; what they speak is what their versions of 2026 do."""
