"""Prompt caches as providers keep them: what is read and written follows from the prefixes really seen before.

A prefix is known by a hash chain over the canonical blocks of the prompt in wire order (tools, system, messages). Each model has
a cache of its own. Sizes are tokens by the stated count of `prompt.BYTES_PER_TOKEN`, times seconds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import xxhash
from msgspec import Struct

from ullage.core.content import Usage

from .prompt import BYTES_PER_TOKEN, tokens_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ullage.core.wire import Dialect

    from .prompt import Prompt

_HOUR_S = 3600
_ENTRIES_LIMIT = 400_000


class CachePolicy(Struct, frozen=True, kw_only=True):
    """How one vendor caches.

    `step_tokens` is the grain of automatic caching; `None` means that the client marks what to cache. Prefixes below
    `minimum_tokens` are not cached. `ttl_s` counts from the last use (marked prefixes live as long as their mark says).
    `lookback` is how many blocks before a mark, itself included, are searched for a known prefix.
    """

    minimum_tokens: int = 1_024
    ttl_s: int = 300
    step_tokens: int | None = None
    lookback: int = 20


POLICIES: dict[Dialect, CachePolicy] = {
    "openai-chat": CachePolicy(step_tokens=128, ttl_s=600),
    "openai-responses": CachePolicy(step_tokens=128, ttl_s=600),
    "anthropic": CachePolicy(),
    "gemini": CachePolicy(step_tokens=64, ttl_s=600),
}
"""The vendors' published rules: 128-token steps from 1,024 (OpenAI), marks with 5 minutes or 1 hour and 20 blocks of lookback
(Anthropic); for implicit caching (Gemini) only the minimum is published, so step and life are ours."""


class PromptCache:
    """The caches of all models behind one provider. `clock` gives seconds."""

    def __init__(self, clock: Callable[[], float], policies: Mapping[Dialect, CachePolicy] = POLICIES) -> None:
        self._clock = clock
        self._policies = policies
        self._entries: dict[bytes, float] = {}
        """When each known prefix is forgotten; the least recently used stands first."""
        self._lives: dict[bytes, int] = {}
        """How long a marked prefix lives after each use."""

    def use(self, prompt: Prompt) -> Usage:
        """The input side of this prompt's usage. What it should have written is known from now on."""
        policy = self._policies[prompt.dialect]
        usage = (
            self._use_marks(prompt, policy)
            if policy.step_tokens is None
            else self._use_steps(prompt, policy, policy.step_tokens)
        )
        self._forget_oldest()
        return usage

    def _use_steps(self, prompt: Prompt, policy: CachePolicy, step_tokens: int) -> Usage:
        """Automatic caching: the longest known prefix on a step is read, all steps are kept."""
        first = -(-policy.minimum_tokens // step_tokens)
        keys = _step_keys(prompt, step_tokens * BYTES_PER_TOKEN)
        steps = len(keys)
        while steps >= first and not self._is_known(keys[steps - 1]):
            steps -= 1
        read = steps * step_tokens if steps >= first else 0
        for key in keys[first - 1 :]:
            self._keep(key, policy.ttl_s)
        return Usage(input_fresh=prompt.tokens - read, cache_read=read, cache_write=0)

    def _use_marks(self, prompt: Prompt, policy: CachePolicy) -> Usage:
        """Marked caching: reads end at a prefix that was marked before, writes end at a mark of this request."""
        keys, sizes = _block_keys(prompt)
        marks = [
            (index, piece.mark_s)
            for index, piece in enumerate(prompt.pieces)
            if piece.mark_s is not None and sizes[index] >= policy.minimum_tokens
        ]
        hit = self._find_hit(keys, [index for index, _ in marks], policy.lookback)
        read = sizes[hit] if hit is not None else 0
        if hit is not None:
            self._keep(keys[hit], self._lives[keys[hit]])
        end_1h = max((sizes[index] for index, life in marks if life == _HOUR_S), default=0)
        end = max((sizes[index] for index, _ in marks), default=0)
        write_1h = max(end_1h - read, 0)
        write_5m = max(end - max(read, end_1h), 0)
        for index, life in marks:
            life = max(life, self._lives.get(keys[index], 0)) if self._is_known(keys[index]) else life
            self._lives[keys[index]] = life
            self._keep(keys[index], life)
        return Usage(
            input_fresh=prompt.tokens - read - write_5m - write_1h,
            cache_read=read,
            cache_write=write_5m + write_1h,
            cache_write_5m=write_5m,
            cache_write_1h=write_1h,
        )

    def _find_hit(self, keys: list[bytes], marks: list[int], lookback: int) -> int | None:
        """Index of the last block of the longest known prefix within reach of a mark."""
        for mark in reversed(marks):
            for index in range(mark, max(mark - lookback, -1), -1):
                if self._is_known(keys[index]):
                    return index
        return None

    def _is_known(self, key: bytes) -> bool:
        return self._entries.get(key, 0.0) > self._clock()

    def _keep(self, key: bytes, ttl_s: int) -> None:
        self._entries.pop(key, None)
        self._entries[key] = self._clock() + ttl_s

    def _forget_oldest(self) -> None:
        while len(self._entries) > _ENTRIES_LIMIT:
            key = next(iter(self._entries))
            del self._entries[key]
            self._lives.pop(key, None)


def _chain(prompt: Prompt) -> xxhash.xxh3_128:
    return xxhash.xxh3_128(f"{prompt.dialect}\n{prompt.model}\n".encode("utf-8", "replace"))


def _step_keys(prompt: Prompt, step_bytes: int) -> list[bytes]:
    """Hash of the prompt up to each full step."""
    chain, keys, room = _chain(prompt), [], step_bytes
    for piece in prompt.pieces:
        chain.update(b"\x00")
        data = memoryview(piece.data)
        while len(data) >= room:
            chain.update(data[:room])
            keys.append(chain.digest())
            data, room = data[room:], step_bytes
        chain.update(data)
        room -= len(data)
    return keys


def _block_keys(prompt: Prompt) -> tuple[list[bytes], list[int]]:
    """Hash of the prompt up to the end of each block, and its size in tokens."""
    chain, keys, sizes, size_bytes = _chain(prompt), [], [], 0
    for piece in prompt.pieces:
        chain.update(b"\x00")
        chain.update(piece.data)
        size_bytes += len(piece.data)
        keys.append(chain.digest())
        sizes.append(tokens_of(size_bytes))
    return keys, sizes
