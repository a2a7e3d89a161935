"""Who a provider is in each source: the rows that translate our names, hosts and the names that clients use.

A provider is named as `upstream.client` names it: by its common name, or by host and port. Clients have their own names for some
(`amazon-bedrock`, `google-vertex`), and gateways put the maker's name in front of a model (`x-ai/grok-4`).
"""

from __future__ import annotations

from fnmatch import fnmatchcase
from functools import lru_cache

from msgspec import Struct


class Provider(Struct, frozen=True, kw_only=True):
    """One provider. `names` are ours and others', `hosts` patterns of its addresses, `litellm` and `genai` its ids there.

    A `maker` serves the models it makes under their own ids, so that its rows tell of the same model elsewhere. A `subscription`
    is paid by the month: what others charge for a token says nothing of it.
    """

    names: tuple[str, ...]
    hosts: tuple[str, ...] = ()
    litellm: tuple[str, ...] = ()
    genai: tuple[str, ...] = ()
    maker: bool = False
    subscription: bool = False


PROVIDERS: tuple[Provider, ...] = (
    Provider(
        names=("openai",),
        hosts=("api.openai.com", "*.api.openai.com"),
        litellm=("openai",),
        genai=("openai",),
        maker=True,
    ),
    Provider(
        names=("anthropic",), hosts=("api.anthropic.com",), litellm=("anthropic",), genai=("anthropic",), maker=True
    ),
    Provider(
        names=("google", "google-generative-ai", "gemini"),
        hosts=("generativelanguage.googleapis.com",),
        litellm=("gemini",),
        genai=("google",),
        maker=True,
    ),
    Provider(
        names=("deepseek", "deepseek-ai"),
        hosts=("api.deepseek.com",),
        litellm=("deepseek",),
        genai=("deepseek",),
        maker=True,
    ),
    Provider(
        names=("mistral", "mistralai"),
        hosts=("api.mistral.ai",),
        litellm=("mistral",),
        genai=("mistral",),
        maker=True,
    ),
    Provider(names=("xai", "x-ai"), hosts=("api.x.ai", "*.api.x.ai"), litellm=("xai",), genai=("x-ai",), maker=True),
    Provider(
        names=("moonshot", "moonshotai"),
        hosts=("api.moonshot.ai", "api.moonshot.cn"),
        litellm=("moonshot",),
        genai=("moonshotai",),
        maker=True,
    ),
    Provider(names=("zai", "z-ai"), hosts=("api.z.ai",), litellm=("zai",), genai=("zai",), maker=True),
    Provider(
        names=("minimax", "minimaxai"),
        hosts=("api.minimax.io", "api.minimaxi.com", "api.minimax.chat"),
        litellm=("minimax",),
        genai=("minimax",),
        maker=True,
    ),
    Provider(
        names=("dashscope", "qwen", "alibaba"),
        hosts=("dashscope.aliyuncs.com", "dashscope-*.aliyuncs.com"),
        litellm=("dashscope",),
        maker=True,
    ),
    Provider(
        names=("cohere",),
        hosts=("api.cohere.com", "api.cohere.ai"),
        litellm=("cohere_chat", "cohere"),
        genai=("cohere",),
        maker=True,
    ),
    Provider(names=("openai-codex",), hosts=("chatgpt.com",), litellm=("chatgpt",), subscription=True),
    Provider(
        names=("google-gemini-cli", "google-antigravity"), hosts=("cloudcode-pa.googleapis.com",), subscription=True
    ),
    Provider(names=("kimi-coding",), hosts=("api.kimi.com",), subscription=True),
    Provider(
        names=("zai-coding", "zai-coding-cn"), hosts=("open.bigmodel.cn",), litellm=("bigmodel",), subscription=True
    ),
    Provider(
        names=("github-copilot",),
        hosts=("api.githubcopilot.com", "api.*.githubcopilot.com"),
        litellm=("github_copilot",),
        genai=("github-copilot",),
        subscription=True,
    ),
    Provider(names=("openrouter",), hosts=("openrouter.ai",), litellm=("openrouter",), genai=("openrouter",)),
    Provider(
        names=("google-vertex", "vertex", "vertex_ai", "google-vertex-claude"),
        hosts=("aiplatform.googleapis.com", "*-aiplatform.googleapis.com"),
        litellm=("vertex_ai",),
        genai=("google",),
    ),
    Provider(
        names=("amazon-bedrock", "bedrock", "aws"),
        hosts=("bedrock-runtime.*.amazonaws.com", "bedrock-mantle.*.api.aws"),
        litellm=("bedrock_converse", "bedrock"),
        genai=("aws",),
    ),
    Provider(
        names=("azure", "azure-openai", "azure-openai-responses"),
        hosts=("*.openai.azure.com", "*.cognitiveservices.azure.com", "*.services.ai.azure.com"),
        litellm=("azure", "azure_ai"),
        genai=("azure",),
    ),
    Provider(names=("groq",), hosts=("api.groq.com",), litellm=("groq",), genai=("groq",)),
    Provider(
        names=("together", "together_ai"),
        hosts=("api.together.xyz", "api.together.ai"),
        litellm=("together_ai",),
        genai=("together",),
    ),
    Provider(
        names=("fireworks", "fireworks_ai"),
        hosts=("api.fireworks.ai",),
        litellm=("fireworks_ai",),
        genai=("fireworks",),
    ),
    Provider(names=("cerebras",), hosts=("api.cerebras.ai",), litellm=("cerebras",), genai=("cerebras",)),
    Provider(names=("perplexity",), hosts=("api.perplexity.ai",), litellm=("perplexity",), genai=("perplexity",)),
    Provider(names=("novita",), hosts=("api.novita.ai",), litellm=("novita",), genai=("novita",)),
    Provider(names=("deepinfra",), hosts=("api.deepinfra.com",), litellm=("deepinfra",)),
    Provider(names=("nebius",), hosts=("api.studio.nebius.com", "api.tokenfactory.nebius.com"), litellm=("nebius",)),
    Provider(names=("sambanova",), hosts=("api.sambanova.ai",), litellm=("sambanova",)),
    Provider(names=("nvidia",), hosts=("integrate.api.nvidia.com",), litellm=("nvidia_nim",)),
    Provider(names=("vercel-ai-gateway",), hosts=("ai-gateway.vercel.sh",), litellm=("vercel_ai_gateway",)),
    Provider(
        names=("databricks",),
        hosts=("*.cloud.databricks.com", "*.azuredatabricks.net"),
        litellm=("databricks",),
        genai=("databricks",),
    ),
)
"""The rows. Ids as they stand in LiteLLM's catalogue of litellm 1.110.2 and in genai-prices 0.2.3."""

MAKERS: tuple[Provider, ...] = tuple(row for row in PROVIDERS if row.maker)

_BY_NAME = {name: row for row in PROVIDERS for name in row.names}


@lru_cache(maxsize=256)
def find_provider(name: str) -> Provider | None:
    """The row of a name or of a host, perhaps with a port; case does not count."""
    name = name.lower()
    host = name.partition(":")[0]
    if name in _BY_NAME:
        return _BY_NAME[name]
    return next((row for row in PROVIDERS if any(fnmatchcase(host, pattern) for pattern in row.hosts)), None)
