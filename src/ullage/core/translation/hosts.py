"""What hosts of Chat Completions refuse or name otherwise, whatever the model: rows of data, each with its source."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Mapping


class Host(Struct, frozen=True, kw_only=True):
    """A host by what differs from the others. `usage_options`: it takes the wish for usage in a stream (and tells none without);
    `seed` is what it calls that; `reasoning`: it takes back the thinking of an open tool loop; `cache_key`: it takes a hint about
    caching."""

    usage_options: bool = True
    seed: str = "seed"
    reasoning: bool = True
    cache_key: bool = True


USUAL = Host()

_HOSTS: Mapping[str, Host] = {
    # Refuses what it does not know (422 `extra_forbidden`), and tells usage unasked: https://docs.mistral.ai/api and
    # dnakov/anon-kode#53, charmbracelet/crush#1590.
    "mistral": Host(usage_options=False, seed="random_seed", reasoning=False, cache_key=False),
    # Refuses what it does not know (400): https://console.groq.com/docs/openai and sipeed/picoclaw#1196, agentjido/req_llm#772.
    "groq": Host(reasoning=False, cache_key=False),
}


def find_host(provider: str) -> Host:
    """The row of a provider by its common name."""
    return _HOSTS.get(provider, USUAL)
