"""Providers whose address everybody may know, by name. Roots and dialects are those of the providers' own manuals."""

from __future__ import annotations

from msgspec import Struct

from ullage.core.wire.conversation import Dialect


class KnownProvider(Struct, frozen=True, kw_only=True):
    """A provider whose address everybody may know. `root` has no API version."""

    root: str
    dialects: tuple[Dialect, ...]


WELL_KNOWN: dict[str, KnownProvider] = {
    "openai": KnownProvider(root="https://api.openai.com", dialects=("openai-chat", "openai-responses")),
    "anthropic": KnownProvider(root="https://api.anthropic.com", dialects=("anthropic",)),
    "google": KnownProvider(root="https://generativelanguage.googleapis.com", dialects=("gemini",)),
    "openrouter": KnownProvider(root="https://openrouter.ai/api", dialects=("openai-chat",)),
    "deepseek": KnownProvider(root="https://api.deepseek.com", dialects=("openai-chat",)),
    "mistral": KnownProvider(root="https://api.mistral.ai", dialects=("openai-chat",)),
    "groq": KnownProvider(root="https://api.groq.com/openai", dialects=("openai-chat",)),
    "xai": KnownProvider(root="https://api.x.ai", dialects=("openai-chat", "openai-responses")),
    "ollama": KnownProvider(root="http://127.0.0.1:11434", dialects=("openai-chat",)),
    "llama-cpp": KnownProvider(root="http://127.0.0.1:8080", dialects=("openai-chat",)),
    "vllm": KnownProvider(root="http://127.0.0.1:8000", dialects=("openai-chat",)),
    "lmstudio": KnownProvider(root="http://127.0.0.1:1234", dialects=("openai-chat",)),
}
"""Those of this machine count where the settings name them."""
