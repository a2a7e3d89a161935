"""Which ids name the same model: by declaration, by a catalogue, by the maker's name; never by similarity.

Routing specification, sections 6 and 8.2.
"""

from __future__ import annotations

import re
from functools import lru_cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

VIRTUAL_TARGETS = frozenset({"ullage/auto", "pi-auto-model/auto"})
"""Entries that stand for the router itself, and are never routed to (section 1)."""

VENDORS = ("anthropic", "deepseek", "google", "meta", "mistral", "openai", "qwen", "x-ai", "z-ai")
"""Makers whose name in front of a model part is that of the maker (section 6)."""

PROVIDER_ALIASES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "google": ("gemini",),
        "google-vertex": ("vertex_ai", "gemini"),
        "amazon-bedrock": ("bedrock",),
        "openai-codex": ("openai",),
        "google-gemini-cli": ("google",),
        "zai": ("zai", "z-ai"),
        "zai-coding-cn": ("zai", "z-ai"),
        "xai": ("x-ai",),
    }
)
"""Other names of a provider in lists of models (sections 6 and 8.2). They share what is known of a model; billing and quota stay
those of the provider itself."""

_VERSION = re.compile(r"[-.](?:v?\d{8}|v?\d+(?:[-.]v?\d+)+)", re.ASCII)
_WORDS = re.compile(r"[a-z]+")
_OTHER_WORK = frozenset(
    {
        "asr",
        "audio",
        "banana",
        "bge",
        "classifier",
        "embed",
        "embedding",
        "embeddings",
        "guard",
        "image",
        "images",
        "imagen",
        "live",
        "lyria",
        "moderation",
        "ocr",
        "orpheus",
        "realtime",
        "recraft",
        "rerank",
        "reranker",
        "robotics",
        "safeguard",
        "sora",
        "speech",
        "streaming",
        "stt",
        "transcribe",
        "transcription",
        "tts",
        "veo",
        "video",
        "whisper",
    }
)
_COMPLETES = re.compile(r"(text-)?(ada|babbage|curie|davinci)(-.*)?|dall-e.*|gpt-3\.5-turbo-instruct.*")
_AGREES = 2_000  # of a match by version: more than any length of a name


class Identity(Struct, frozen=True, kw_only=True):
    """The logical model behind a target, and how that is known. `isolated` is like no other."""

    value: str
    kind: Literal["declared", "catalogue", "vendor", "isolated"]


class Match(Struct, frozen=True, kw_only=True):
    """The key of a list that a model stands under. `exact` is false where only a version tells them apart; `agrees` is false
    where the key is another provider's."""

    key: str
    exact: bool
    agrees: bool


def split_target(target: str) -> tuple[str, str] | None:
    """Provider and model: the first slash parts them, the model may have more. `None` where one of them is missing."""
    provider, _, model = target.partition("/")
    return (provider, model) if provider and model else None


def find_identity(target: str, *, aliases: Mapping[str, str], known: Iterable[str] = ()) -> Identity:
    """The logical model of a target: declared, else known to a catalogue, else named by its maker, else itself (section 6).

    `aliases` map targets to `provider:model`; `known` are ids of a catalogue.
    """
    declared = aliases.get(target)
    if declared is not None:
        return Identity(value=declared, kind="declared")
    if target in known:
        return Identity(value=target.replace("/", ":", 1), kind="catalogue")
    model = target.partition("/")[2]
    vendor, slash, name = model.partition("/")
    if slash and name and vendor in VENDORS:
        return Identity(value=f"{vendor}:{name}", kind="vendor")
    return Identity(value=target, kind="isolated")


def match_key(provider: str, model: str, keys: Iterable[str]) -> Match | None:
    """The key that this model stands under: exactly, by its bare id, or with or without a version (section 8.2)."""
    known = keys if isinstance(keys, dict) else dict.fromkeys(keys)
    names = (provider, *PROVIDER_ALIASES.get(provider, ()))
    for name in names:
        if f"{name}/{model}" in known:
            return Match(key=f"{name}/{model}", exact=True, agrees=True)
    if model in known:
        return Match(key=model, exact=True, agrees=True)
    return _match_version(names, model, known)


def _match_version(names: tuple[str, ...], model: str, keys: Iterable[str]) -> Match | None:
    best: tuple[int, Match] | None = None
    for key in keys:
        owner, slash, base = key.partition("/")
        whole = same_but_version(key, model)  # a gateway's model has its maker's name before it
        if not whole and not (slash and same_but_version(base, model)):
            continue
        agrees = whole or owner in names
        score = _AGREES * agrees + len(base if slash else key)
        if best is None or score > best[0]:
            best = score, Match(key=key, exact=False, agrees=agrees)
    return best[1] if best else None


def same_but_version(one: str, other: str) -> bool:
    """Whether one name is the other followed by a version: eight digits, or at least two groups of digits."""
    short, long = sorted((one, other), key=len)
    return long.startswith(short) and _VERSION.fullmatch(long, len(short)) is not None


@lru_cache(maxsize=1_024)
def compile_pattern(pattern: str) -> re.Pattern[str]:
    """A pattern of targets or providers: `*` stands for anything, all else for itself, and case does not count (section 6)."""
    return re.compile(".*".join(re.escape(part) for part in pattern.split("*")), re.IGNORECASE | re.DOTALL)


def matches(pattern: str, name: str) -> bool:
    """Whether the whole name is of this pattern."""
    return compile_pattern(pattern).fullmatch(name) is not None


def find_match(patterns: Iterable[str], name: str) -> str | None:
    """The first of the patterns that the name is of."""
    return next((pattern for pattern in patterns if matches(pattern, name)), None)


def find_naming(patterns: Iterable[str], target: str, *, chats: bool) -> str | None:
    """The first of a scope's patterns that names a target. One with `*` names nobody who `converses` not: whoever means such a
    model says its whole name."""
    return next((one for one in patterns if matches(one, target) and (chats or "*" not in one)), None)


def converses(model: str) -> bool:
    """Whether an id is that of a model that may take part in a conversation: not of one for embeddings, speech, pictures, films,
    live sound, text recognition, ranking or screening, nor of one that only completes texts. By the words of the id, since what
    providers list of themselves says nothing else of it."""
    name = model.lower()
    return _OTHER_WORK.isdisjoint(_WORDS.findall(name)) and _COMPLETES.fullmatch(name.rpartition("/")[2]) is None
