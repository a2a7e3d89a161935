"""What is to be made anew, and what came of it: the words between the daemon and its child process."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

LITELLM_ADDRESS = "https://raw.githubusercontent.com/BerriAI/litellm/main/model_prices_and_context_window.json"
"""Where LiteLLM publishes its catalogue."""


class Order(Struct, frozen=True, kw_only=True):
    """Which source's file to make anew, and in which folder; what is fetched comes from `address`, by way of `proxy`."""

    source: Literal["litellm", "genai-prices"]
    cache_dir: str
    address: str = LITELLM_ADDRESS
    proxy: str | None = None


class Outcome(Struct, frozen=True, kw_only=True):
    """What came of an order: nothing to say if it worked, else what did not, in a sentence."""

    failure: str = ""
